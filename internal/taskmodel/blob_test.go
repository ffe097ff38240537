package taskmodel_test

import (
	"crypto/sha256"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/taskmodel"
)

// unscreenedVersion is the version of the blob of a model that uses all columns.
const unscreenedVersion = 3

func blobOf(t *testing.T, m *taskmodel.Model) []byte {
	t.Helper()
	b, err := m.Blob()
	require.NoError(t, err)
	return b
}

func reopen(t *testing.T, blob []byte) *taskmodel.Model {
	t.Helper()
	m, err := taskmodel.Open(blob)
	require.NoError(t, err)
	return m
}

func TestBlobRoundTripIsExact(t *testing.T) {
	for name, draw := range generators {
		for _, n := range []int{0, 1, 4, 19, 40, 150} {
			k, rng := trainedTask(t, draw, 21, n)
			if n > 0 {
				k.report(small, killed(300)) // some models quarantine it
				k.report(small, unmeasured(3))
			}
			blob := blobOf(t, k.model)
			back := reopen(t, blob)
			require.Contains(t, []int{unscreenedVersion, taskmodel.UnitVersion, taskmodel.TrendVersion}, k.model.Format(), "earlier releases read the blob, unless the unit of a number is below 1 or there is a step")
			require.Equal(t, blob, blobOf(t, back), "%s, %d runs", name, n)
			for range 25 {
				f, gibs := draw(rng)
				q := question(f)
				require.Equal(t, k.model.Size(q), back.Size(q), "%s, %d runs", name, n)
				q.Above = bytes(gibs)
				require.Equal(t, k.model.Size(q), back.Size(q), "%s, %d runs", name, n)
				k.reportSuccess(f, gibs)
				last := taskmodel.NewTrainingRow(&k.history.Schema, &k.history.Rows[len(k.history.Rows)-1])
				last.Features = f
				back.Learn(last)
			}
			require.Equal(t, blobOf(t, k.model), blobOf(t, back), "%s, %d runs and 25 more", name, n)
		}
	}
}

func TestOpenRejectsAFlippedByte(t *testing.T) {
	k, _ := trainedTask(t, kinds, 22, 2)
	tiny := blobOf(t, k.model)
	k, _ = trainedTask(t, growing, 22, 100)
	large := blobOf(t, k.model)
	for _, c := range []struct {
		blob  []byte
		every int
	}{{tiny, 1}, {large, len(large)/500 + 1}} {
		for i := 0; i < len(c.blob); i += c.every {
			for _, flip := range []byte{1, 0x80} {
				c.blob[i] ^= flip
				_, err := taskmodel.Open(c.blob)
				require.ErrorIs(t, err, taskmodel.ErrFormat, "flipped bit in byte %d of %d", i, len(c.blob))
				c.blob[i] ^= flip
			}
		}
		_, err := taskmodel.Open(c.blob)
		require.NoError(t, err, "Open must accept the blob again when no byte is flipped")
	}
}

func TestOpenRejectsATruncatedBlob(t *testing.T) {
	k, _ := trainedTask(t, kinds, 23, 2)
	blob := blobOf(t, k.model)
	for i := range blob {
		_, err := taskmodel.Open(blob[:i])
		require.ErrorIs(t, err, taskmodel.ErrFormat, "only the first %d of %d bytes", i, len(blob))
	}
	_, err := taskmodel.Open(append(blob, 0))
	assert.ErrorIs(t, err, taskmodel.ErrFormat, "Open must reject one byte too many")
}

func withHeader(body []byte) []byte {
	sum := sha256.Sum256(body)
	blob := binary.BigEndian.AppendUint16([]byte("lawm"), taskmodel.FormatVersion)
	return append(append(blob, sum[:]...), body...)
}

func TestOpenRejectsAnotherVersion(t *testing.T) {
	blob := withHeader([]byte{0xa0}) // an empty map
	binary.BigEndian.PutUint16(blob[4:], taskmodel.FormatVersion+1)
	_, err := taskmodel.Open(blob)
	require.ErrorIs(t, err, taskmodel.ErrFormat)
	assert.Contains(t, err.Error(), "version")
}

// FuzzOpen checks that Open decodes or rejects any bytes, and that a decoded model answers.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("lawm"))
	f.Add([]byte{})
	f.Add(withHeader([]byte{0xa0}))
	f.Fuzz(func(t *testing.T, blob []byte) {
		if m, err := taskmodel.Open(blob); err == nil {
			m.Size(question(small))
		} else {
			require.ErrorIs(t, err, taskmodel.ErrFormat)
		}
	})
}

// The same history gives the same bytes, with one thread (GOMAXPROCS) and with the default.
func TestBlobIsDeterministic(t *testing.T) {
	k, rng := newTask(t), newRand(24)
	for i := range 300 {
		f, gibs := growing(rng)
		g, _ := kinds(rng)
		f["kind"] = g["kind"]
		if i%20 == 0 {
			k.row(f, killed(gibs/2))
		}
		k.row(f, measuredRun(gibs))
	}
	fitted := func() []byte {
		m, _, err := taskmodel.Fit(&k.history, nil)
		require.NoError(t, err)
		return blobOf(t, m)
	}
	first := fitted()
	assert.Equal(t, first, fitted())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	assert.Equal(t, first, fitted(), "one thread must give the same bytes")
}

func TestModelMetadata(t *testing.T) {
	k, _ := trainedTask(t, kinds, 25, 10)
	assert.Equal(t, "own-history", k.model.Family())
	k, _ = trainedTask(t, kinds, 25, 60)
	assert.Equal(t, "experts", k.model.Family())
	assert.Equal(t, 32*gib, k.model.LargestStarted())
	assert.InDelta(t, 10.5, float64(k.model.LargestPeak())/float64(gib), 2)
	assert.Equal(t, []string{"kind"}, k.model.Drivers)
}

// FuzzBody checks that Open decodes or rejects any body with a valid checksum. It does not call
// Size, which may rely on the invariants of a body that Blob has written.
func FuzzBody(f *testing.F) {
	for _, n := range []int{1, 4} {
		k := newTask(&testing.T{})
		rng := newRand(uint64(n))
		for range n {
			features, gibs := kinds(rng)
			k.reportSuccess(features, gibs)
		}
		blob, err := k.model.Blob()
		require.NoError(f, err)
		f.Add(blob[len(withHeader(nil)):])
	}
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := taskmodel.Open(withHeader(body)); err != nil {
			require.ErrorIs(t, err, taskmodel.ErrFormat)
		}
	})
}
