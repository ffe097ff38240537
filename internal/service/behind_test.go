package service_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestALargeBatchIsLearnedSoonAfterItWasAcknowledged(t *testing.T) {
	r := newReplica(t)
	r.teach("load", 250)
	require.Len(t, r.history("load").Rows, 250, "what was acknowledged is stored")
	r.until(func() bool { return r.told("load") == 250 }, "learned")
	r.teach("load", 250)
	assert.Equal(t, 250, r.told("load"), "once")
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	r.until(func() bool { return r.told("load") == 250 }, "also by what was trained meanwhile")
}
