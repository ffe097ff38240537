package experiment_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/sizing"
)

const header = "dag_id,task_id,run_id,started_at,duration_s,memory_requested_bytes,cpu_requested_cores,memory_max_bytes,cpu_max_cores,feature.size,feature.kind,feature.day\n"

// history returns runs of two tasks. The task score uses about 0.4 GB per unit of size, or 1.6 GB per unit for
// kind b; it requests 200 GB. The task load uses about 1 GB for all features and requests 20 GB.
func history(runs int) string {
	rng, start := rand.New(rand.NewPCG(5, 0)), time.Date(2024, 1, 1, 2, 0, 0, 0, time.UTC)
	var out strings.Builder
	out.WriteString(header)
	for run := range runs {
		size, kind, at := math.Exp(4*rng.Float64()), "a", start.Add(time.Duration(run)*time.Hour)
		peak := 0.4 * size
		if rng.IntN(5) == 0 {
			kind, peak = "b", 4*peak
		}
		line := func(task string, seconds float64, requested, cpu, peak, used float64) {
			fmt.Fprintf(&out, "d,%s,r%d,%s,%.1f,%.0f,%v,%.0f,%.2f,%.3f,%s,%s\n", task, run, at.Format(time.RFC3339), seconds, requested, cpu, peak, used, size, kind, at.Format(time.DateOnly))
		}
		line("score", 60*size, 200e9, 6, 1e9*peak*math.Exp(0.05*rng.NormFloat64()), 1+0.1*rng.Float64())
		line("load", 30, 20e9, 4, 1e9*math.Exp(0.2*rng.NormFloat64()), 0.5)
	}
	return out.String()
}

func read(t testing.TB, text string) *experiment.Data {
	t.Helper()
	d, err := experiment.Read("some history", strings.NewReader(text))
	require.NoError(t, err)
	return d
}

func TestFingerprintDependsOnTheRows(t *testing.T) {
	text := history(20)
	whole := read(t, text)
	assert.Equal(t, whole.Fingerprint, read(t, text).Fingerprint)
	assert.Equal(t, "685cc399ea770ca23a0c18dd87a1bb7be5149ba86c6ffd7429f573ee3c02c3d8", whole.Fingerprint, "the fingerprint is the same as in earlier versions")
	lines := strings.SplitAfter(text, "\n")
	assert.NotEqual(t, whole.Fingerprint, read(t, strings.Join(lines[:len(lines)-2], "")).Fingerprint, "a history with one row less has another fingerprint")
	assert.NotEqual(t, whole.Fingerprint, read(t, strings.Replace(text, ",b,", ",c,", 1)).Fingerprint, "a history with another category has another fingerprint")
}

func TestReadSortsByTime(t *testing.T) {
	lines := strings.SplitAfter(history(20), "\n")
	rows := lines[1 : len(lines)-1]
	slices.Reverse(rows)
	assert.Equal(t, read(t, history(20)).Fingerprint, read(t, header+strings.Join(rows, "")).Fingerprint)
}

func TestCapIsAboveEveryPeak(t *testing.T) {
	assert.Equal(t, sizing.Bytes(128e9), read(t, history(20)).Cap)
	big := history(20) + "d,score,big,2025-01-01T00:00:00Z,60,200e9,6,190e9,1,5,a,2025-01-01\n"
	assert.Equal(t, sizing.Bytes(190.019e9), read(t, big).Cap)
}

func TestReadCountsTriesWithoutAPeak(t *testing.T) {
	text := history(20) + "d,load,last,2025-01-01T00:00:00Z,60,20e9,4,,1,5,a,2025-01-01\n"
	assert.Equal(t, 1, read(t, text).LeftOut)
}

// sampledHistory returns 10 runs of the task `sampled` and one run of the task `calibrated`. The runs of `sampled` have a
// sampled peak of 100 GB, no measured peak, and the given allocation. The run of `calibrated` has a sampled peak of 90 GB, and
// a measured peak of `measured` bytes.
func sampledHistory(measured int, allocated string) string {
	var out strings.Builder
	for run := range 10 {
		fmt.Fprintf(&out, `{"dag_id":"d","task_id":"sampled","run_id":"r%d","outcome":"success","ended_at":"2025-01-01T00:00:00Z","memory_sampled_bytes":100000000000,"allocated":{"memory":"%s"}}`+"\n", run, allocated)
	}
	fmt.Fprintf(&out, `{"dag_id":"d","task_id":"calibrated","run_id":"r","outcome":"success","ended_at":"2025-01-01T00:00:00Z","memory_max_bytes":%d,"memory_sampled_bytes":90000000000}`+"\n", measured)
	return out.String()
}

func TestReadRaisesSampledPeaks(t *testing.T) {
	d := read(t, sampledHistory(180e9, "500Gi"))
	assert.Zero(t, d.LeftOut)
	assert.Equal(t, sizing.Bytes(200.02e9), d.Cap, "the peak counts as twice the sampled peak, as in the run of the task calibrated")
	assert.NotEqual(t, d.Fingerprint, read(t, sampledHistory(170e9, "500Gi")).Fingerprint, "another measured peak gives another fingerprint")
	assert.NotEqual(t, d.Fingerprint, read(t, sampledHistory(180e9, "400Gi")).Fingerprint, "another allocation gives another fingerprint")
	changed := strings.Replace(sampledHistory(180e9, "500Gi"), ":100000000000", ":100000000001", 1)
	assert.NotEqual(t, d.Fingerprint, read(t, changed).Fingerprint, "another sampled peak gives another fingerprint")
}

func TestReadRejectsInvalidHistories(t *testing.T) {
	for claim, c := range map[string]struct{ text, message string }{
		"an invalid row": {header + "d,load,r,never,1,1,1,1,1,1,a,b\n", "some history: line 2: started_at"},
		"no history":     {"", "some history: "},
		"too few rows":   {history(9), "some history: no task has 10 runs with a measured or sampled peak"},
	} {
		_, err := experiment.Read("some history", strings.NewReader(c.text))
		assert.ErrorContains(t, err, c.message, claim)
		assert.Equal(t, sizing.Invalid, sizing.KindOf(err), claim)
	}
}
