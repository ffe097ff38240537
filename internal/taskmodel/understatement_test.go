package taskmodel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

type attempt struct {
	needed       float64 // in GiB
	measured     float64 // in GiB, reported if the try succeeds
	share        float64 // if above zero, the try reports this share of its allocation, but at most measured
	sampled      bool    // the peak is reported as a sampled one
	killedAnyway bool    // the try is OOM-killed whatever its allocation, such as by an OOM of the node
}

// attempts draws a run: its features, and a function that returns each of its tries.
type attempts func() (f sizing.Features, next func(try int) attempt)

// understated draws runs whose measured or sampled peaks are only a share of the memory that the runs need.
func understated(rng *rand.Rand, draw generator, share float64, sampled bool) attempts {
	return func() (sizing.Features, func(int) attempt) {
		f, gibs := draw(rng)
		return f, func(int) attempt { return attempt{needed: gibs, measured: share * gibs, sampled: sampled} }
	}
}

// fromRows draws runs of about 3 GiB with a noise of 3 %.
func fromRows(rng *rand.Rand) (sizing.Features, float64) {
	rows := noise(rng, 0.4)
	return sizing.Features{"rows": sizing.NumberValue(1e6 * rows)}, (1 + 2*rows) * noise(rng, 0.03)
}

// batch sizes the first tries of n runs at the same time, then runs and reports all of them. It returns the number of killed
// first tries and, over all first tries, the sums of the grants in GiB and of the promises.
func (k *task) batch(n int, limit sizing.Bytes, draw attempts) (kills int, granted, promised float64) {
	k.t.Helper()
	type launched struct {
		q     taskmodel.Question
		next  func(int) attempt
		sized taskmodel.Answer
		id    string
	}
	var open []launched
	for range n {
		f, next := draw()
		k.runs++
		l := launched{q: question(f), next: next, id: fmt.Sprint("tries-", k.runs)}
		l.q.Cap = limit
		l.sized = k.model.Size(l.q)
		if l.sized.Promised != nil {
			promised += *l.sized.Promised
		}
		granted += float64(l.sized.Limit) / float64(gib)
		open = append(open, l)
	}
	for try := 1; len(open) > 0; try++ {
		retried := open[:0]
		for _, l := range open {
			a, end := l.next(try), measuredRun(0)
			end.RunID, end.Try, end.Allocated.Memory = l.id, try, l.sized.Limit
			if try == 1 {
				end.Promised = l.sized.Promised
			}
			if !a.killedAnyway && bytes(a.needed) <= l.sized.Limit {
				if end.MemoryMax = bytes(a.measured); a.share > 0 {
					end.MemoryMax = min(end.MemoryMax, l.sized.Limit.Times(a.share))
				}
				if a.sampled {
					end.MemoryMax, end.MemorySampled = 0, end.MemoryMax
				}
				k.report(l.q.Features, end)
				continue
			}
			if try == 1 {
				kills++
			}
			end.Outcome = sizing.OOMKilled
			k.report(l.q.Features, end)
			if try <= sizing.DefaultMaxLifts {
				l.q.Above, l.q.Lifts = l.sized.Limit, sizing.DefaultMaxLifts-try+1
				l.sized = k.model.Size(l.q)
				retried = append(retried, l)
			}
		}
		open = retried
	}
	k.train()
	return kills, granted, promised
}

// runAll runs n runs one after another. Its results are those of batch, but the mean grant instead of the sum.
func (k *task) runAll(n int, limit sizing.Bytes, draw attempts) (kills int, grant, promised float64) {
	k.t.Helper()
	for range n {
		killed, granted, promise := k.batch(1, limit, draw)
		kills, grant, promised = kills+killed, grant+granted/float64(n), promised+promise
	}
	return kills, grant, promised
}

func TestKillsThatContradictThePeaksRaiseGrants(t *testing.T) {
	for _, c := range []struct {
		name    string
		draw    generator
		share   float64
		sampled bool
		most    float64 // largest mean grant in GiB
	}{
		{"constant, samples of 90 %", constant, 0.9, true, 2.2},
		{"constant, samples of 80 %", constant, 0.8, true, 2.2},
		{"constant, measurement of 92 %", constant, 0.92, false, 2.2},
		{"from rows, samples of 80 %", fromRows, 0.8, true, 3.8},
		{"from rows, measurement of 90 %", fromRows, 0.9, false, 3.8},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newTask(t)
			draw := understated(newRand(5), c.draw, c.share, c.sampled)
			early, _, _ := k.runAll(60, 64*gib, draw)
			late, grant, _ := k.runAll(150, 64*gib, draw)
			assert.LessOrEqual(t, early, 10, "kills of the first runs")
			assert.LessOrEqual(t, late, 4, "kills of later runs")
			assert.LessOrEqual(t, grant, c.most)
			f, _ := draw()
			assert.Contains(t, k.model.Size(question(f)).Reason, "were OOM-killed with more than their measured peaks")
			requireExact(t, k.model.Explain(question(f)), k.model.Size(question(f)).Limit, "explanation")
			assert.Contains(t, k.fit().Reason, "so the measurement is probably too low: grants are raised by")
		})
	}
}

func TestLargeUnderstatementsRaiseGrants(t *testing.T) {
	for _, factor := range []float64{2.5, 4, 10} {
		for name, draw := range map[string]generator{"constant": constant, "from rows": fromRows} {
			t.Run(fmt.Sprintf("%s, a peak of 1/%g", name, factor), func(t *testing.T) {
				t.Parallel()
				k, rng := newTask(t), newRand(12)
				early, _, _ := k.runAll(30, 64*gib, understated(rng, draw, 1/factor, false))
				needed := 0.0
				late, grant, promised := k.runAll(100, 64*gib, func() (sizing.Features, func(int) attempt) {
					f, gibs := draw(rng)
					needed += gibs / 100
					return f, func(int) attempt { return attempt{needed: gibs, measured: gibs / factor} }
				})
				assert.LessOrEqual(t, early, 10, "kills of the first runs")
				assert.InDelta(t, promised, late, 4, "kills of later runs")
				assert.LessOrEqual(t, grant, 1.4*needed)
			})
		}
	}
}

// A JVM uses a quarter of any limit for its heap, and runs out of memory if it needs a larger one.
func TestHeapsOfAShareOfTheLimitGetEnough(t *testing.T) {
	k, rng := newTask(t), newRand(13)
	draw := func() (sizing.Features, func(int) attempt) {
		f, live := fromRows(rng)
		return f, func(int) attempt { return attempt{needed: 4 * live, measured: 2.5 * live, share: 0.25} }
	}
	early, _, _ := k.runAll(50, 64*gib, draw)
	late, grant, promised := k.runAll(100, 64*gib, draw)
	assert.LessOrEqual(t, early, 15)
	assert.InDelta(t, promised, late, 6)
	assert.LessOrEqual(t, grant, 30.0, "GiB; about 13 are needed")
}

func TestGrantsAreLowAgainAfterSuccessiveKillsWithAnotherCause(t *testing.T) {
	k, rng := newTask(t), newRand(14)
	k.runAll(3, 64*gib, otherKills(0)(rng))
	k.runAll(4, 64*gib, otherKills(1)(rng))
	k.runAll(80, 64*gib, otherKills(0)(rng))
	kills, grant, _ := k.runAll(50, 64*gib, otherKills(0)(rng))
	assert.LessOrEqual(t, kills, 2)
	assert.LessOrEqual(t, grant, 2.4, "GiB")
}

func TestUnderstatedPeaksOfRunsAtTheSameTime(t *testing.T) {
	k := newTask(t)
	draw := understated(newRand(6), constant, 0.8, true)
	k.runAll(10, 64*gib, draw)
	for range 8 {
		k.batch(10, 64*gib, draw)
	}
	kills := 0
	for range 10 {
		killed, _, _ := k.batch(10, 64*gib, draw)
		kills += killed
	}
	assert.LessOrEqual(t, kills, 4, "kills of a hundred runs")
}

func TestLateTrainingFindsTheSameUnderstatement(t *testing.T) {
	k := newTask(t)
	draw := understated(newRand(7), constant, 0.85, false)
	k.runAll(80, 64*gib, draw)
	k.fit()
	f, _ := draw()
	live := k.model.Size(question(f))
	k.requireForAll(f, "all models", func(s taskmodel.Answer) bool { return s.Limit == live.Limit })
}

// otherKills draws constant runs, and kills a share of their first tries whatever the allocation.
func otherKills(share float64) func(*rand.Rand) attempts {
	return func(rng *rand.Rand) attempts {
		return func() (sizing.Features, func(int) attempt) {
			f, gibs := constant(rng)
			killedAnyway := rng.Float64() < share
			return f, func(try int) attempt {
				return attempt{needed: gibs, measured: gibs, killedAnyway: killedAnyway && try == 1}
			}
		}
	}
}

func TestContradictionsThatTheUnderstatementDoesNotExplainRaisePromises(t *testing.T) {
	for _, share := range []float64{0.05, 0.2} {
		k := newTask(t)
		draw := otherKills(share)(newRand(11))
		k.runAll(100, 64*gib, draw)
		kills, _, promised := k.runAll(300, 64*gib, draw)
		assert.InEpsilon(t, kills, promised, 0.35, "share %g", share)
	}
}

func TestOtherKillsDoNotRaiseGrants(t *testing.T) {
	randomTries := func(deviation float64) func(*rand.Rand) attempts {
		return func(rng *rand.Rand) attempts {
			return func() (sizing.Features, func(int) attempt) {
				return nil, func(int) attempt {
					gibs := 2 * noise(rng, deviation)
					return attempt{needed: gibs, measured: gibs}
				}
			}
		}
	}
	for name, c := range map[string]struct {
		draw  func(*rand.Rand) attempts
		limit sizing.Bytes
	}{
		"few kills with another cause":  {otherKills(0.03), 64 * gib},
		"many kills with another cause": {otherKills(0.15), 64 * gib},
		"tries differ":                  {randomTries(0.1), 64 * gib},
		"tries differ much":             {randomTries(0.4), 64 * gib},
		"kills at the cap":              {randomTries(0.05), 2 * gib},
		"many kills at the cap":         {randomTries(0.2), 2 * gib},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				k := newTask(t)
				draw := c.draw(newRand(seed))
				for range 30 {
					k.runAll(10, c.limit, draw)
					f, _ := draw()
					require.NotContains(t, k.model.Size(question(f)).Reason, "more than their measured peaks")
				}
			}
		})
	}
}

func TestFewContradictionsDoNotRaiseGrants(t *testing.T) {
	k, rng := trainedTask(t, constant, 3, 40)
	fork := k.fork()
	for i, needed := range []float64{3, 2.6} {
		f, gibs := constant(rng)
		for _, r := range []sizing.HistoryRow{killedRun(fmt.Sprint("odd-", i), needed), retried(fmt.Sprint("odd-", i), gibs)} {
			k.report(f, r)
			if r.Outcome == sizing.Success {
				fork.report(f, r)
			}
		}
	}
	f, _ := constant(rng)
	with, without := k.model.Size(question(f)), fork.model.Size(question(f))
	assert.InEpsilon(t, float64(without.Limit), float64(with.Limit), 0.05)
}

func TestGrantsFallWhenTheMeasurementIsMended(t *testing.T) {
	k, rng := newTask(t), newRand(8)
	k.runAll(100, 64*gib, understated(rng, constant, 0.8, false))
	mended := understated(rng, constant, 1, false)
	k.runAll(250, 64*gib, mended)
	kills, grant, _ := k.runAll(100, 64*gib, mended)
	assert.LessOrEqual(t, kills, 3)
	assert.LessOrEqual(t, grant, 2.25, "GiB")
}

func TestLargeUnderstatementIsForgottenWhenTheMeasurementIsMended(t *testing.T) {
	for _, factor := range []float64{1.8, 4} {
		k, rng := newTask(t), newRand(8)
		k.runAll(80, 64*gib, understated(rng, constant, 1/factor, false))
		mended := understated(rng, constant, 1, false)
		k.runAll(30, 64*gib, mended)
		f, _ := constant(rng)
		assert.NotContains(t, k.model.Size(question(f)).Reason, "more than their measured peaks", "factor %g", factor)
		kills, grant, _ := k.runAll(50, 64*gib, mended)
		assert.LessOrEqual(t, kills, 3)
		assert.LessOrEqual(t, grant, 2.8, "GiB")
	}
}

func TestPeaksThatAreReportedLaterContradictKills(t *testing.T) {
	k, rng := trainedTask(t, constant, 3, 40)
	for i := range 4 {
		f, gibs := constant(rng)
		id := fmt.Sprint("late-", i)
		k.report(f, killedRun(id, gibs*1.2))
		end := retried(id, 0)
		k.report(f, end) // without a peak
		row := &k.history.Rows[len(k.history.Rows)-1]
		row.MemoryMax = bytes(gibs)
		amended := taskmodel.NewTrainingRow(&k.history.Schema, row)
		amended.Amends = true
		k.model.Learn(amended)
	}
	f, _ := constant(rng)
	assert.Contains(t, k.model.Size(question(f)).Reason, "more than their measured peaks")
}

func TestContradictionReason(t *testing.T) {
	k, rng := trainedTask(t, constant, 3, 40)
	f, _ := constant(rng)
	k.report(f, killedRun("r", 2.5))
	row := func(r sizing.HistoryRow) taskmodel.TrainingRow {
		return taskmodel.NewTrainingRow(&k.history.Schema, k.row(f, r))
	}
	assert.Equal(t, "an earlier try of this run was OOM-killed with 2.5Gi, more than the peak of 2Gi: does the measurement miss a part of the memory?",
		k.model.ContradictionReason(row(retried("r", 2))))
	assert.Empty(t, k.model.ContradictionReason(row(retried("r", 3))))
	assert.Empty(t, k.model.ContradictionReason(row(retried("other", 2))))
}

// Runs that are measured as 2.5 GiB are killed with 2.9 GiB, so the peak that is measured as 3.6 GiB exceeds a request of 4
// GiB.
func TestRequestBelowAnUnderstatedPeakHasNotSufficed(t *testing.T) {
	k := newTask(t)
	features := func(i int) sizing.Features { return sizing.Features{"n": sizing.NumberValue(float64(100 + i*7%10))} }
	for i := range 9 {
		kill, success := killed(2.9), measuredRun(2.5)
		if i == 3 {
			success = measuredRun(3.6)
		} else {
			kill.RunID, kill.Try = fmt.Sprint("run-", i), 1
			success.RunID, success.Try = kill.RunID, 2
			k.report(features(i), kill)
		}
		success.Allocated.Memory = 8 * gib
		k.report(features(i), success)
	}
	s := k.model.Size(questionAt(features(9), 4))
	require.Contains(t, s.Reason, "were OOM-killed with more than their measured peaks")
	assert.Greater(t, s.Limit, 4*gib, s.Reason)
}
