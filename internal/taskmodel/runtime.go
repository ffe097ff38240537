package taskmodel

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/loadaware/loadaware/internal/ml/conformal"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/shape"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The run time of a try is its prediction times a ratio. The distribution of the ratio combines the
// task's out-of-sample ratios with a prior: the shape that the task shares with other tasks. With few
// runs the tail comes from the shape, with many runs from the task itself. Adaptive conformal inference
// (Gibbs & Candès 2021) corrects the 95 % and 99 % quantiles, so that their coverage is right under
// drift, too.
//
//	log1p(seconds) − runTimeAt ─▶ Overrun ─┬─▶ membership in the shapes ─▶ prior
//	                                       └─▶ ratioDistribution.below = (weight · prior + own) / (weight + runs)

// durationLevels corrects the levels of the quantiles, and bounds and averages the predictions of the run time.
type durationLevels struct {
	runTimeState
	Level runTimeLevel `cbor:",omitzero"` // changes of the level of the run times; earlier releases ignore them
}

// Steps of durationLevels. A run above a quantile raises the level of this quantile by about the step. With larger steps the
// levels follow changes faster, but vary more.
const (
	step95           = 0.01   // step of P95
	step99           = 0.002  // step of P99
	maxQuantileLevel = 0.9995 // largest level of a quantile
)

func (c *durationLevels) start() {
	if c.P95.Step == 0 {
		c.P95, c.P99 = conformal.NewAdaptive(.05, step95), conformal.NewAdaptive(.01, step99)
	}
}

// OutlierRatio is the multiple of the median run time above which a run is an outlier, and a stopped try has probably hung.
const OutlierRatio = 3

// Ratios returns the newest ratios of the task's run times to the predictions made before the runs,
// oldest first. One second is added to both times, so that the ratios of runs of fractions of a second do not vary much.
func (m *Model) Ratios() []float64 {
	ratios := make([]float64, 0, len(m.Overrun.Ring))
	for i := range m.Overrun.Ring {
		ratios = append(ratios, math.Exp(m.Overrun.Ring[(m.Overrun.At+i)%len(m.Overrun.Ring)]))
	}
	return ratios
}

// learnRunTime learns the run time of a success t with the row r. p is the prediction that was made before the run was
// learned, and b comes from it.
func (m *Model) learnRunTime(r *row, t *TrainingRow, p *experts.Point, b *buffers) {
	m.DurationLevels.start()
	drift := &m.DurationLevels.Drift
	isNewBatch := drift.startBatch(float64(t.At)-r.Seconds, float64(t.At))
	batch := drift.Batch
	drift.Batch = errorBatch{} // the errors of the batch were unknown at the start of the run
	before := m.DurationLevels.runTimeState
	log := math.Log1p(r.Seconds)
	bounded, residual := m.boundedRunTime(p, b), log-m.runTimeAt(p, b)
	above95, above99 := m.isAboveQuantiles(log, p, b)
	switch {
	case len(m.Overrun.Ring) == 0:
		m.DurationLevels.Low, m.DurationLevels.High = log, log
	case m.DurationLevels.High > 0: // false in a model stored by an earlier release, which has no range
		m.DurationLevels.Low, m.DurationLevels.High = min(m.DurationLevels.Low, log), max(m.DurationLevels.High, log)
	}
	if len(m.Overrun.Ring) > 0 {
		m.DurationLevels.P95.Update(above95)
		m.DurationLevels.P99.Update(above99)
	}
	if !p.Imputed { // the error of an imputed prediction says nothing about the errors of the models
		batch.learn(residual + drift.correction())
		m.DurationLevels.Mixture.learn(log, bounded)
		m.Overrun.Add(residual, maxOverruns)
		m.DurationLevels.Level.countRatio()
	}
	drift.Batch = batch
	m.learnRunTimeLevel(r, t, &before, isNewBatch, p, b)
	m.updateRunTimes()
}

// isAboveQuantiles reports whether a run time is above the predicted 95 % and 99 % quantiles. `log` is log1p of its seconds,
// p is the prediction for the run, and b comes from this prediction.
func (m *Model) isAboveQuantiles(log float64, p *experts.Point, b *buffers) (above95, above99 bool) {
	if !p.Imputed {
		residual := log - m.runTimeAt(p, b)
		return residual > m.ratios.p95, residual > m.ratios.p99
	}
	ratios := m.ratioDistribution(&m.ratios.ratioAnswer)
	above := m.runTimeOf(&ratios, p, b).correctedAbove(log)
	return above < .05, above < .01
}

// learnCensored learns the duration of a killed or failed try, or of a success with neither a peak nor an allocation, as a
// lower bound of the run time. If the duration is above the predicted median, the try adds an imputed ratio, unless it is an
// outlier or lacks a rarely missing feature. A try without an imputed ratio counts only as a miss of the 95 % and 99 %
// quantiles that its duration exceeds. An outlier has probably hung: with a larger timeout, it would only hang for longer. The
// imputed run time is at most OutlierRatio times the duration.
func (m *Model) learnCensored(t *TrainingRow) {
	if m.Models == nil || t.Duration <= 0 || len(m.Overrun.Ring) == 0 {
		return
	}
	var p experts.Point
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.cells = m.cells(t.Features, b.cells)
	m.Models.predict(b.cells, &p, b)
	log := math.Log1p(t.Duration.Seconds())
	at := m.runTimeAt(&p, b)
	stopped, isLonger := log-at, log > at+m.ratios.median
	if isOutlier := t.Duration.Seconds() > OutlierRatio*secondsAt(at+m.ratios.median); !p.Imputed && isLonger && !isOutlier {
		ratio := min(m.imputedRatio(stopped), math.Log1p(OutlierRatio*t.Duration.Seconds())-at)
		m.DurationLevels.start()
		m.DurationLevels.P95.Update(ratio > m.ratios.p95)
		m.DurationLevels.P99.Update(ratio > m.ratios.p99)
		m.Overrun.Add(ratio, maxOverruns)
		m.DurationLevels.Level.countRatio()
		m.updateRunTimes()
		return
	}
	above95, above99 := m.isAboveQuantiles(log, &p, b)
	if !above95 {
		return
	}
	m.DurationLevels.start()
	m.DurationLevels.P95.Update(true)
	if above99 {
		m.DurationLevels.P99.Update(true)
	}
	m.updateRunTimes()
}

// imputedRatio returns a log ratio of a run that takes longer than a try that was stopped at a log ratio above the median: a
// quantile of the log-normal distribution with the known median and the known share of longer runs. The history does not show
// by how much the longer runs exceed the stopped try, because all of them may have been stopped. The levels of the quantiles
// are evenly distributed (additive recurrence with the golden ratio).
func (m *Model) imputedRatio(stopped float64) float64 {
	ratios := m.ratioDistribution(&m.ratios.ratioAnswer)
	above := ratios.above(stopped)
	_, level := math.Modf(math.Phi * float64(m.Overrun.Position()))
	z := func(above float64) float64 { return math.Erfinv(1 - 2*above) }
	imputed := m.ratios.median + (stopped-m.ratios.median)*z(above*level)/z(above)
	return max(stopped, imputed)
}

// runTimeSlack is the distance, a factor of 2 as a logarithm, by which a prediction may leave the range of the learned run
// times. Without this bound, the ridge regression of the run time would diverge for unusual inputs.
const runTimeSlack = 0.7

// runTimeAt returns the prediction of the run time: the weighted average of the point prediction p, from which b comes,
// and the mean of the runs, corrected by the recent errors, as log1p of seconds. The rise of an extrapolation is added to this
// average, because the runs in the mean say nothing about it. A forecast from remote numbers replaces the average.
func (m *Model) runTimeAt(p *experts.Point, b *buffers) float64 {
	return m.runTimeBy(&m.DurationLevels.runTimeState, p, b)
}

// runTimeBy is runTimeAt with another state.
func (m *Model) runTimeBy(s *runTimeState, p *experts.Point, b *buffers) float64 {
	point := p.Duration + m.DurationLevels.Level.Unfitted
	if b.extrapolation.remote.seconds > 0 {
		return point + s.Drift.correction()
	}
	rise := b.extrapolation.runTimeRise
	return s.Mixture.predict(s.bound(point, b)-rise) + rise + s.Drift.correction()
}

// boundedRunTime returns the point prediction as log1p of seconds.
func (m *Model) boundedRunTime(p *experts.Point, b *buffers) float64 {
	return m.DurationLevels.bound(p.Duration+m.DurationLevels.Level.Unfitted, b)
}

// bound raises a point prediction to that at the edge of the range of the inputs (raiseRunTimeToEdge), and limits it to the
// range of the learned run times and runTimeSlack.
func (s *runTimeState) bound(point float64, b *buffers) float64 {
	if b.extrapolation.remote.seconds > 0 { // such a forecast is not a prediction of the models
		return point
	}
	point += b.extrapolation.edgeRunTime
	if s.High == 0 { // a model stored by an earlier release has no range
		return point
	}
	rise := b.extrapolation.runTimeRise
	return max(s.Low-runTimeSlack, min(s.High+runTimeSlack, point-rise)) + rise
}

// ratioDistribution is the distribution of the log ratio of a run time to its prediction.
type ratioDistribution struct {
	prior  *[shape.Bins + 1]float64 // see ratioAnswer
	weight float64                  // weight of the prior, in runs
	own    []float64                // log ratios of the task's runs without the first ones (ratioCache.own), ascending
	tail   uncorrectedTail
}

// ratioDistribution returns the distribution of the ratio with the prior of a. The result is valid until the model learns.
func (m *Model) ratioDistribution(a *ratioAnswer) ratioDistribution {
	return ratioDistribution{a.prior, a.weight, m.ratios.own, m.uncorrectedTail()}
}

// copied returns a distribution that stays the same when the model learns.
func (d ratioDistribution) copied() *ratioDistribution {
	d.own = slices.Clone(d.own)
	if d.prior != nil {
		prior := *d.prior
		d.prior = &prior
	}
	return &d
}

func (d *ratioDistribution) priorBelow(x float64) float64 {
	if d.prior == nil {
		return .5 * math.Erfc(-x/(defaultSpread*math.Sqrt2))
	}
	at := math.Exp(x) * (shape.Bins / shape.MaxRatio)
	if at >= shape.Bins-1 { // the last bin has no upper end
		from := shape.MaxRatio * (1 - 1.0/shape.Bins)
		return 1 - (1-d.prior[shape.Bins-1])*from/max(from, math.Exp(x))
	}
	bin := int(at)
	return d.prior[bin] + (d.prior[bin+1]-d.prior[bin])*(at-float64(bin))
}

// below returns P(log ratio ≤ x).
func (d *ratioDistribution) below(x float64) float64 {
	own := sort.Search(len(d.own), func(i int) bool { return d.own[i] > x })
	return (d.weight*d.priorBelow(x) + float64(own)) / (d.weight + float64(len(d.own)))
}

func (d *ratioDistribution) above(x float64) float64 { return max(0, 1-d.below(x)) }

// correctedAbove returns P(log ratio > x) after the correction of the levels.
func (d *ratioDistribution) correctedAbove(x float64) float64 { return d.tail.correct(d.above(x)) }

const (
	maxLogRatio = 12 // a factor of 160,000
	bisections  = 40 // steps of a bisection
)

func (d *ratioDistribution) quantile(level float64) float64 {
	return bisect(-maxLogRatio, maxLogRatio, func(x float64) bool { return d.below(x) >= level })
}

// duration returns the predicted run time of the try of q; nil if no run has a ratio (see Ratios). b comes from the
// prediction p.
func (m *Model) duration(p *experts.Point, q *Question, b *buffers) *sizing.Duration {
	if len(m.Overrun.Ring) == 0 {
		return nil
	}
	c := m.ratiosGiven(&q.Shape)
	ratios := m.ratioDistribution(c)
	d := &sizing.Duration{Shape: c.member}
	r := RunTimes{m.runTimeOf(&ratios, p, b)}
	if levels := r[0].levels; len(levels) > 1 {
		d.Median, d.P95, d.P99 = toDuration(r.Quantile(.5)), toDuration(r.Quantile(.95)), toDuration(r.Quantile(.99))
	} else {
		at := levels[0]
		d.Median, d.P95, d.P99 = toDuration(secondsAt(at+c.median)), toDuration(secondsAt(at+c.p95)), toDuration(secondsAt(at+c.p99))
	}
	d.Outlier = r[0].Above(OutlierRatio * d.Median.Seconds())
	if q.Timeout > 0 {
		above := r.Above(q.Timeout.Seconds())
		d.Timeout = &above
	}
	return d
}

// toDuration returns at least a millisecond, because zero means unknown.
func toDuration(seconds float64) time.Duration {
	return max(time.Millisecond, time.Duration(seconds*float64(time.Second)).Round(time.Millisecond))
}

// OwnRunTimes returns the number of runs with a known run time, and the mean of their log seconds. ok is
// false if the model does not store all measured runs of the task; it stores all of them only while they are few, and
// until relearn drops the older ones.
func (m *Model) OwnRunTimes() (runs int, mean float64, ok bool) {
	for i := range m.EarlyRows {
		if r := &m.EarlyRows[i]; !r.Untimed && r.Seconds > 0 {
			runs++
			mean += (math.Log(r.Seconds) - mean) / float64(runs)
		}
	}
	return runs, mean, m.Relearned == 0 && m.Experts.LearnedRows == len(m.EarlyRows)
}

// RunTime predicts the run time of a try with features f; ok is false if no run has a ratio (see Ratios).
func (m *Model) RunTime(f sizing.Features) (r RunTime, ok bool) {
	if all := m.RunTimes([]sizing.Features{f}); len(all) == 1 {
		return all[0], true
	}
	return RunTime{}, false
}

// RunTimes predicts the run times of tries with the given features, in their order; nil if no run has a
// ratio.
func (m *Model) RunTimes(tries []sizing.Features) RunTimes {
	return m.RunTimesGiven(&shape.Given{}, tries)
}

// RunTimesGiven is RunTimes with prior probabilities of the shapes of the task; the zero value stands for none.
func (m *Model) RunTimesGiven(given *shape.Given, tries []sizing.Features) RunTimes {
	if m.Models == nil || len(m.Overrun.Ring) == 0 {
		return nil
	}
	ratios, all := m.ratioDistribution(m.ratiosGiven(given)).copied(), make(RunTimes, len(tries))
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	for i, f := range tries {
		var p experts.Point
		b.cells = m.cells(f, b.cells)
		m.Models.predict(b.cells, &p, b)
		all[i] = m.runTimeOf(ratios, &p, b)
		all[i].levels = slices.Clone(all[i].levels)
	}
	return all
}

func secondsAt(log float64) float64 {
	return min(math.Expm1(max(0, min(maxLogSeconds, log))), sizing.MaxDuration.Seconds())
}

// table returns n + 1 quantiles of the log ratio. Their levels are equally spaced from 0 to 1, but bounded by 1 −
// maxQuantileLevel and maxQuantileLevel.
func (d *ratioDistribution) table(n int) []float64 {
	table := make([]float64, n+1)
	for i := range table {
		table[i] = d.quantile(max(1-maxQuantileLevel, min(maxQuantileLevel, float64(i)/float64(n))))
	}
	return table
}
