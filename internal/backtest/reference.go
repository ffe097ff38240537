package backtest

import (
	"cmp"
	"math"
	"slices"
)

// The two reference policies use three small models of the log peak, and choose the one that is cheapest on the newest
// rows. Each model has a margin from its own out-of-sample ratios: the peak divided by the prediction that the model made
// before it learned the peak.

const (
	referenceCold   = 8   // with fewer rows, the allocation is the largest peak times reference.coldFactor
	referenceWindow = 300 // number of newest rows that a choice replays
	referencePeriod = 20  // number of rows between two choices
)

// reference is the rule of a reference policy. Its figures depend on the rows at which it chooses a model: on the
// trace hst (docs/benchmarks.md), choices up to 19 rows later changed the utilisation by up to 2 percentage points and
// the share of killed rows by up to 0.4.
type reference struct {
	margins      func(*window) []float64 // candidates for the margin, a factor on the prediction
	coldFactor   float64                 // factor on the largest peak, for the allocations before referenceCold rows
	denseChoices int                     // number of first rows after each of which the rule chooses; later it chooses every referencePeriod rows
	largest      float64
	rows         int
	models       [3]model
	replays      [3]window // by model
	best         int       // index of the chosen model
	margin       float64
	chosen       int // number of rows at the last choice
}

// costAware returns a rule that chooses the margin with the least cost. It does not limit the risk. The
// candidates are quantiles of the ratios, and a margin 3 % above the largest ratio.
func costAware() *reference {
	return newReference(1.1, 20, func(w *window) []float64 {
		margins := []float64{w.quantile(1) * 1.03}
		for _, share := range []float64{.5, .8, .9, .95, .99, 1} {
			margins = append(margins, w.quantile(share))
		}
		return margins
	})
}

// capped returns the rule of the policy cap-2pct. Its margin is the ⌈.98(n+1)⌉-th smallest of n ratios, so that 2 % of
// the rows are expected to need more (split conformal prediction, Vovk et al. 2005). While this rank is above n, the
// margin is the largest ratio times 1 + 0.5/√n.
func capped() *reference {
	return newReference(1.15, 10, func(w *window) []float64 {
		n := len(w.rows)
		if rank := int(math.Ceil(.98 * float64(n+1))); rank <= n {
			return []float64{w.rows[rank-1].ratio}
		}
		return []float64{w.quantile(1) * (1 + .5/math.Sqrt(float64(n)))}
	})
}

func newReference(coldFactor float64, denseChoices int, margins func(*window) []float64) *reference {
	return &reference{coldFactor: coldFactor, denseChoices: denseChoices, margins: margins, models: [3]model{
		{transform: func(float64) float64 { return 0 }},                       // a constant
		{transform: func(x float64) float64 { return x }},                     // growth by a factor
		{transform: func(x float64) float64 { return math.Log1p(max(x, 0)) }}, // a power law
	}}
}

func (r *reference) learn(o *Outcome) {
	peak := float64(o.Peak)
	for i := range r.models {
		if r.rows > 0 {
			r.replays[i].add(r.models[i].predict(o.X), peak, o.Duration.Seconds())
		}
		r.models[i].learn(o.X, peak)
	}
	r.largest = max(r.largest, peak)
	r.rows++
	if r.rows <= r.denseChoices || r.rows-r.chosen >= referencePeriod {
		r.choose()
	}
}

func (r *reference) allocate(q *Question) float64 {
	if r.rows < referenceCold {
		return r.largest * r.coldFactor
	}
	return r.margin * r.models[r.best].predict(q.X)
}

func (r *reference) choose() {
	r.chosen = r.rows
	least := math.Inf(1)
	for i := range r.models {
		r.models[i].fitted = r.models[i].current
		if r.rows < 2 {
			continue // there is no out-of-sample ratio yet
		}
		for _, margin := range r.margins(&r.replays[i]) {
			if cost := r.replays[i].cost(margin); cost < least {
				r.best, r.margin, least = i, margin, cost
			}
		}
	}
}

// model is a linear regression of log peak on a transformation of x.
type model struct {
	transform       func(x float64) float64
	current, fitted line // line over all rows; line over the rows until the last choice
}

// maxLogPeak bounds an extrapolation: e^40 bytes is more than any memory.
const maxLogPeak = 40

func (m *model) learn(x, peak float64) { m.current.add(m.transform(x), math.Log(peak)) }

// predict returns 1 to e^maxLogPeak bytes, so every ratio of a peak to a prediction is finite. If inputs near the
// float64 limit overflow the sums of the line, it returns the geometric mean of the peaks.
func (m *model) predict(x float64) float64 {
	at := m.fitted.at(m.transform(x))
	if math.IsNaN(at) {
		at = m.fitted.meanY
	}
	return math.Exp(min(max(at, 0), maxLogPeak))
}

// window replays the newest rows under one model. A margin c is sufficient for the rows whose
// ratio is at most c.
type window struct {
	rows       []replayedRow // by ratio, ascending
	byArrival  []replayedRow // oldest first
	tailWeight []float64     // tailWeight[i]: Σ weight of rows[i:]
}

type replayedRow struct {
	ratio   float64 // peak / prediction
	weight  float64 // prediction · seconds
	arrival int     // number in order of arrival
}

func (w *window) add(predicted, peak, seconds float64) {
	next := replayedRow{ratio: peak / predicted, weight: predicted * seconds}
	if n := len(w.byArrival); n > 0 {
		next.arrival = w.byArrival[n-1].arrival + 1
	}
	if len(w.byArrival) == referenceWindow {
		at, _ := slices.BinarySearchFunc(w.rows, w.byArrival[0], byRatio)
		w.rows = slices.Delete(w.rows, at, at+1)
		w.byArrival = w.byArrival[1:]
	}
	w.byArrival = append(w.byArrival, next)
	at, _ := slices.BinarySearchFunc(w.rows, next, byRatio)
	w.rows = slices.Insert(w.rows, at, next)
	w.tailWeight = nil
}

func byRatio(a, b replayedRow) int {
	return cmp.Or(cmp.Compare(a.ratio, b.ratio), cmp.Compare(a.arrival, b.arrival))
}

func (w *window) quantile(share float64) float64 {
	return quantile(len(w.rows), share, func(i int) float64 { return w.rows[i].ratio })
}

// cost returns the allocated byte-seconds of all attempts of the rows under a margin that doubles with every kill. It
// does not subtract the use, which is the same under every margin. The loop ends because the margin is positive and
// model.predict keeps every ratio finite.
func (w *window) cost(margin float64) float64 {
	if w.tailWeight == nil {
		w.tailWeight = make([]float64, len(w.rows)+1)
		for i := len(w.rows) - 1; i >= 0; i-- {
			w.tailWeight[i] = w.tailWeight[i+1] + w.rows[i].weight
		}
	}
	cost := margin * w.tailWeight[0]
	for {
		killed, _ := slices.BinarySearchFunc(w.rows, margin, func(r replayedRow, margin float64) int {
			if r.ratio <= margin {
				return -1
			}
			return 1
		})
		if killed == len(w.rows) {
			return cost
		}
		margin *= 2
		cost += margin * w.tailWeight[killed]
	}
}
