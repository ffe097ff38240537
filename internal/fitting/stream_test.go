package fitting_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/fitting"
)

// largest is the rival that grants the largest peak so far, doubled after a kill.
type largest struct{ peak, wasted float64 }

func (l *largest) run(gibs float64) {
	granted := l.peak
	for ; granted < gibs; granted *= 2 {
		l.wasted += granted
	}
	l.wasted += granted - gibs
	l.peak = max(l.peak, gibs)
}

// keptPromise holds what was promised against what was killed: LEARNING's bound.
func keptPromise(t *testing.T, promised, killed float64) {
	t.Helper()
	assert.LessOrEqual(t, math.Abs(killed-promised), max(promised/2, 3*math.Sqrt(promised)), "promised %.1f kills, %v came", promised, killed)
}

// The first 50 runs are the lesson, the next 400 the exam.
func TestAStreamIsSizedForLessThanTheLargestPeak(t *testing.T) {
	const lesson, exam = 50, 400
	atMost := map[string]float64{ // of the rival's waste
		"log-linear in size": 0.3, "two kinds, eightfold": 0.35, "constant": 1.2, "step at fifty thousand": 0.5,
	}
	for name, draw := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, rng := newTask(t), rand.New(rand.NewPCG(1, 77))
			rival := largest{peak: 32}
			var wasted, used, promised, kills float64
			for i := range lesson + exam {
				f, gibs := draw(rng)
				s := k.run(f, gibs)
				k.train()
				if i == 0 {
					rival.peak = gibs // it may see the first peak for nothing
				}
				rival.run(gibs)
				if i == lesson {
					wasted, used, promised, kills, rival.wasted = 0, 0, 0, 0, 0
				}
				wasted, used, promised = wasted+s.wasted, used+gibs, promised+s.promised
				if s.killed {
					kills++
				}
			}
			t.Logf("waste %.3f of used (largest peak %.3f), %v of %v killed, %.1f promised", wasted/used, rival.wasted/used, kills, exam, promised)
			assert.Less(t, wasted, atMost[name]*rival.wasted)
			assert.Less(t, kills/exam, target+3*math.Sqrt(target/exam), "three deviations of chance above the target")
			keptPromise(t, promised, kills)
		})
	}
}

// From run 300 on every peak is 1.8 times as large.
func TestAChangedTaskIsFollowed(t *testing.T) {
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
	assert.Less(t, early, 10, "the change is noticed")
	assert.LessOrEqual(t, late, 10, "and learned")
	assert.Greater(t, ratio, 1.1)
	assert.Less(t, ratio, 2.2)
}

func TestATaskThatShrinksIsFollowed(t *testing.T) {
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
	assert.Greater(t, first, 4.0, "nothing is known of the change yet")
	assert.Less(t, last, 2.0)
}

// Feedback that comes twenty runs late costs kills, but the guard bounds them: kills
// are known at once.
func TestLateFeedbackIsGuarded(t *testing.T) {
	k, rng := known(t, growing, 5, 200)
	kills, widest := 0, 0.0
	var guard fitting.Guard
	now := time.Now()
	for run := range uint64(100) { // all of them four times as large, and none of them told yet
		f, gibs := growing(rng)
		q := question(f)
		q.Widen = guard.Widen(now)
		s := k.model.Size(q)
		guard.Grant(run, *s.Promised, now)
		if bytes(4*gibs) > s.Limit {
			kills++
			first := killed(0)
			first.Promised, first.Allocated.Memory = s.Promised, s.Limit
			k.told(f, first)
			guard.Kill(run, 1)
			guard.Retry(run, 2)
		}
		widest = max(widest, s.Guard.Params[3])
	}
	assert.Greater(t, widest, 2.0, "the guard widens by kills alone")
	assert.Less(t, kills, 95, "and prevents some")
}
