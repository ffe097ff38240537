package taskmodel

import (
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Models of releases that quarantined only large reports store training rows without Expected.
func TestOldQuarantineFormatIsReadable(t *testing.T) {
	stored, err := cbor.Marshal([]TrainingRow{{Seq: 7, Peak: 250 * sizing.GiB, Censoring: sizing.Exact, Outcome: sizing.Success, FirstTry: true}})
	require.NoError(t, err)
	m := New()
	require.NoError(t, cbor.Unmarshal(stored, &m.Quarantine))
	require.Len(t, m.Quarantine, 1)
	assert.EqualValues(t, 7, m.Quarantine[0].Seq)
	assert.Equal(t, 250*sizing.GiB, m.Quarantine[0].Peak)
	assert.False(t, m.Quarantine[0].isLow())
	assert.Equal(t, "far above all known peaks of the task", m.Quarantined()[0].Detail)
}
