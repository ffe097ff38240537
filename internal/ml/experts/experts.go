package experts

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/conformal"
)

// The spreads of residuals.
const (
	byAll       = iota // log residuals of the window
	byLevel            // … of the rows nearest in predicted level
	byTrees            // … divided by the scale that trees predict
	bySame             // … divided by the scale of identical features
	byAmount           // residuals of the peak itself
	spreads            // how many there are
	sourceCount = ModelCount * spreads
)

// windowed are the spreads of a window: the one by level looks for its rows anew.
var windowed = [...]int{byAll, byTrees, bySame, byAmount}

var spreadNames = [spreads]string{"all rows", "rows near in level", "predicted spread", "spread of same inputs", "plain residuals"}

// risks are the points of a spread that are weighed against each other; prices
// those of a kill, in the task's mean row cost.
var (
	risks  = [...]float64{.4, .3, .2, .15, .1, .07, .05, .035, .025, .018, .014, .01, .007, .005, .003, .002, .001, .0005}
	prices = [...]float64{.25, .5, 1, 2, 4, 8, 16, 32, 64, 128, 256}
)

// Count is how many experts there are: models × spreads × prices.
const Count = sourceCount * len(prices)

// Entry is one ledger row: what the models said before, and what came.
type Entry struct {
	_     struct{} `cbor:",toarray"` // thousands are stored
	Point Point
	Log   float64 // of the peak
}

// entryOf keeps what is read again of a point.
func entryOf(p *Point, log float64) Entry {
	e := Entry{Point: *p, Log: log}
	e.Point.Young = nil // belongs to the caller
	return e
}

// Experts is the state of one task's margins. The exported fields are all there
// is to store; Rebuild makes the rest. Answers may be asked from many goroutines
// while nobody learns.
type Experts struct {
	Told    int     // rows learned
	MaxPeak float64 // largest peak, or bound of one, so far
	SqErr   [ModelCount]float64
	Shift   Shift              // of a change that may be under way
	Kept    conformal.Adaptive // the share of kills that brings the target, by what the answers came to
	Ledger  []Entry            // newest Config.Ledger rows, oldest first from At on
	Low     []Entry            `cbor:",omitempty"` // low outliers, which are not in the ledger unless the task has changed
	At      int
	Cost    [Count]float64 // forgetting sums …
	Kills   [Count]float64
	Rows    float64 // … and what they are sums over
	Nominal [Count]float64
	Meant   float64 // rows in the running mean Nominal
	Use     float64 // forgetting sums of the rows' own cost …
	UseRows float64 // … and of one
	Factor  float64 // of promises, from the pool
	Price   float64 // mean cost of a row, from the pool
	Span    float64 // deviation to expect of a young task, from the pool
	// RequestRisk is how often a row needs more than its static request, from the pool.
	RequestRisk float64 `cbor:",omitzero"`
	Picks       []Pick  // who answers
	// YoungShare is the share of the young rule in the answers, once there are picks.
	YoungShare float64 `cbor:",omitzero"`
	Lead       float64 `cbor:",omitzero"` // by how much it has cost more than the picks lately, in mean row costs
	YoungKills float64 `cbor:",omitzero"` // how many more than the target allows it would have had killed lately

	config  Config
	windows [sourceCount]ordered // of the newest Config.Window rows of the ledger
	locals  [ModelCount]local    // of all of them
	tables  [sourceCount]table   // of windows
	scratch Scratch
}

// Pick is one expert with its share in the answer.
type Pick struct {
	Expert int
	Weight float64
}

// Scratch holds the buffers of one answer.
type Scratch struct {
	near  [ModelCount]nearest
	one   [2]float64
	logs  [gridSteps]float64 // of the amounts that are asked about
	grid  grid
	picks []Pick

	// Of one spread, at every risk:
	amount [len(risks)]float64
	cost   [len(risks)]float64 // without the price of kills
}

// New is the state before the first row.
func New(c Config) *Experts {
	x := &Experts{config: c, Factor: 1, Span: c.PriorSpan, Kept: conformal.NewAdaptive(c.Target, c.Step)}
	for k := range x.locals {
		x.locals[k].model = k
	}
	return x
}

// Rebuild makes what is not stored, after the exported fields were read back.
func (x *Experts) Rebuild(c Config) {
	x.config = c
	n := len(x.Ledger)
	for k := range ModelCount {
		w := x.windows[k*spreads : (k+1)*spreads]
		for _, s := range windowed {
			w[s] = make(ordered, 0, min(n, c.Window))
		}
		for age := min(n, c.Window); age > 0; age-- {
			residuals := x.Ledger[(x.At+n-age)%n].residuals(k)
			for _, s := range windowed {
				w[s] = append(w[s], residuals[s])
			}
		}
		for _, s := range windowed {
			slices.Sort(w[s])
		}
		x.locals[k] = local{model: k}
		x.locals[k].fill(x.Ledger, x.At)
	}
	x.readTables()
}

// Learn charges every expert with a row and keeps its residuals. p is what the
// models said before they learned it; nil for a task's first row. Where the row shows
// that the task changed, it says how many rows ago; else 0. A blind row charges nobody.
func (x *Experts) Learn(p *Point, peak, duration float64, pool *Pool) (changed int) {
	x.Told++
	x.MaxPeak = max(x.MaxPeak, peak)
	if p == nil {
		return 0
	}
	log := math.Log(peak)
	if p.Blind {
		x.SetPool(pool)
		return 0
	}
	for k := range x.SqErr {
		x.SqErr[k] += (log - p.Level[k]) * (log - p.Level[k])
	}
	x.compare(p, peak, duration)
	if x.Told > x.config.Unripe+3 { // residuals of three rows at least
		x.charge(p, peak, duration)
	}
	x.adapt(!Holds(x.Answer(p, x.config.Target, &x.scratch).Amount, peak))
	if x.Told > x.config.Unripe {
		x.hold(entryOf(p, log))
	}
	changed = x.watch(log - p.Level[LineTrees])
	x.SetPool(pool)
	return changed
}

// SetPool chooses anew who answers, by what the pool says now.
func (x *Experts) SetPool(pool *Pool) {
	x.Factor, x.Price, x.Span = pool.factor(x.Told), pool.mean(), pool.span(x.config.PriorSpan)
	x.RequestRisk = pool.requestRisk()
	x.Picks = x.choose(x.allowed(x.config.Target), x.Picks)
	x.YoungShare = x.handOver()
}

// keep takes a row into the ledger and into every spread.
func (x *Experts) keep(e Entry) {
	n := len(x.Ledger)
	if n >= x.config.Window {
		x.leave(&x.Ledger[(x.At+n-x.config.Window)%n])
	}
	at := n
	if n < min(x.config.Ledger, mostRows) {
		x.Ledger = append(x.Ledger, e)
	} else {
		at = x.At
		for k := range x.locals {
			x.locals[k].remove(x.Ledger, at)
		}
		x.Ledger[at] = e
		x.At = (at + 1) % n
	}
	for k := range ModelCount {
		residuals := e.residuals(k)
		for _, s := range windowed {
			x.windows[k*spreads+s].insert(residuals[s])
		}
		x.locals[k].add(x.Ledger, at)
	}
	x.readTables()
}

// leave takes the residuals of a row out of the windows. They are not kept in order of
// arrival, for the ledger is.
func (x *Experts) leave(e *Entry) {
	for k := range ModelCount {
		residuals := e.residuals(k)
		for _, s := range windowed {
			x.windows[k*spreads+s].remove(residuals[s])
		}
	}
}

// residuals are those of one model, by spread.
func (e *Entry) residuals(model int) (r [spreads]float64) {
	level := e.Point.Level[model]
	r[byAll] = e.Log - level
	r[byTrees] = r[byAll] / e.Point.Scale[TreeScale]
	r[bySame] = r[byAll] / e.Point.Scale[SameScale]
	r[byAmount] = math.Exp(e.Log) - math.Exp(level)
	return r
}

// residuals are the sorted residuals of one spread of one model for a row, their
// table, and the scale to multiply them by.
func (x *Experts) residuals(p *Point, model, spread int, s *Scratch) (sorted []float64, t *table, scale float64) {
	source := model*spreads + spread
	switch spread {
	case byLevel:
		found := &s.near[model]
		x.locals[model].near(x.Ledger, p.Level[model], x.config.Near, found)
		return found.sorted, &found.table, 1
	case byTrees:
		return x.windows[source], &x.tables[source], p.Scale[TreeScale]
	case bySame:
		return x.windows[source], &x.tables[source], p.Scale[SameScale]
	}
	return x.windows[source], &x.tables[source], 1
}

// limit is the most that a model may allocate: a young task's few residuals say
// little of its tail, and must not ask for the moon. Its first rows may ask for
// more: most of a young task's kills are among them.
func (x *Experts) limit(level float64) float64 {
	n := float64(max(x.Told, 1))
	return max(x.MaxPeak, math.Exp(level)) * (1 + max(x.config.FirstReach/n, x.config.Reach/math.Sqrt(n)))
}

// amounts fills s.amount with the allocation at every risk, and s.cost.
func (x *Experts) amounts(p *Point, model, spread int, s *Scratch) {
	_, t, scale := x.residuals(p, model, spread, s)
	level, most := p.Level[model], x.limit(p.Level[model])
	mean := math.Exp(level)
	for i, r := range t.upper {
		var amount float64
		if spread == byAmount {
			amount = max(leastAmount, mean+r)
		} else {
			amount = math.Exp(level + scale*r)
		}
		s.amount[i] = max(p.Least, min(amount, most))
	}
	s.charge(math.Exp(p.Duration))
}

// charge fills s.cost with what the amounts cost for a time.
func (s *Scratch) charge(duration float64) {
	for i, risk := range risks {
		s.cost[i] = duration * s.amount[i] * (1 + killShare*risk)
	}
}

// leastAmount keeps residuals of the peak itself from asking for less than
// nothing: one unit of a log peak below any real one (1 MB in bytes).
const leastAmount = 1e6

// killShare: a killed try costs itself, and a little of the next one too.
const killShare = 1.2

// pay picks the risk of least expected cost at a price per kill, by s.cost.
func (x *Experts) pay(price float64, s *Scratch) int {
	kill := price * (x.Use / max(x.UseRows, 1))
	best, at := math.Inf(1), 0
	for i, risk := range risks {
		if cost := s.cost[i] + kill*risk; cost < best {
			best, at = cost, i
		}
	}
	return at
}

// second is the rung after the one at a risk: it leaves Rung of what that left.
func (x *Experts) second(at int, s *Scratch) float64 {
	next := at
	for next+1 < len(risks) && risks[next] > risks[at]*x.config.Rung {
		next++
	}
	return max(s.amount[next], s.amount[at]*x.config.MinStep)
}

// charge adds what every expert would have cost on the row.
func (x *Experts) charge(p *Point, peak, duration float64) {
	keep := x.config.Forget
	x.Use, x.UseRows = x.Use*keep+peak*duration, x.UseRows*keep+1
	x.Rows = x.Rows*keep + 1
	x.Meant = min(x.Meant+1, 300)
	s := &x.scratch
	for source := range sourceCount {
		x.amounts(p, source/spreads, source%spreads, s)
		for l, price := range prices {
			e, at := source*len(prices)+l, x.pay(price, s)
			cost, killed := replay(s.amount[at], x.second(at, s), peak)
			x.Cost[e] = x.Cost[e]*keep + cost*duration
			x.Kills[e] *= keep
			if killed {
				x.Kills[e]++
			}
			x.Nominal[e] += (risks[at] - x.Nominal[e]) / x.Meant
		}
	}
}

// replay is what the two rungs, doubled from there on, waste on a peak: killed
// tries count whole.
func replay(first, second, peak float64) (cost float64, killed bool) {
	if Holds(first, peak) {
		return first - peak, false
	}
	cost = first
	for !Holds(second, peak) {
		cost += second
		second *= 2
	}
	return cost + second - peak, true
}

// Holds reports whether an amount is enough for a peak.
func Holds(amount, peak float64) bool { return amount >= peak*(1-roundingError) }

// roundingError is the relative error below which amounts are equal: peaks pass through a
// logarithm and back, so that the last digits of an amount that equals the peak are noise.
const roundingError = 1e-9
