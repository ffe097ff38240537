package backtest

// static is what the DAG's author wrote: the rule has nothing of its own to say.
type static struct{}

func (static) allocate(*Question) float64 { return 0 }
func (static) learn(*Outcome)             {}

// largest is the largest peak so far, scaled. With scale 1.15 it is what Robusta
// KRR recommends: the maximum and 15 %.
type largest struct {
	scale float64
	peak  float64
}

func (r *largest) allocate(*Question) float64 { return r.peak * r.scale }
func (r *largest) learn(o *Outcome)           { r.peak = max(r.peak, float64(o.Peak)) }

// percentile is a percentile of the peaks so far.
type percentile struct {
	share float64
	peaks ascending
}

func (r *percentile) allocate(*Question) float64 { return r.peaks.quantile(r.share) }
func (r *percentile) learn(o *Outcome)           { r.peaks.insert(float64(o.Peak)) }
