package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/testdata/demo"
)

func TestSeedDeterminesTheBytes(t *testing.T) {
	generate := func(seed uint64) []byte {
		var b bytes.Buffer
		require.NoError(t, write(&b, history(seed, 20)))
		return b.Bytes()
	}
	assert.Equal(t, generate(7), generate(7))
	assert.NotEqual(t, generate(7), generate(8))
}

// Compressed bytes may differ between releases of Go, so the test compares the uncompressed text.
func TestCommittedDemoIsCurrent(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, write(&b, history(1, 150)))
	assert.True(t, bytes.Equal(unpacked(t, demo.CSV), unpacked(t, b.Bytes())),
		"the committed file is stale: run go run ./scripts/demodata > testdata/demo/pricing.csv.gz")
}

func TestEveryRowIsValidAndFitsItsRequest(t *testing.T) {
	rows := history(1, 150)
	assert.Len(t, rows, 900)
	for i := range rows {
		require.Empty(t, rows[i].Validate())
		require.Less(t, rows[i].MemoryMax, rows[i].Requested.Memory)
	}
}

func TestPeaksOfHeavyAndLightTasks(t *testing.T) {
	largest := map[string]sizing.Bytes{}
	for _, o := range history(1, 150) {
		largest[o.Try.Task] = max(largest[o.Try.Task], o.MemoryMax)
	}
	assert.Greater(t, largest["predict_demand"], sizing.Bytes(50e9))
	assert.Greater(t, largest["simulate_discounts"], sizing.Bytes(40e9))
	assert.Less(t, largest["publish_prices"], sizing.Bytes(1e9))
}

func unpacked(t *testing.T, zipped []byte) []byte {
	zip, err := gzip.NewReader(bytes.NewReader(zipped))
	require.NoError(t, err)
	text, err := io.ReadAll(zip)
	require.NoError(t, err)
	return text
}
