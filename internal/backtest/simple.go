package backtest

type static struct{}

func (static) allocate(q *Question) float64 { return float64(q.Static) }
func (static) learn(*Outcome)               {}

// largest allocates the largest peak so far times scale. Robusta KRR recommends the largest peak
// plus 15 %, a scale of 1.15.
type largest struct {
	scale float64
	peak  float64
}

func (r *largest) allocate(*Question) float64 { return r.peak * r.scale }
func (r *largest) learn(o *Outcome)           { r.peak = max(r.peak, float64(o.Peak)) }

type percentile struct {
	share float64 // 0.95: the 95th percentile
	peaks sortedValues
}

func (r *percentile) allocate(*Question) float64 { return r.peaks.quantile(r.share) }
func (r *percentile) learn(o *Outcome)           { r.peaks.insert(float64(o.Peak)) }
