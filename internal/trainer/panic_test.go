package trainer

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestFitPanicBecomesError(t *testing.T) {
	broken := func(*sizing.History, *taskmodel.Model) (*taskmodel.Model, taskmodel.Outcome, error) {
		panic("a broken history")
	}
	m, _, err := fitRecovering(broken, nil, nil)
	assert.Nil(t, m)
	assert.ErrorContains(t, err, "a broken history")
	_, out, err := fitRecovering(taskmodel.Fit, &sizing.History{}, nil)
	assert.NoError(t, err)
	assert.NotEmpty(t, out.Reason)
}
