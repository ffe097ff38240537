package modelcache

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestTasksWithoutRowsShareAModelThatNeverChanges(t *testing.T) {
	c := New(nil, &inflight.Tries{}, Config{}, nil)
	key := func(name string) sizing.TaskKey { return sizing.TaskKey{Namespace: "n", DAG: "d", Task: name} }
	reported, other := c.GetOrCreate(key("reported")), c.GetOrCreate(key("other"))
	other.install(nil, &sizing.History{}, nil, nil)
	row := func(seq int64) taskmodel.TrainingRow {
		return taskmodel.TrainingRow{Seq: seq, Outcome: sizing.Success, Peak: sizing.GiB, Censoring: sizing.Exact, FirstTry: true}
	}
	for seq := range int64(50) {
		reported.learn(row(seq + 1))
	}
	assert.NotSame(t, emptyModel, reported.Model())
	assert.Same(t, emptyModel, other.Model())

	q := taskmodel.Question{Requested: sizing.Resources{Memory: sizing.GiB}, Cap: 4 * sizing.GiB, RiskTarget: 0.05}
	assert.Equal(t, taskmodel.New().Size(q), emptyModel.Size(q))
	assert.Equal(t, taskmodel.New().Pool(), emptyModel.Pool())

	other.install(nil, &sizing.History{}, nil, nil)
	other.learn(row(51))
	assert.NotSame(t, emptyModel, other.Model())
}

// A report adds a peak to row 4 while a refresh loads the model. The refresh may have read row 4 before or after that.
func TestAPeakReportedDuringARefreshIsLearnedOnce(t *testing.T) {
	unmeasured := sizing.HistoryRow{Seq: 4, Outcome: sizing.Success, Allocated: sizing.Resources{Memory: sizing.GiB}}
	measured := unmeasured
	measured.MemoryMax = sizing.GiB / 2
	for name, c := range map[string]struct {
		rows    []sizing.HistoryRow // the rows that the refresh reads; the training has read the earlier rows
		learned int                 // rows that install adds to the rows of the refresh
	}{
		"the refresh reads no peak":     {[]sizing.HistoryRow{unmeasured}, 1},
		"the refresh reads the peak":    {[]sizing.HistoryRow{measured}, 0},
		"the training has read the row": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			loading := New(nil, &inflight.Tries{}, Config{}, nil).GetOrCreate(sizing.TaskKey{Namespace: "n", DAG: "d", Task: "t"})
			loading.beginLoading()
			amended := taskmodel.NewTrainingRow(&sizing.Schema{}, &measured)
			amended.Amends = true
			loading.learn(amended)
			loading.install(taskmodel.New(), &sizing.History{Rows: c.rows, LastSeq: 4}, nil, nil)
			assert.Equal(t, c.learned, loading.Model().Experts.LearnedRows)
		})
	}
}
