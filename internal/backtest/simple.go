package backtest

// static has no answer of its own, so every try gets the static request.
type static struct{}

func (static) allocate(*Question) float64 { return 0 }
func (static) learn(*Outcome)             {}

// largest allocates the largest peak so far times scale. Scale 1.15 is the
// recommendation of Robusta KRR: the maximum plus 15 %.
type largest struct {
	scale float64
	peak  float64
}

func (r *largest) allocate(*Question) float64 { return r.peak * r.scale }
func (r *largest) learn(o *Outcome)           { r.peak = max(r.peak, float64(o.Peak)) }

// percentile allocates a percentile of the peaks so far.
type percentile struct {
	share float64
	peaks ascending
}

func (r *percentile) allocate(*Question) float64 { return r.peaks.quantile(r.share) }
func (r *percentile) learn(o *Outcome)           { r.peaks.insert(float64(o.Peak)) }
