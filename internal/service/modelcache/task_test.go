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

// A report adds a peak to row 4, which the model in use learns. The model that a refresh then installs may have learned row 4
// with or without the peak.
func TestAnAmendedPeakIsLearnedOnceByAnInstalledModel(t *testing.T) {
	unmeasured := sizing.HistoryRow{Seq: 4, Outcome: sizing.Success, Allocated: sizing.Resources{Memory: sizing.GiB}}
	measured := unmeasured
	measured.MemoryMax = sizing.GiB / 2
	learnedFrom := func(r *sizing.HistoryRow) *taskmodel.Model {
		m := taskmodel.New()
		m.Learn(taskmodel.NewTrainingRow(&sizing.Schema{}, r))
		return m
	}
	amended := taskmodel.NewTrainingRow(&sizing.Schema{}, &measured)
	amended.Amends = true
	used := New(nil, &inflight.Tries{}, Config{}, nil).GetOrCreate(sizing.TaskKey{Namespace: "n", DAG: "d", Task: "t"})
	install := func(r *sizing.HistoryRow) int {
		used.install(learnedFrom(r), &sizing.History{LastSeq: 4}, nil, nil)
		return used.Model().Experts.LearnedRows
	}
	assert.Zero(t, install(&unmeasured))
	used.learn(amended)
	assert.Equal(t, 1, used.Model().Experts.LearnedRows)
	used.learn(amended)
	assert.Equal(t, 1, used.Model().Experts.LearnedRows, "the model in use learns the peak once")
	assert.Equal(t, 1, install(&unmeasured), "a model from a training that read the row before the amendment learns the peak once")
	assert.Equal(t, 1, install(&measured), "a model from a training that read the row after the amendment learns the peak once")
	assert.Empty(t, used.amended)
}
