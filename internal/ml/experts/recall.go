package experts

import "math"

// Recall charges every expert with rows that were blind when they ended, once the models
// know what such rows come to: their residuals are out-of-sample, and no others say how
// wide the margins of such rows must be.
func (x *Experts) Recall(p *Point, peak, duration float64) {
	log := math.Log(peak)
	for k := range x.SqErr {
		x.SqErr[k] += (log - p.Level[k]) * (log - p.Level[k])
	}
	if x.Told <= x.config.Unripe+3 {
		return
	}
	x.charge(p, peak, duration)
	x.adapt(x.Answer(p, x.config.Target, &x.scratch).Amount < peak)
	x.keep(entryOf(p, log))
}
