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

func TestPicturesAreDeterministic(t *testing.T) {
	history := filepath.Join(t.TempDir(), "short.csv")
	require.NoError(t, os.WriteFile(history, firstLines(t, 200), 0o600))
	first, again := t.TempDir(), t.TempDir()
	require.NoError(t, draw(first, "predict_demand", history))
	require.NoError(t, draw(again, "predict_demand", history))
	for _, name := range []string{"allocation.svg", "risk.svg", "drift.svg", "target.svg", "policies.svg", "phases.svg"} {
		svg, err := os.ReadFile(filepath.Join(first, name))
		require.NoError(t, err)
		same, err := os.ReadFile(filepath.Join(again, name))
		require.NoError(t, err)
		assert.Equal(t, svg, same, name)
		assertXML(t, svg)
	}
}

func firstLines(t *testing.T, n int) []byte {
	decompressed, err := gzip.NewReader(bytes.NewReader(demo.CSV))
	require.NoError(t, err)
	text, err := io.ReadAll(decompressed)
	require.NoError(t, err)
	return bytes.Join(bytes.SplitAfterN(text, []byte("\n"), n+1)[:n], nil)
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

func TestAxesHaveFourToEightTicks(t *testing.T) {
	for n := 1; n <= 3_000; n++ {
		for _, ticks := range [][]float64{runAxis(n).ticks, ticksUpTo(float64(n))} {
			assert.GreaterOrEqual(t, len(ticks), 4, "%d: %v", n, ticks)
			assert.LessOrEqual(t, len(ticks), 8, "%d: %v", n, ticks)
			assert.GreaterOrEqual(t, ticks[len(ticks)-1], float64(n), "%v", ticks)
		}
	}
}

func TestReplayAgreesWithBacktest(t *testing.T) {
	steps, err := replay(demo.CSV, sizing.DefaultRiskTarget)
	require.NoError(t, err)
	replayed := sum(steps, sizing.DefaultRiskTarget)
	results, err := backtestPolicies(demo.CSV)
	require.NoError(t, err)
	require.Equal(t, backtest.Loadaware, results[0].Policy)
	assert.InDelta(t, results[0].Killed, 100*replayed.killed, 1e-9)
	assert.InDelta(t, results[0].WastedGBh/results[0].UsedGBh, replayed.waste, 1e-9)
}

func TestDriftChangesTheSecondHalfOnly(t *testing.T) {
	history := firstLines(t, 21)
	changed, err := drift(history)
	require.NoError(t, err)
	before, err := replay(history, sizing.DefaultRiskTarget)
	require.NoError(t, err)
	after, err := replay(changed, sizing.DefaultRiskTarget)
	require.NoError(t, err)
	require.Len(t, after, len(before))
	for i := range before {
		factor := 1.0
		if i >= len(before)/2 {
			factor = driftFactor
		}
		assert.InEpsilon(t, factor, float64(after[i].Peak)/float64(before[i].Peak), 1e-6, "run %d", i+1)
		assert.Equal(t, before[i].Features, after[i].Features)
	}
}

func TestAxisPositionsAndTicks(t *testing.T) {
	decades := axis{log: true, ticks: []float64{1, 10, 100}}
	assert.InDelta(t, 0.5, decades.position(10), 1e-12)
	assert.Zero(t, decades.position(0), "a value outside the axis must have the position of the nearer end")
	assert.Equal(t, []float64{0, 5, 10, 15, 20, 25}, ticksUpTo(21))
	assert.Equal(t, []float64{0, 25, 50, 75, 100, 125, 150}, runAxis(150).ticks)
}
