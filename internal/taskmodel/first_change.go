package taskmodel

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A first change is the first other value of a feature that had one value in all runs so far: another category, bool
// or number, or the absence of the feature. The first value of a new feature is a first change, too. No run shows its effect on
// the log peak, so only a prior says how large it may be. The effects of the values of a feature are normal with an unknown
// variance, whose prior is a scaled inverse chi-squared distribution with effectRows degrees of freedom and scale
// effectSpread² (Gelman et al., Bayesian Data Analysis, 2013, section 2.6). So the effect of a new value relative to the known
// one follows Student's t-distribution.
const (
	effectRows   = 2.0  // the prior counts as this many known values
	effectSpread = 0.15 // standard deviation of the effects of the values of a feature on the log peak
)

// effectOf returns the distribution of the effect of a new value relative to the mean of n known values, whose effects have
// the given sum of squares about their mean. variance is the prior mean variance of these effects; see effectVariance.
func effectOf(n, squares, variance float64) distuv.StudentsT {
	nu := n - 1 + effectRows
	return distuv.StudentsT{Sigma: math.Sqrt((effectRows*variance + squares) / nu * (1 + 1/n)), Nu: nu}
}

// effectVariance returns the variance of the effects of a feature: that of the first changes of this feature in the tasks of
// the DAG, shrunk to the prior.
func (m *Model) effectVariance(name string) float64 {
	return m.effects.Variance(nameHash(name), effectSpread*effectSpread)
}

// visitFirstChanges calls visit for each feature with a first change. share is 1 or, for a number, the square of its log ratio
// to the known value if this square is below 1.
func (m *Model) visitFirstChanges(f sizing.Features, cells []sizing.Value, visit func(name string, share float64)) {
	for _, name := range m.newFeaturesOf(f) {
		visit(name, 1)
	}
	for j := range cells {
		if j > 0 && m.Schema.Fields[j].Name == m.Schema.Fields[j-1].Name {
			continue // the same value, read as another kind
		}
		if share := m.Models.firstChange(j, cells); share > 0 {
			visit(m.Schema.Fields[j].Name, share)
		}
	}
}

// recordFirstChange records, in the task's share of the pool, the error e of a row that has first changes. It must run before
// the models learn the row.
func (m *Model) recordFirstChange(t *TrainingRow, cells []sizing.Value, e float64) {
	changes := 0.0
	m.visitFirstChanges(t.Features, cells, func(_ string, share float64) { changes += share })
	m.visitFirstChanges(t.Features, cells, func(name string, share float64) {
		m.Share.RecordEffect(nameHash(name), share, e/math.Sqrt(changes))
	})
}

// firstChange returns by how much the j-th value of a row counts as a first change, from 0 to 1.
func (m *models) firstChange(j int, cells []sizing.Value) float64 {
	if m.PeakTrend.isConstant(j) {
		distance := m.PeakTrend.distanceFrom(minKnownRows, j, cells)
		return min(1, distance*distance)
	}
	if j >= len(m.Enc.Columns) {
		return 0
	}
	c := &m.Enc.Columns[j]
	return indicator(c.Counts.Rows >= minKnownRows && (c.isLost(cells[j]) || c.isUnlikeConstant(cells[j])))
}

// isConstant reports whether input j had the same value in all learned rows.
func (t *trend) isConstant(j int) bool {
	if j >= len(t.Ranges) || t.rangeOf(j).Rows == 0 {
		return false
	}
	s := t.rangeWithRemote(j)
	return s.Low == s.High
}

func (t *trend) hasNewNumber(cells []sizing.Value) bool {
	for j := range cells {
		if t.isConstant(j) && t.distanceFrom(minKnownRows, j, cells) != 0 {
			return true
		}
	}
	return false
}

// isLost reports whether a feature that was constant at the last fit, and that every run had, is missing.
func (c *column) isLost(v sizing.Value) bool {
	return v.Kind == sizing.Missing && c.Kind == sizing.Missing && !c.MissingFlag && !c.RarelyPresent && !c.IsOtherKind && !c.Retired
}

// newFeaturesOf returns the names, ascending, of the features in f that the models do not know yet. It returns none if new
// features are frequent, such as ids in names, because the residuals then include their effects.
func (m *Model) newFeaturesOf(f sizing.Features) (names []string) {
	if m.Models == nil || len(m.Schema.Fields) == sizing.MaxFields {
		return nil
	}
	for name, v := range f {
		if v.Kind != sizing.Missing && !slices.Contains(m.NewFeatures.Names, name) &&
			!slices.ContainsFunc(m.Schema.Fields, func(field sizing.Field) bool { return field.Name == name }) {
			names = append(names, name)
		}
	}
	if len(names) > 0 && m.Models.Enc.hasFrequentNewFeatures() {
		return nil
	}
	slices.Sort(names)
	return names
}

// hasFrequentNewFeatures reports whether many features occur in one row only. The share of such rows estimates the
// probability of a new feature (Good 1953).
func (e *encoder) hasFrequentNewFeatures() bool {
	rows, once := 0.0, 0.0
	for j := range e.Columns {
		if rows = max(rows, e.Columns[j].Counts.Rows); e.Columns[j].Counts.Rows == 1 {
			once++
		}
	}
	return once*minMissingShare >= rows
}

// changeRiskFactor is the largest risk, as a multiple of the risk target, that an unknown effect may cause before the amount
// is raised. With 3.3 instead of 10, in replays with effects of deviation 0.3, the raised grants wasted more memory than the
// kills that they avoided.
const changeRiskFactor = 10

// unknownEffect returns the distribution of the joint effect of the first changes of a question and of a new combination of
// known values; Sigma is 0 without any. The effects of the known combinations are a sample from the distribution of all
// effects.
func (m *Model) unknownEffect(q *Question, cells []sizing.Value) distuv.StudentsT {
	joint := distuv.StudentsT{Nu: effectRows}
	m.visitFirstChanges(q.Features, cells, func(name string, share float64) {
		joint.Sigma = math.Hypot(joint.Sigma, effectOf(1, 0, m.effectVariance(name)).Sigma*math.Sqrt(share))
	})
	if known := &m.Models.Combinations; m.Models.isNewCombination(cells) {
		if joint.Sigma == 0 {
			joint.Nu = float64(len(known.Effects))
		}
		joint.Sigma = math.Hypot(joint.Sigma, math.Sqrt(known.Variance))
	}
	return joint
}

// raiseForUnknownEffect raises the promise for a row with first changes or a new combination to P(peak > amount) for such a
// row, but not above one half. If no run has exceeded the static request, it may raise the amount first, because all mapped
// instances of a task change at once; see widensForUnknownEffect.
func (m *Model) raiseForUnknownEffect(a *experts.Answer, p *experts.Point, q *Question, b *buffers) {
	b.amountBeforeWidening = 0
	t := m.unknownEffect(q, b.cells)
	if t.Sigma == 0 {
		return
	}
	if m.widensForUnknownEffect(p, q, b) {
		m.widenForUnknownEffect(t, a, p, q, b)
	}
	a.Promised = experts.Probability(max(a.Promised, min(0.5, m.exceedanceWith(t, p, a.Amount, b))))
}

// widensForUnknownEffect reports whether an unknown effect may raise the amount. The effect of a new number may not:
// extrapolate decides the amount above a known number, and below it the peak is seldom larger. The effect of a feature that is
// sent for the first time may not either, because such a feature is often another name of a known one. The margin of a row with
// imputed features already contains the differences of similar rows.
func (m *Model) widensForUnknownEffect(p *experts.Point, q *Question, b *buffers) bool {
	return !b.isLift && !p.Imputed && !b.extrapolation.noRisk && !m.Models.PeakTrend.hasNewNumber(b.cells) && len(m.newFeaturesOf(q.Features)) == 0
}

func (m *Model) nameUnknownEffect(q *Question, cells []sizing.Value) string {
	name := "the new combination"
	m.visitFirstChanges(q.Features, cells, func(string, float64) { name = "the first change of a feature" })
	return name
}

// widenForUnknownEffect raises the amount, but not above the static request, until the risk with an effect of distribution t
// is at most changeRiskFactor times the risk target.
func (m *Model) widenForUnknownEffect(t distuv.StudentsT, a *experts.Answer, p *experts.Point, q *Question, b *buffers) {
	const steps = 8 // halvings of the log distance to the request
	low, high, most := a.Amount, m.sufficientRequest(q), changeRiskFactor*q.RiskTarget
	if high <= low || m.exceedanceWith(t, p, low, b) <= most {
		return
	}
	for range steps {
		if middle := math.Sqrt(low * high); m.exceedanceWith(t, p, middle, b) > most {
			low = middle
		} else {
			high = middle
		}
	}
	b.amountBeforeWidening, a.Amount = a.Amount, high
	a.Promised = min(a.Promised, m.exceedanceProb(p, high, b))
}

// exceedanceWith returns P(peak > amount) if an unknown effect with distribution t shifts the log peak.
func (m *Model) exceedanceWith(t distuv.StudentsT, p *experts.Point, amount float64, b *buffers) (risk float64) {
	for i := range unseenQuantiles {
		shift := t.Quantile((float64(i) + 0.5) / unseenQuantiles)
		risk += m.mixtureExceedance(p, amount*math.Exp(-shift), b) / unseenQuantiles
	}
	return risk
}

func (m *Model) describePresence(text *strings.Builder, f sizing.Features, cells []sizing.Value) {
	names := m.newFeaturesOf(f)
	if len(names) > 0 {
		text.WriteString("; sent for the first time: " + strings.Join(names, ", "))
	}
	names = names[:0]
	for j := range min(len(cells), len(m.Models.Enc.Columns)) {
		if c := &m.Models.Enc.Columns[j]; c.isLost(cells[j]) && c.Counts.Rows >= minKnownRows && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	if len(names) > 0 {
		text.WriteString("; missing for the first time: " + strings.Join(names, ", "))
	}
}

// recordRaisedPromise reports whether the promise of a try includes the unknown effect of a first change, of a new combination
// or of an unseen value. It stores the DAG run of such a try in m.ChangedRun, and then returns true for all instances of this
// DAG run: they have the same promise if they started before the model learned the first of them.
func (m *Model) recordRaisedPromise(t *TrainingRow) bool {
	if m.Models == nil {
		return false
	}
	if m.hasUnknownEffect(t, m.cells(t.Features, nil)) {
		m.ChangedRun = t.DAGRun
		return true
	}
	return t.DAGRun != 0 && t.DAGRun == m.ChangedRun
}

// hasUnknownEffect reports whether a row has a first change, a new combination or an unseen value. The task must have models.
func (m *Model) hasUnknownEffect(t *TrainingRow, cells []sizing.Value) bool {
	q := Question{Features: t.Features}
	return m.unknownEffect(&q, cells).Sigma > 0 || m.Models.ridges != nil && m.Models.Enc.hasUnseen(cells)
}
