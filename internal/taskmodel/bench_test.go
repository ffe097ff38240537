package taskmodel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// wideHistory returns a task with `runs` runs and 30 features: 20 numbers, 6 categories, 2 dates and
// 2 bools. The peak depends on four of the features.
func wideHistory(runs int) *task {
	k, rng := newTask(nil), newRand(41)
	for i := range runs {
		f, peak := sizing.Features{}, 0.0
		for j := range 20 {
			v := rng.Float64()
			f[fmt.Sprint("number", j)] = sizing.NumberValue(1000 * v)
			if j < 3 {
				peak += v
			}
		}
		for j := range 6 {
			level := rng.IntN(3 + 6*j)
			f[fmt.Sprint("category", j)] = sizing.TextValue(fmt.Sprint("level ", level))
			if j == 1 {
				peak += 0.2 * float64(level)
			}
		}
		f["from"], f["to"] = sizing.TextValue(fmt.Sprintf("2020-01-%02d", 1+i%28)), sizing.TextValue(fmt.Sprintf("2020-02-%02d", 1+rng.IntN(28)))
		f["full"], f["dry"] = sizing.BoolValue(i%2 == 0), sizing.BoolValue(i%5 == 0)
		k.row(f, measuredRun(math.Exp(peak)*noise(rng, 0.2)))
	}
	return k
}

func championBlob(b *testing.B, k *task) []byte {
	older := k.history
	older.Rows = older.Rows[:len(older.Rows)-25]
	older.LastSeq -= 25
	m, _, err := taskmodel.Fit(&older, nil)
	require.NoError(b, err)
	blob, err := m.Blob()
	require.NoError(b, err)
	return blob
}

// BenchmarkRefit trains a challenger on 1,460 rows. The champion has not learned the newest 25 of them.
func BenchmarkRefit(b *testing.B) { benchmarkRefit(b, wideHistory(1460)) }

// BenchmarkRefitLongest is BenchmarkRefit with the largest number of rows that a training reads.
func BenchmarkRefitLongest(b *testing.B) { benchmarkRefit(b, wideHistory(20_000)) }

func benchmarkRefit(b *testing.B, k *task) {
	blob := championBlob(b, k)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		m, err := taskmodel.Open(blob)
		require.NoError(b, err)
		b.StartTimer()
		_, outcome, err := taskmodel.Fit(&k.history, m)
		require.NoError(b, err)
		require.True(b, outcome.Trained)
	}
}

// BenchmarkFirstFit trains a new model on 1,460 rows.
func BenchmarkFirstFit(b *testing.B) { benchmarkFirstFit(b, wideHistory(1460)) }

// BenchmarkFirstFitLongest trains a new model on the largest number of rows that a training reads.
func BenchmarkFirstFitLongest(b *testing.B) { benchmarkFirstFit(b, wideHistory(20_000)) }

func benchmarkFirstFit(b *testing.B, k *task) {
	b.ReportAllocs()
	for b.Loop() {
		_, _, err := taskmodel.Fit(&k.history, nil)
		require.NoError(b, err)
	}
}

func BenchmarkSize(b *testing.B) {
	k := wideHistory(1460)
	m, err := taskmodel.Open(championBlob(b, k))
	require.NoError(b, err)
	q := question(k.history.Schema.Features(k.history.Rows[1000].Features))
	for name, above := range map[string]sizing.Bytes{"first try": 0, "after a kill": gib} {
		b.Run(name, func(b *testing.B) {
			q.Above = above
			b.ReportAllocs()
			for b.Loop() {
				m.Size(q)
			}
		})
	}
}

// BenchmarkSizeNew answers questions whose numbers are new but within the learned range. The other features come from
// learned rows.
func BenchmarkSizeNew(b *testing.B) {
	k, rng := wideHistory(1460), newRand(43)
	m, err := taskmodel.Open(championBlob(b, k))
	require.NoError(b, err)
	questions := make([]taskmodel.Question, 1024)
	for i := range questions {
		f := k.history.Schema.Features(k.history.Rows[i].Features)
		for j := range 20 {
			f[fmt.Sprint("number", j)] = sizing.NumberValue(20 + 960*rng.Float64())
		}
		questions[i] = question(f)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Size(questions[i%len(questions)])
	}
}

func BenchmarkLearn(b *testing.B) {
	k := wideHistory(1460)
	m, err := taskmodel.Open(championBlob(b, k))
	require.NoError(b, err)
	var rows []taskmodel.TrainingRow
	for i := range k.history.Rows {
		rows = append(rows, taskmodel.NewTrainingRow(&k.history.Schema, &k.history.Rows[i]))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Learn(rows[i%len(rows)])
	}
}

func BenchmarkBlob(b *testing.B) {
	k := wideHistory(1460)
	blob := championBlob(b, k)
	b.SetBytes(int64(len(blob)))
	for b.Loop() {
		m, err := taskmodel.Open(blob)
		require.NoError(b, err)
		_, err = m.Blob()
		require.NoError(b, err)
	}
}
