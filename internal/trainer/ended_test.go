package trainer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

func TestConfigEndedReceivesResultAndDuration(t *testing.T) {
	st := newStore(t)
	var received []trainer.JobEnd
	tr := newTrainer(st, trainer.Config{Ended: func(e trainer.JobEnd) { received = append(received, e) }})
	last := func() trainer.JobEnd {
		require.NotEmpty(t, received)
		e := received[len(received)-1]
		assert.Positive(t, e.Took)
		return e
	}

	st.report(t, "a", 0, 40)
	_, err := tr.TrainNow(t.Context(), task("a"))
	require.NoError(t, err)
	assert.True(t, last().Report.Published)

	failure := errors.New("the disk failed")
	st.after = func(context.Context) error { return failure }
	_, err = tr.TrainNow(t.Context(), task("a"))
	require.ErrorIs(t, err, failure)
	assert.ErrorIs(t, last().Err, failure)
	assert.Len(t, received, 2)

	_, err = tr.TrainNow(t.Context(), task("unknown"))
	require.Equal(t, sizing.NotFound, sizing.KindOf(err))
	assert.Len(t, received, 2, "an unknown task is not a failure")
}
