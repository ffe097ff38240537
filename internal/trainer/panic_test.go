package trainer

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestFitPanicBecomesError(t *testing.T) {
	broken := func(*sizing.History, *fitting.Model) (*fitting.Model, fitting.Outcome, error) {
		panic("a broken history")
	}
	m, _, err := fitRecovering(broken, nil, nil)
	assert.Nil(t, m)
	assert.ErrorContains(t, err, "a broken history")
	_, out, err := fitRecovering(fitting.Fit, &sizing.History{}, nil)
	assert.NoError(t, err)
	assert.NotEmpty(t, out.Reason)
}
