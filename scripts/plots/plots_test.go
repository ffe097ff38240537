package main

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/backtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/testdata/demo"
)

func TestTheSameHistoryGivesTheSamePictures(t *testing.T) {
	history := filepath.Join(t.TempDir(), "short.csv")
	require.NoError(t, os.WriteFile(history, firstLines(t, 200), 0o600))
	first, again := t.TempDir(), t.TempDir()
	require.NoError(t, draw(first, "predict_demand", history))
	require.NoError(t, draw(again, "predict_demand", history))
	for _, name := range []string{"allocation.svg", "risk.svg", "drift.svg", "target.svg", "rivals.svg"} {
		svg, err := os.ReadFile(filepath.Join(first, name))
		require.NoError(t, err)
		same, err := os.ReadFile(filepath.Join(again, name))
		require.NoError(t, err)
		assert.Equal(t, svg, same, name)
		assertXML(t, svg)
	}
}

func firstLines(t *testing.T, n int) []byte {
	zip, err := gzip.NewReader(bytes.NewReader(demo.CSV))
	require.NoError(t, err)
	plain, err := io.ReadAll(zip)
	require.NoError(t, err)
	return bytes.Join(bytes.SplitAfterN(plain, []byte("\n"), n+1)[:n], nil)
}

func assertXML(t *testing.T, text []byte) {
	d := xml.NewDecoder(strings.NewReader(string(text)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if !assert.NoError(t, err) {
			return
		}
	}
}

// The backtest keeps no runs one by one, so that the replay here is another; with
// every end told at once they must come to the same.
func TestTheReplayAgreesWithTheBacktest(t *testing.T) {
	rows, err := read(demo.CSV)
	require.NoError(t, err)
	steps, err := play(rows, sizing.DefaultRiskTarget)
	require.NoError(t, err)
	mine := sum(steps, sizing.DefaultRiskTarget)
	results, err := rivalsOf(demo.CSV)
	require.NoError(t, err)
	require.Equal(t, backtest.Own, results[0].Policy)
	assert.InDelta(t, results[0].Killed, 100*mine.killed, 1e-9)
	assert.InDelta(t, results[0].WastedGBh/results[0].UsedGBh, mine.waste, 1e-9)
}

func TestAValueLiesWhereItsAxisSays(t *testing.T) {
	decades := axis{log: true, ticks: []float64{1, 10, 100}}
	assert.InDelta(t, 0.5, decades.place(10), 1e-12)
	assert.Zero(t, decades.place(0), "beyond the end it lies at the end")
	assert.Equal(t, []float64{0, 5, 10, 15, 20, 25}, upTo(21))
	assert.Equal(t, []float64{0, 25, 50, 75, 100, 125, 150}, runs(150).ticks)
}
