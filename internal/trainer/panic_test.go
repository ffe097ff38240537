package trainer

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestFitPanicBecomesError(t *testing.T) {
	panicking := func(*sizing.History, *taskmodel.Model) (*taskmodel.Model, taskmodel.Outcome, error) {
		panic("an invalid history")
	}
	m, _, err := fitRecovering(panicking, nil, nil)
	assert.Nil(t, m)
	assert.ErrorContains(t, err, "an invalid history")
	_, out, err := fitRecovering(taskmodel.Fit, &sizing.History{}, nil)
	assert.NoError(t, err)
	assert.NotEmpty(t, out.Reason)
}
