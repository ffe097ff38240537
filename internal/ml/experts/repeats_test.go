package experts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// repeating returns the experts of a task after n rows, each with one of five different inputs, and a function that draws the
// next row. The models predict each peak with an error of about 30 %. `deviation` is the standard deviation of the log peaks of
// one input.
func repeating(n int, deviation float64, partial bool) (*Experts, func() (Point, float64)) {
	rng, newest := rand.New(rand.NewPCG(4, 1)), map[int][]float64{}
	x, pool := New(Default(target)), new(Pool)
	next := func() (Point, float64) {
		input := rng.IntN(5)
		typical := gb * float64(1+input)
		p := pointAt(typical*math.Exp(0.3*rng.NormFloat64()), 0.3, 60)
		for _, peak := range newest[input] {
			p.Repeats.Peak = max(p.Repeats.Peak, peak)
			p.Repeats.Rows++
		}
		p.Repeats.IsPartial = partial
		peak := typical * math.Exp(deviation*rng.NormFloat64())
		newest[input] = append(newest[input], peak)
		newest[input] = newest[input][max(0, len(newest[input])-8):]
		return p, peak
	}
	for i := range n {
		p, peak := next()
		pool.RecordCost(peak * 60)
		if i == 0 {
			x.Learn(nil, peak, 60, 0, pool, nil)
			continue
		}
		x.Learn(&p, peak, 60, 0, pool, new(Scratch))
	}
	return x, next
}

func TestAMarginAboveRepeatsAnswersWhenItIsCheaper(t *testing.T) {
	for _, partial := range []bool{false, true} {
		x, next := repeating(400, 0.005, partial)
		p, _ := next()
		a := x.Answer(&p, target, new(Scratch))
		assert.InDelta(t, p.Repeats.Peak*1.03, a.Amount, 1)
		assert.LessOrEqual(t, a.Promised, target)
		assert.Equal(t, "the largest of the newest runs with the same recurring features plus 3 %", Name(a.Expert))

		p.Repeats.IsPartial = !partial
		a = x.Answer(&p, target, new(Scratch))
		assert.Greater(t, a.Amount, p.Repeats.Peak*1.1, "an expert answers, because the class of the row has no rows")
		assert.GreaterOrEqual(t, a.Expert, 0)

		p.Repeats = Repeats{}
		assert.GreaterOrEqual(t, x.Answer(&p, target, new(Scratch)).Expert, 0, "without repeats, an expert answers")
	}
}

func TestFewAnswersAreKilledWhereTheSmallestMarginIsOftenKilled(t *testing.T) {
	x, next := repeating(400, 0.5, false)
	killed := 0
	for range 300 {
		p, peak := next()
		if a := x.Answer(&p, target, new(Scratch)); !IsSufficient(a.Amount, peak) {
			killed++
		}
	}
	assert.Less(t, killed, 15, "number of killed answers in 300 rows")
	for class := range len(repeatRows) {
		if x.Repeats[class].Rows > 0 {
			assert.Greater(t, x.Repeats[class].killRate(0), target, "kill rate of the smallest margin: the next peak is the largest of nine with a probability of 1/9")
		}
	}
}

func TestAChangeOfTheTaskDiscountsTheMargins(t *testing.T) {
	x, next := repeating(400, 0.005, false)
	p, _ := next()
	before := x.Repeats[p.Repeats.class()].Rows
	x.discardBefore(10)
	assert.InDelta(t, before*x.config.ChangeDiscount, x.Repeats[p.Repeats.class()].Rows, 1e-9)
}
