package experts

import (
	"fmt"
	"math"
)

// Repeats summarises the earlier rows with the same features as a row. The zero value means that
// there are none.
type Repeats struct {
	Peak      float64 // largest of the newest peaks of these rows
	Rows      float64 // number of these rows, up to a limit of the caller
	IsPartial bool    // only the recurring features are the same
}

// Margins above earlier rows with the same features compete with the experts. Such a margin grants the largest of the
// newest peaks plus a fixed share of this peak. Runs of the same input often need nearly the same memory,
// whereas a residual distribution also contains the errors for inputs that were not seen before.
// In this file, "the experts" stands for blendedAmount, in which the cold-start rule may have a share.
// Rows with similar numbers of repeats form a class (repeatRows). A margin answers instead of the experts for the rows of a
// class if it was clearly cheaper on the earlier rows of this class, and if its kill rate was within the target. For a class
// with few rows, the rows of the classes with fewer repeats count, too (repeatMargin).

// repeatMargins lists the margins, as shares of the peak.
var repeatMargins = [...]float64{.03, .06, .12, .25, .5}

// repeatRows lists the least number of rows with the same features in each class. The number matters, because the
// largest of few peaks is exceeded more often. Partial repeats have classes of their own.
var repeatRows = [...]float64{1, 2, 3, 5, 10}

const repeatClasses = 2 * len(repeatRows)

// maxCostRatio is the largest cost of a margin that answers, relative to the cost of the experts: if a margin was only a little
// cheaper on few rows, its grants are often killed later.
const maxCostRatio = 0.75

// repeatPriorRows is the number of rows, with one kill, that are added to the rows of a margin. The
// cheapest margin often had fewer kills than its true kill rate gives (the winner's curse); the
// added kill corrects this.
const repeatPriorRows = 20

// RepeatCosts compares blendedAmount, which answers without a margin, with the margins on the rows of one class. The sums
// decay by Config.Decay per row.
type RepeatCosts struct {
	_     struct{}                        `cbor:",toarray"` // compact, because a task stores all classes
	Rows  float64                         // number of rows
	Cost  [1 + len(repeatMargins)]float64 // costs in units of peak · seconds: of blendedAmount, then of each margin
	Kills [1 + len(repeatMargins)]float64 // kills, in the same order
}

// class returns the index in Experts.Repeats for a row with these repeats; −1 without repeats.
func (r *Repeats) class() int {
	class := -1
	for i, least := range repeatRows {
		if r.Rows >= least {
			class = i
		}
	}
	if class >= 0 && r.IsPartial {
		class += len(repeatRows)
	}
	return class
}

func repeatAmount(p *Point, margin int) float64 {
	return max(p.MinAmount, p.Repeats.Peak*(1+repeatMargins[margin]))
}

func (x *Experts) updateRepeats(p *Point, peak, duration float64, s *Scratch) {
	class := p.Repeats.class()
	if class < 0 {
		return
	}
	c, decay := &x.Repeats[class], x.config.Decay
	c.Rows = c.Rows*decay + 1
	amount := x.blendedAmount(p, x.config.Target, s).amount
	for i := range c.Cost {
		if i > 0 {
			amount = repeatAmount(p, i-1)
		}
		waste, killed := wastage(amount, 2*amount, peak)
		c.Cost[i] = c.Cost[i]*decay + waste*duration
		c.Kills[i] *= decay
		if killed {
			c.Kills[i]++
		}
	}
}

func (c *RepeatCosts) discount(factor float64) {
	c.Rows *= factor
	for i := range c.Cost {
		c.Cost[i] *= factor
		c.Kills[i] *= factor
	}
}

// ForgetPartialRepeats removes the costs of the classes of partial repeats. The caller must call it after the set of
// recurring features has changed.
func (x *Experts) ForgetPartialRepeats() { clear(x.Repeats[len(repeatRows):]) }

func (c *RepeatCosts) killRate(margin int) float64 {
	return (c.Kills[1+margin] + 1) / (c.Rows + repeatPriorRows)
}

// repeatMargin returns the index in repeatMargins of the margin that answers a row, and its expected kill
// rate. It returns −1 if the experts answer. If a class has too few rows for the target, repeatMargin adds the costs of
// the classes with fewer repeats. The sum is cautious, because grants with a margin are killed more often in those classes.
func (x *Experts) repeatMargin(p *Point, target float64) (margin int, killRate float64) {
	class := p.Repeats.class()
	if class < 0 {
		return -1, 0
	}
	costs := x.Repeats[class]
	for ; class%len(repeatRows) > 0 && 1 > target*(costs.Rows+repeatPriorRows); class-- {
		costs.add(&x.Repeats[class-1])
	}
	return costs.cheapest(x.config.KillPrice*x.MeanRowCost, target)
}

// cheapest returns the margin with the least cost, and its kill rate; −1 if no margin within the target was clearly cheaper
// than the experts. `price` is the price of a kill.
func (c *RepeatCosts) cheapest(price, target float64) (margin int, killRate float64) {
	margin = -1
	least := maxCostRatio * (c.Cost[0] + price*c.Kills[0])
	for i := range repeatMargins {
		rate := c.killRate(i)
		if cost := c.Cost[1+i] + price*(c.Kills[1+i]+1); rate <= target && cost < least {
			least, margin, killRate = cost, i, rate
		}
	}
	return margin, killRate
}

func (c *RepeatCosts) add(other *RepeatCosts) {
	c.Rows += other.Rows
	for i := range c.Cost {
		c.Cost[i] += other.Cost[i]
		c.Kills[i] += other.Kills[i]
	}
}

// firstRepeat is the Answer.Expert of the first margin. Margin i has firstRepeat − i.
const firstRepeat = -2

// repeatName also accepts the number of a margin that repeatMargins does not have, which the receipt of another release may
// contain. Then the text does not say how large the margin is. The recurring features are the same for all repeats.
func repeatName(expert int) string {
	margin := firstRepeat - expert
	if margin >= len(repeatMargins) {
		return "the largest of the newest runs with the same recurring features"
	}
	return fmt.Sprintf("the largest of the newest runs with the same recurring features plus %.0f %%", math.Round(100*repeatMargins[margin]))
}
