package taskmodel_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// importOlder adds runs that ended before all rows of the history, one hour apart. They arrive now, and draw draws them in the
// order of time.
func (k *task) importOlder(runs int, draw func() (sizing.Features, sizing.HistoryRow)) {
	live := len(k.history.Rows)
	start := k.history.Rows[0].At.Add(-time.Duration(runs) * time.Hour)
	for i := range runs {
		f, r := draw()
		k.row(f, r).At = start.Add(time.Duration(i) * time.Hour)
	}
	k.history.Rows = slices.Concat(k.history.Rows[live:], k.history.Rows[:live]) // in the order of time
}

// lateHistories draw a run of an older history that is imported later or, if live is true, one of the newer runs that are
// reported live. The live runs need more memory.
var lateHistories = map[string]func(rng *rand.Rand, live bool) (sizing.Features, float64){
	"level": func(rng *rand.Rand, live bool) (sizing.Features, float64) {
		if live {
			return nil, 8 * noise(rng, 0.08)
		}
		return nil, 2 * noise(rng, 0.08)
	},
	"slope": func(rng *rand.Rand, live bool) (sizing.Features, float64) {
		f, peak := line(rng, 1000)
		if live {
			peak *= 3
		}
		return f, peak
	},
}

// A task was live for 60 runs before its older history is imported.
func TestAnOlderHistoryImportedLaterIsLearnedInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	for name, draw := range lateHistories {
		t.Run(name, func(t *testing.T) {
			k, rng := newTask(t), rand.New(rand.NewPCG(1, 2))
			for range 60 {
				f, peak := draw(rng, true)
				k.row(f, measuredRun(peak))
			}
			m := trained(t, k, nil)
			k.importOlder(400, func() (sizing.Features, sizing.HistoryRow) {
				f, peak := draw(rng, false)
				return f, measuredRun(peak)
			})
			live := reopened(t, m)
			for i := range 400 {
				live.Learn(taskmodel.NewTrainingRow(&k.history.Schema, &k.history.Rows[i]))
			}
			f, _ := draw(rng, true)
			assert.Equal(t, m.Size(question(f)).Limit, live.Size(question(f)).Limit, "until the training the older runs change no grant")
			assert.Equal(t, 460, live.Tries)

			m = trained(t, k, m)
			assert.Equal(t, blobOf(t, trained(t, k, nil)), blobOf(t, m), "as if the older runs had been learned first")
			renumbered := *k
			renumbered.history.Rows = slices.Clone(k.history.Rows)
			for i := range renumbered.history.Rows {
				renumbered.history.Rows[i].Seq = int64(i + 1)
			}
			assert.Equal(t, trained(t, &renumbered, nil).Size(question(f)), m.Size(question(f)), "as if they had arrived first")

			killed, granted, needed := 0, 0.0, 0.0
			for range 40 {
				f, peak := draw(rng, true)
				limit := m.Size(question(f)).Limit
				granted, needed = granted+float64(limit), needed+float64(bytes(peak))
				if limit < bytes(peak) {
					killed++
				}
				k.row(f, measuredRun(peak))
				m = trained(t, k, m)
			}
			assert.LessOrEqual(t, killed, 2)
			assert.Less(t, granted/needed, 1.6)
			assert.Equal(t, 500, m.Experts.LearnedRows)
			assert.Equal(t, 500, m.Tries)
		})
	}
}

// The run times of the older history arrive first, and its peaks later.
func TestOlderPeaksAddedLaterAreLearnedInTheOrderOfTime(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(3, 4))
	for range 60 {
		k.row(nil, measuredRun(8*noise(rng, 0.08)))
	}
	m := trained(t, k, nil)
	k.importOlder(200, func() (sizing.Features, sizing.HistoryRow) { return nil, withoutPeak() })
	m = trained(t, k, m)
	require.Equal(t, 60, m.Experts.LearnedRows)
	for i := range 200 {
		k.history.Rows[i].MemoryMax = bytes(2 * noise(rng, 0.08))
	}
	m = trained(t, k, m)
	assert.Equal(t, blobOf(t, trained(t, k, nil)), blobOf(t, m))
	assert.Greater(t, m.Size(question(nil)).Limit, bytes(8))
}

// An import in small batches, each followed by a training, is learned in the order of time as well.
func TestAnOlderHistoryInBatchesIsLearnedInTheOrderOfTime(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(5, 6))
	for range 200 {
		k.row(nil, measuredRun(8*noise(rng, 0.08)))
	}
	m, scratch := trained(t, k, nil), 0
	for range 40 {
		k.importOlder(5, func() (sizing.Features, sizing.HistoryRow) { return nil, measuredRun(2 * noise(rng, 0.08)) })
		if m = trained(t, k, m); m.Late == 0 {
			scratch++
		}
		assert.Less(t, m.Late, 24)
	}
	assert.LessOrEqual(t, scratch, 15, "the work stays in proportion to the history")
	assert.Greater(t, m.Size(question(nil)).Limit, bytes(8))
	assert.Equal(t, 400, m.Experts.LearnedRows+m.Late)
	assert.Equal(t, 400, m.Tries)
}

// The imported runs ended between an older part of the history and the live runs.
func TestAGapFilledLaterIsLearnedInTheOrderOfTime(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(11, 12))
	for range 400 {
		k.row(nil, measuredRun(2*noise(rng, 0.08)))
	}
	for range 60 {
		r := k.row(nil, measuredRun(8*noise(rng, 0.08)))
		r.At = r.At.Add(1000 * time.Hour)
	}
	m := trained(t, k, nil)
	for i := range 100 {
		k.row(nil, measuredRun(2*noise(rng, 0.08))).At = k.history.Rows[399].At.Add(time.Duration(i+1) * time.Hour)
	}
	rows := k.history.Rows
	k.history.Rows = slices.Concat(rows[:400], rows[460:], rows[400:460])
	m = trained(t, k, m)
	assert.Equal(t, blobOf(t, trained(t, k, nil)), blobOf(t, m))
	assert.Greater(t, m.Size(question(nil)).Limit, bytes(8))
}

// A history of more than 20,000 runs is read without most of its older runs. The runs that are not read do not
// count as deleted, even if they arrived last.
func TestOlderRunsThatAreNotReadAreNotVoided(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(13, 14))
	for range 4000 {
		k.row(nil, killed(1))
	}
	k.importOlder(40, func() (sizing.Features, sizing.HistoryRow) { return nil, measuredRun(8 * noise(rng, 0.08)) })
	m := trained(t, k, nil)
	require.NotEmpty(t, m.OutOfSample)
	k.history.Rows = slices.Delete(k.history.Rows, 5, 35)
	assert.Equal(t, 40, trained(t, k, m).Experts.LearnedRows, "not learned from scratch")
	k.history.Total = len(k.history.Rows)
	assert.Equal(t, 10, trained(t, k, m).Experts.LearnedRows, "the history is complete, so the missing runs were deleted")
}

// Single late reports, and reports in a slightly different order, cause no training from scratch.
func TestSingleLateReportsAreLearnedAsUsual(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(7, 8))
	for range 100 {
		k.row(nil, measuredRun(8*noise(rng, 0.08)))
	}
	m := trained(t, k, nil)
	first := m.OutOfSample[:20]
	for i := range 35 {
		r := k.row(nil, measuredRun(8*noise(rng, 0.08)))
		switch i % 5 {
		case 4: // ended before all others
			r.At = k.history.Rows[0].At.Add(-time.Hour)
		case 2: // ended before the previous reports
			r.At = r.At.Add(-4 * time.Hour)
		}
		slices.SortStableFunc(k.history.Rows, func(a, b sizing.HistoryRow) int { return a.At.Compare(b.At) })
		m = trained(t, k, m)
		require.Equal(t, first, m.OutOfSample[:20])
	}
	assert.Equal(t, 7, m.Late)
	assert.Equal(t, 128, m.Experts.LearnedRows, "the margins lack the runs that ended before all others")
	assert.Equal(t, 135, m.Tries)
}
