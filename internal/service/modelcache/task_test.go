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
	other.install(nil, 0, nil, nil)
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

	other.install(nil, 0, nil, nil)
	other.learn(row(51))
	assert.NotSame(t, emptyModel, other.Model())
}
