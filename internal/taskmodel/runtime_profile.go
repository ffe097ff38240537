package taskmodel

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/shape"
	"github.com/loadaware/loadaware/internal/sizing"
)

// RunTimes holds the predicted run times of several tries. Its methods treat them as the mixture of their distributions
// with equal weights: the run time of one try that is chosen at random. The levels of the quantiles are corrected as
// in the answers to predictions (durationLevels), except in tables.
type RunTimes []RunTime

// Scale multiplies the predicted run time of each try by the factor with the same index. It first limits the run time to the
// bounds of secondsAt, because a prediction below zero has no multiple.
func (r RunTimes) Scale(factors []float64) {
	for i := range r {
		for k, level := range r[i].levels {
			r[i].levels[k] = math.Log1p(secondsAt(level) * factors[i])
		}
	}
}

// Above returns P(run time > seconds).
func (r RunTimes) Above(seconds float64) float64 {
	sum, log := 0.0, math.Log1p(seconds)
	for i := range r {
		sum += r[i].correctedAbove(log)
	}
	return sum / float64(max(1, len(r)))
}

// Quantile returns the seconds that a run does not exceed with probability q. A q above maxQuantileLevel counts as
// maxQuantileLevel.
func (r RunTimes) Quantile(q float64) float64 { return r.upperBound(1-min(q, maxQuantileLevel), 0) }

// Table returns n + 1 quantiles of the run time in seconds; nil without tries. The levels are equally spaced from 0 to 1, but
// not below 1 − maxQuantileLevel and not above maxQuantileLevel.
func (r RunTimes) Table(n int) []float64 {
	if len(r) == 0 {
		return nil
	}
	return r.tableOf(r[0].ratios.table(n)) // all tries have the same distribution of the ratio
}

// LevelTable returns n + 1 quantiles of the seconds that a run does not exceed with probability q once its inputs are known, at
// equally spaced levels from 0 to 1; nil without tries. These seconds vary with the predicted run times (RunTime.levels) of all
// tries. For one try with one predicted run time, all quantiles are equal.
func (r RunTimes) LevelTable(n int, q float64) []float64 {
	if len(r) == 0 {
		return nil
	}
	return r.tableOf(slices.Repeat([]float64{r[0].ratios.quantile(min(q, maxQuantileLevel))}, n+1))
}

// tableOf returns quantiles of the seconds, as many as there are ratios. `ratios` are equally probable log ratios of run time
// to prediction.
func (r RunTimes) tableOf(ratios []float64) []float64 {
	all := make([]float64, 0, len(r)*len(ratios))
	for i := range r {
		all = append(all, r[i].logTable(ratios)...)
	}
	table := thin(all, len(ratios))
	for i, log := range table {
		table[i] = secondsAt(log)
	}
	return table
}

// Remaining returns the further seconds within which a run ends with probability q, given that it
// has not ended after `elapsed` seconds.
func (r RunTimes) Remaining(elapsed, q float64) float64 {
	return max(0, r.upperBound((1-q)*r.Above(elapsed), elapsed)-elapsed)
}

// upperBound returns the smallest number of seconds, not below `lowest`, that a run exceeds with at most
// the given probability.
func (r RunTimes) upperBound(probability, lowest float64) float64 {
	return secondsAt(bisect(math.Log1p(max(0, lowest)), maxLogSeconds, func(log float64) bool { return r.Above(math.Expm1(log)) <= probability }))
}

// RunTimeProfile describes the ratios of a task's run times to the predictions before the runs.
type RunTimeProfile struct {
	Runs        int           // number of ratios
	Histogram   shape.Counts  // of the ratios
	Predicted   shape.Density // density of the next run's ratio
	Shapes      []ShapeMember // by descending probability
	None        float64       // probability that the task has none of the shapes; 1 if there are no shapes
	NewestRatio float64       // ratio of the newest run
	IsOutlier   bool          // NewestRatio is more than OutlierRatio times the median ratio
}

// BinWidth returns the width of the bins of Histogram. The first bin starts at 0, and the last bin
// has no upper end.
func (p *RunTimeProfile) BinWidth() float64 { return shape.Ratio.Edge(1) }

// ShapeMember is the probability that a task has a shape.
type ShapeMember struct {
	Name        string
	Probability float64
	Density     *shape.Density // density of the ratio of run time to prediction
}

// driftRuns is the number of newest runs that RunTimeDrift compares with the earlier ones.
const driftRuns = 20

// RunTimeProfile returns the profile of the run times, given prior probabilities of the shapes of the
// task; ok is false if no run has a ratio.
func (m *Model) RunTimeProfile(given *shape.Given) (p RunTimeProfile, ok bool) {
	ratios := m.Ratios()
	if len(ratios) == 0 {
		return p, false
	}
	p = RunTimeProfile{Runs: len(ratios), Histogram: *shape.Count(shape.Ratio, ratios), None: 1}
	if set := m.ratios.shapes; set != nil {
		e := set.Evidence(&p.Histogram)
		member := m.posterior(set, given, &e)
		p.Predicted, p.None = *set.Predictive(&p.Histogram, member), member.None
		for i, probability := range member.Posterior {
			p.Shapes = append(p.Shapes, ShapeMember{Name: set.Name(i), Probability: probability, Density: &set.Shapes[i].Density})
		}
		slices.SortStableFunc(p.Shapes, func(a, b ShapeMember) int { return cmp.Compare(b.Probability, a.Probability) })
	} else {
		none := new(Shapes)
		p.Predicted = *none.Predictive(&p.Histogram, none.Member(&p.Histogram))
	}
	p.NewestRatio = ratios[len(ratios)-1]
	p.IsOutlier = p.NewestRatio > OutlierRatio*math.Exp(m.ratiosGiven(given).median)
	return p, true
}

// RunTimeDrift returns by which factor the run times of the newest driftRuns successes in `h` differ from those of the
// earlier ones with the same features. It is the Hodges-Lehmann estimate of the shift of the ratio of run time to
// prediction: the median quotient of a newest and an earlier ratio. The quotient of the medians would jump between the
// modes of run times that have several. The present model predicts all runs, because a model from before a run follows a
// change within a few runs, which hides it. RunTimeDrift returns 1 with fewer than 2·driftRuns successes.
func (m *Model) RunTimeDrift(h *sizing.History) float64 {
	if m.Models == nil || len(m.Overrun.Ring) == 0 {
		return 1
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var ratios []float64 // as logarithms
	for i := range h.Rows {
		r := &h.Rows[i]
		if r.Outcome != sizing.Success || r.Duration <= 0 {
			continue
		}
		var p experts.Point
		b.cells = m.cells(h.Schema.Features(r.Features), b.cells)
		m.Models.predict(b.cells, &p, b)
		if b.group != nil && m.Models.ridges != nil { // the mean of the runs with identical features contains this run, too
			p.Duration += m.Models.pointRunTime(b.cells, b.line, nil) - m.Models.pointRunTime(b.cells, b.line, b.group)
		}
		ratios = append(ratios, math.Log1p(r.Duration.Seconds())-m.runTimeAt(&p, b))
	}
	if len(ratios) < 2*driftRuns {
		return 1
	}
	before, newest := ratios[:len(ratios)-driftRuns], ratios[len(ratios)-driftRuns:]
	differences := make([]float64, 0, len(before)*len(newest))
	for _, x := range before {
		for _, y := range newest {
			differences = append(differences, y-x)
		}
	}
	slices.Sort(differences)
	return math.Exp(differences[len(differences)/2])
}
