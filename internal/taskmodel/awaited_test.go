package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// trained returns the model that an update of the stored champion publishes; nil if no peak is known yet. A nil champion
// means that none is stored.
func trained(t *testing.T, k *task, champion *taskmodel.Model) *taskmodel.Model {
	t.Helper()
	if champion != nil {
		champion = reopened(t, champion)
	}
	m, outcome, err := taskmodel.Update(&k.history, champion)
	require.NoError(t, err)
	if m == nil {
		require.False(t, outcome.Trained, outcome.Reason)
	}
	return m
}

func reopened(t *testing.T, m *taskmodel.Model) *taskmodel.Model {
	t.Helper()
	blob, err := m.Blob()
	require.NoError(t, err)
	m, err = taskmodel.Open(blob)
	require.NoError(t, err)
	return m
}

// line draws the features and the peak of a run that needs 1 GiB plus perUnit bytes for each row of its input, ±4 %.
func line(rng *rand.Rand, perUnit float64) (sizing.Features, float64) {
	rows := 1e6 * noise(rng, 0.5)
	return sizing.Features{"rows": sizing.NumberValue(rows)}, (1 + rows*perUnit/float64(gib)) * noise(rng, 0.04)
}

func withoutPeak() sizing.HistoryRow {
	r := measuredRun(0)
	r.MemoryMax, r.CPUMax = 0, 0
	return r
}

// Each peak is added five runs after its success, and each report is followed by a training.
func TestPeaksAmendedAfterATrainingAreLearnedOnce(t *testing.T) {
	const n, lag = 60, 5
	k, rng := newTask(t), rand.New(rand.NewPCG(1, 2))
	var m *taskmodel.Model
	peaks := make([]float64, n)
	for i := range n + lag {
		if i < n {
			f, peak := line(rng, 3000)
			peaks[i] = peak
			k.row(f, withoutPeak())
			m = trained(t, k, m)
		}
		if i >= lag {
			k.history.Rows[i-lag].MemoryMax = bytes(peaks[i-lag])
			m = trained(t, k, m)
		}
	}
	assert.Equal(t, n, m.Experts.LearnedRows)
	assert.Equal(t, n, m.Tries)
	assert.Empty(t, m.Awaited)
	residuals := len(m.OutOfSample) + len(m.Unpredicted) + len(m.Pending)
	assert.Equal(t, n, residuals, "each peak has one out-of-sample residual at most")
	again := trained(t, k, m)
	assert.Equal(t, n, again.Experts.LearnedRows)
	assert.Equal(t, residuals, len(again.OutOfSample)+len(again.Unpredicted)+len(again.Pending))

	answer := m.Size(question(sizing.Features{"rows": sizing.NumberValue(1e6)}))
	assert.InDelta(t, 4.3, float64(answer.Limit)/float64(gib), 0.5, answer.Reason) // the run needs 3.8 GiB ±4 %
}

// A task of 2 GiB grows to 8 GiB. Each peak follows its success after a training.
func TestAmendedPeaksShowGrowth(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(3, 4))
	f := sizing.Features{"k": sizing.TextValue("a")}
	for range 100 {
		k.row(f, measuredRun(2*noise(rng, 0.04)))
	}
	m := trained(t, k, nil)
	for range 25 {
		r := k.row(f, withoutPeak())
		m = trained(t, k, m)
		r.MemoryMax = bytes(8 * noise(rng, 0.04))
		m = trained(t, k, m)
	}
	answer := m.Size(question(f))
	assert.Equal(t, 125, m.Experts.LearnedRows)
	assert.Greater(t, answer.Limit, 8*gib, answer.Reason)
	assert.Greater(t, m.LargestPeak(), 8*gib)
}

// The slope of a task triples. The sampled peaks follow after a training.
func TestAmendedSampledPeaksShowAChangedSlope(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(5, 6))
	for range 100 {
		f, peak := line(rng, 3000)
		k.row(f, measuredRun(peak))
	}
	m, killed := trained(t, k, nil), 0
	for i := range 14 {
		f, peak := line(rng, 9000)
		if m.Size(question(f)).Limit < bytes(peak) && i >= 7 {
			killed++
		}
		r := k.row(f, withoutPeak())
		m = trained(t, k, m)
		r.MemorySampled = bytes(peak)
		m = trained(t, k, m)
	}
	assert.Equal(t, 114, m.Experts.LearnedRows)
	assert.LessOrEqual(t, killed, 1, "of the last 7 first tries")
}

// An import adds 200 successes without peaks, all newer or all older than the learned runs; later imports add their peaks.
func TestPeaksOfAnEarlierImportAreLearned(t *testing.T) {
	for name, older := range map[string]int{"newer runs": 0, "older runs": 200} {
		t.Run(name, func(t *testing.T) {
			k, rng := newTask(t), rand.New(rand.NewPCG(7, 8))
			for range 30 {
				f, peak := line(rng, 3000)
				k.row(f, measuredRun(peak))
			}
			m := trained(t, k, nil)
			var peaks []float64
			for range 200 {
				f, peak := line(rng, 3000)
				k.row(f, withoutPeak())
				peaks = append(peaks, peak)
			}
			if older > 0 { // the history is in the order of time, the numbers in the order of arrival
				rows := k.history.Rows
				k.history.Rows = append(append([]sizing.HistoryRow{}, rows[30:]...), rows[:30]...)
			}
			m = trained(t, k, m)
			require.Len(t, m.Awaited, 1, "one range for the import")
			for part := range 2 { // in two batches, the newest half first
				for i := range k.history.Rows {
					r := &k.history.Rows[i]
					if j := r.Seq - 31; j >= 0 && (j >= 100) == (part == 0) {
						r.MemoryMax = bytes(peaks[j])
					}
				}
				m = trained(t, k, m)
				assert.Equal(t, 130+100*part, m.Experts.LearnedRows)
			}
			assert.Empty(t, m.Awaited)
			assert.Equal(t, 230, m.Tries)
			answer := m.Size(question(sizing.Features{"rows": sizing.NumberValue(1e6)}))
			assert.InDelta(t, 4.2, float64(answer.Limit)/float64(gib), 0.4, answer.Reason)
			assert.GreaterOrEqual(t, m.Fitted, 200, "fits follow the learned peaks")
		})
	}
}

// A training does not learn a peak again that the model in memory has already learned.
func TestAModelAwaitsThePeakOfALearnedSuccess(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(9, 10))
	for range 40 {
		f, peak := line(rng, 3000)
		k.row(f, measuredRun(peak))
	}
	f, peak := line(rng, 3000)
	r := k.row(f, withoutPeak())
	m := trained(t, k, nil)
	assert.True(t, m.Awaits(r.Seq))
	assert.False(t, m.Awaits(r.Seq-1))
	r.MemoryMax = bytes(peak)
	amended := taskmodel.NewTrainingRow(&k.history.Schema, r)
	amended.Amends = true
	m.Learn(amended)
	assert.False(t, m.Awaits(r.Seq))
	assert.Equal(t, 41, m.Experts.LearnedRows)
	assert.Equal(t, 41, trained(t, k, m).Experts.LearnedRows)
	assert.False(t, math.IsNaN(m.OutOfSample[len(m.OutOfSample)-1].Residual))
}

// A model of an earlier release does not know which rows it learned without a peak.
func TestAModelThatLacksManyPeaksIsLearnedFromScratch(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(11, 12))
	var peaks []float64
	for i := range 60 {
		f, peak := line(rng, 3000)
		peaks = append(peaks, peak)
		if i < 20 {
			k.row(f, measuredRun(peak))
			continue
		}
		k.row(f, withoutPeak())
	}
	old := trained(t, k, nil)
	old.Awaited = nil
	for i := 20; i < 60; i++ {
		k.history.Rows[i].MemoryMax = bytes(peaks[i])
		switch m := trained(t, k, old); {
		case i < 20+7:
			require.Equal(t, 20, m.Experts.LearnedRows, "a few peaks are used in fits only")
		default:
			require.Equal(t, i+1, m.Experts.LearnedRows)
			require.Zero(t, m.Unlearned)
		}
	}
	fresh := trained(t, k, nil)
	assert.Equal(t, fresh.OutOfSample, trained(t, k, old).OutOfSample)

	// Peaks that no training learns cause no further training from scratch.
	stuck := reopened(t, fresh)
	stuck.Experts.LearnedRows -= 30
	stuck.Unlearned = 30
	assert.Equal(t, 30, trained(t, k, stuck).Experts.LearnedRows)
}

// A training whose challenger loses its evaluation changes no stored model, so the next training starts from the same champion.
func TestATrainingAfterADiscardedOneLearnsAmendedPeaks(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(13, 14))
	var peaks []float64
	for i := range 50 {
		f, peak := line(rng, 3000)
		peaks = append(peaks, peak)
		if i < 30 {
			k.row(f, measuredRun(peak))
			continue
		}
		k.row(f, withoutPeak())
	}
	champion := trained(t, k, nil)
	for i := 30; i < 40; i++ {
		k.history.Rows[i].MemoryMax = bytes(peaks[i])
	}
	discarded := trained(t, k, champion)
	assert.Equal(t, 40, discarded.Experts.LearnedRows)
	for i := 40; i < 50; i++ {
		k.history.Rows[i].MemoryMax = bytes(peaks[i])
	}
	m := trained(t, k, champion)
	assert.Equal(t, 50, m.Experts.LearnedRows)
	want, got := m.OutOfSample, trained(t, k, discarded).OutOfSample
	assert.Equal(t, want, got, "one training or two learn the peaks in the same order")
}
