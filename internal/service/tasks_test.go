package service

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestTasksThatNothingWasToldOfShareAModelThatLearnsNothing(t *testing.T) {
	var ts tasks
	told, other := ts.get(sizing.TaskKey{Namespace: "n", DAG: "d", Task: "told"}), ts.get(sizing.TaskKey{Namespace: "n", DAG: "d", Task: "other"})
	other.swap(untaught, 0, nil, nil)
	for seq := range int64(50) {
		told.learn(fitting.TrainingRow{Seq: seq + 1, Outcome: sizing.Success, Peak: sizing.GiB, Censoring: sizing.Exact, FirstTry: true})
	}
	assert.NotSame(t, untaught, told.model)
	assert.Same(t, untaught, other.model)

	q := fitting.Question{Requested: sizing.Resources{Memory: sizing.GiB}, Cap: 4 * sizing.GiB, RiskTarget: 0.05}
	assert.Equal(t, fitting.New().Size(q), untaught.Size(q))
	assert.Equal(t, fitting.New().Pool(), untaught.Pool())

	other.swap(untaught, 0, nil, nil)
	other.learn(fitting.TrainingRow{Seq: 51, Outcome: sizing.Success, Peak: sizing.GiB, Censoring: sizing.Exact})
	assert.NotSame(t, untaught, other.model)
}
