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

func TestWhatEndedIsToldWithWhatCameOfIt(t *testing.T) {
	st := newStore(t)
	var told []trainer.Ended
	tr := newTrainer(st, trainer.Config{Ended: func(e trainer.Ended) { told = append(told, e) }})
	last := func() trainer.Ended {
		require.NotEmpty(t, told)
		e := told[len(told)-1]
		assert.Positive(t, e.Took)
		return e
	}

	st.tell(t, "a", 0, 40)
	_, err := tr.TrainNow(t.Context(), task("a"))
	require.NoError(t, err)
	assert.True(t, last().Report.Published)

	broken := errors.New("the disk is gone")
	st.after = func(context.Context) error { return broken }
	_, err = tr.TrainNow(t.Context(), task("a"))
	require.ErrorIs(t, err, broken)
	assert.ErrorIs(t, last().Err, broken)
	assert.Len(t, told, 2)

	_, err = tr.TrainNow(t.Context(), task("nobody knows it"))
	require.Equal(t, sizing.NotFound, sizing.KindOf(err))
	assert.Len(t, told, 2, "a name that anybody may make up is no failure")
}
