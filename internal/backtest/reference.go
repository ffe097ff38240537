package backtest

import (
	"cmp"
	"math"
	"slices"
)

// The two reference policies choose the cheapest of three small models of log peak on
// the newest rows. Each model has a margin from its own out-of-sample residuals, the
// ratios of the peak to the prediction that the model made before it learned the peak.

const (
	referenceCold   = 8   // rows below which the largest peak is used
	referenceWindow = 300 // newest rows that a choice replays
	referencePeriod = 20  // rows between two refits
)

// reference is a reference policy. Its figures depend on the rows at which it chooses:
// a shift by some rows changed them by 1.4 points on a task of 29,191 rows.
type reference struct {
	margins func(*window) []float64
	cold    float64 // the margin on the largest peak during cold start
	eager   int     // it chooses at every row up to this one, then once per period
	largest float64
	rows    int
	models  [3]model
	replays [3]window
	best    int // index of the chosen model
	margin  float64
	chosen  int // rows at the last choice
}

// costAware chooses the margin of least cost, regardless of its risk: a quantile of the
// ratios or 3 % above the largest ratio.
func costAware() *reference {
	return newReference(1.1, 20, func(w *window) []float64 {
		margins := []float64{w.quantile(1) * 1.03}
		for _, share := range []float64{.5, .8, .9, .95, .99, 1} {
			margins = append(margins, w.quantile(share))
		}
		return margins
	})
}

// capped chooses the margin that 2 % of the rows are expected to exceed: the
// ⌈.98(n+1)⌉-th smallest ratio (split conformal, Vovk et al. 2005). While n is too
// small for that, it adds a margin to the largest ratio.
func capped() *reference {
	return newReference(1.15, 10, func(w *window) []float64 {
		n := len(w.rows)
		if rank := int(math.Ceil(.98 * float64(n+1))); rank <= n {
			return []float64{w.rows[rank-1].ratio}
		}
		return []float64{w.quantile(1) * (1 + .5/math.Sqrt(float64(n)))}
	})
}

func newReference(cold float64, eager int, margins func(*window) []float64) *reference {
	return &reference{cold: cold, eager: eager, margins: margins, models: [3]model{
		{shape: func(float64) float64 { return 0 }},                       // a constant
		{shape: func(x float64) float64 { return x }},                     // growth by a factor
		{shape: func(x float64) float64 { return math.Log1p(max(x, 0)) }}, // a power law
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
	if r.rows <= r.eager || r.rows-r.chosen >= referencePeriod {
		r.choose()
	}
}

func (r *reference) allocate(q *Question) float64 {
	if r.rows < referenceCold {
		return r.largest * r.cold
	}
	return r.margin * r.models[r.best].predict(q.X)
}

// choose refits the models and selects the one with the cheapest replay.
func (r *reference) choose() {
	r.chosen = r.rows
	least := math.Inf(1)
	for i := range r.models {
		r.models[i].fitted = r.models[i].growing
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
	shape           func(x float64) float64
	growing, fitted line
}

// farthest bounds an extrapolation: e^40 bytes is more than any memory. The lower bound
// is one byte, so every ratio of a peak to a prediction is finite.
const farthest = 40

func (m *model) learn(x, peak float64) { m.growing.add(m.shape(x), math.Log(peak)) }

// predict returns 1 to e^farthest bytes. If inputs near the float64 limit overflow the
// sums of the line, it returns the geometric mean of the peaks.
func (m *model) predict(x float64) float64 {
	at := m.fitted.at(m.shape(x))
	if math.IsNaN(at) {
		at = m.fitted.meanY
	}
	return math.Exp(min(max(at, 0), farthest))
}

// window replays the newest rows under one model. Rows are sorted by ratio: a margin c
// suffices for the rows whose ratio is at most c.
type window struct {
	rows  []replayed
	byAge []replayed
	paid  []float64 // paid[i]: Σ weight of rows[i:]
}

type replayed struct {
	ratio  float64 // peak / prediction
	weight float64 // prediction · seconds
	age    int
}

func (w *window) add(predicted, peak, seconds float64) {
	next := replayed{ratio: peak / predicted, weight: predicted * seconds}
	if n := len(w.byAge); n > 0 {
		next.age = w.byAge[n-1].age + 1
	}
	if len(w.byAge) == referenceWindow {
		at, _ := slices.BinarySearchFunc(w.rows, w.byAge[0], byRatio)
		w.rows = slices.Delete(w.rows, at, at+1)
		w.byAge = w.byAge[1:]
	}
	w.byAge = append(w.byAge, next)
	at, _ := slices.BinarySearchFunc(w.rows, next, byRatio)
	w.rows = slices.Insert(w.rows, at, next)
	w.paid = nil
}

func byRatio(a, b replayed) int {
	return cmp.Or(cmp.Compare(a.ratio, b.ratio), cmp.Compare(a.age, b.age))
}

func (w *window) quantile(share float64) float64 {
	return quantile(len(w.rows), share, func(i int) float64 { return w.rows[i].ratio })
}

// cost returns the byte-seconds that the rows would have been allocated under a margin
// that doubles with every kill; all rows that reach an attempt pay for it. Use is the
// same under every margin and is not subtracted. The loop ends because the margin is
// positive and model.predict keeps every ratio finite.
func (w *window) cost(margin float64) float64 {
	if w.paid == nil {
		w.paid = make([]float64, len(w.rows)+1)
		for i := len(w.rows) - 1; i >= 0; i-- {
			w.paid[i] = w.paid[i+1] + w.rows[i].weight
		}
	}
	cost := margin * w.paid[0]
	for {
		killed, _ := slices.BinarySearchFunc(w.rows, margin, func(r replayed, margin float64) int {
			if r.ratio <= margin {
				return -1
			}
			return 1
		})
		if killed == len(w.rows) {
			return cost
		}
		margin *= 2
		cost += margin * w.paid[killed]
	}
}
