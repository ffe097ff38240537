package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/taskmodel"
)

// largestPeakPolicy grants the largest peak so far, doubled after a kill.
type largestPeakPolicy struct{ peak, wasted float64 }

func (l *largestPeakPolicy) run(gibs float64) {
	granted := l.peak
	for ; granted < gibs; granted *= 2 {
		l.wasted += granted
	}
	l.wasted += granted - gibs
	l.peak = max(l.peak, gibs)
}

// requireCalibrated requires that the number of kills is near the promised number. docs/learning.md states this bound.
func requireCalibrated(t *testing.T, promised, killed float64) {
	t.Helper()
	assert.LessOrEqual(t, math.Abs(killed-promised), max(promised/2, 3*math.Sqrt(promised)), "promised %.1f kills, observed %v", promised, killed)
}

// The waste of the last 400 runs counts. Only for constant peaks may the model waste more than the baseline, which grants
// the largest peak.
func TestWasteAgainstTheLargestPeakPolicy(t *testing.T) {
	const training, evaluation = 50, 400
	atMost := map[string]float64{ // largest waste, as a multiple of the baseline's
		"log-linear in size": 0.3, "two kinds, eightfold": 0.35, "constant": 1.2, "step at fifty thousand": 0.5,
	}
	for name, draw := range generators {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, rng := newTask(t), rand.New(rand.NewPCG(1, 77))
			baseline := largestPeakPolicy{peak: 32}
			var wasted, used, promised, kills float64
			for i := range training + evaluation {
				f, gibs := draw(rng)
				s := k.run(f, gibs)
				k.train()
				if i == 0 {
					baseline.peak = gibs // the baseline knows the first peak in advance
				}
				if i == training {
					wasted, used, promised, kills, baseline.wasted = 0, 0, 0, 0, 0
				}
				baseline.run(gibs)
				wasted, used, promised = wasted+s.wasted, used+gibs, promised+s.promised
				if s.killed {
					kills++
				}
			}
			t.Logf("waste %.3f of used (largest peak %.3f), %v of %v killed, %.1f promised", wasted/used, baseline.wasted/used, kills, evaluation, promised)
			assert.Less(t, wasted, atMost[name]*baseline.wasted)
			assert.Less(t, kills/evaluation, target+3*math.Sqrt(target/evaluation), "the share of kills must be less than three standard deviations above the target")
			requireCalibrated(t, promised, kills)
		})
	}
}

func TestUpwardChangeIsLearned(t *testing.T) {
	const before, after = 300, 300
	k, rng := newTask(t), rand.New(rand.NewPCG(3, 77))
	early, late := 0, 0
	var ratio float64
	for i := range before + after {
		f, gibs := growing(rng)
		if i >= before {
			gibs *= 1.8
		}
		s := k.run(f, gibs)
		k.train()
		switch {
		case i < before:
		case i < before+60:
			if s.killed {
				early++
			}
		default:
			ratio += s.granted / gibs / (after - 60)
			if s.killed {
				late++
			}
		}
	}
	t.Logf("%d of the first 60 killed, %d of the next %d; granted %.2f of the peak", early, late, after-60, ratio)
	assert.Less(t, early, 10, "number of kills in the first 60 runs after the change")
	assert.LessOrEqual(t, late, 10, "number of kills in the runs after these 60")
	assert.Greater(t, ratio, 1.1)
	assert.Less(t, ratio, 2.2)
}

func TestDownwardChangeIsLearned(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(4, 77))
	var first, last float64
	for i := range 400 {
		f, gibs := kinds(rng)
		if i >= 200 {
			gibs /= 4
		}
		s := k.run(f, gibs)
		k.train()
		if i >= 200 && i < 210 {
			first += s.granted / gibs / 10
		}
		if i >= 390 {
			last += s.granted / gibs / 10
		}
	}
	assert.Greater(t, first, 4.0, "ratio of grant to peak right after the change")
	assert.Less(t, last, 2.0)
}

// After a change, all 100 runs are predicted before the first of them succeeds: the model learns kills, but no new peak. The
// guard limits the kills, because kills are reported at once.
func TestGuardLimitsKillsBeforeTheFirstNewPeak(t *testing.T) {
	k, rng := trainedTask(t, growing, 5, 200)
	kills, widest := 0, 0.0
	var guard taskmodel.Guard
	now := time.Now()
	for run := range uint64(100) { // all need four times as much
		f, gibs := growing(rng)
		q := question(f)
		q.GuardFactor = guard.Factor(now)
		s := k.model.Size(q)
		guard.Grant(run, *s.Promised, now)
		if bytes(4*gibs) > s.Limit {
			kills++
			first := killed(0)
			first.Promised, first.Allocated.Memory = s.Promised, s.Limit
			k.report(f, first)
			guard.Kill(run, 1)
			guard.Retry(run, 2)
		}
		widest = max(widest, s.Guard.Params[3]) // the guard's factor
	}
	assert.Greater(t, widest, 2.0, "largest factor of the guard, although only kills are known")
	assert.Less(t, kills, 95, "number of killed runs, of 100: the guard must prevent some kills")
}
