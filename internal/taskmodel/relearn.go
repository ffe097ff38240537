package taskmodel

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/cost"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A team may rename a feature, or start to send one that determines the peak. The earlier rows then say nothing about the
// effect of the feature. But the margins come from the residuals of these rows, and the models impute the feature with the old
// name. A fresh model, which learns only the rows that have the new feature, may answer better. So while all newest rows have a
// feature that the models have not learned, a training compares the model with a fresh one, at certain numbers of these rows.
// If the fresh model is clearly better, its models and margins replace those of the model. The task then behaves like a new
// task whose first row is the first row with the feature.

const (
	firstFreshRows    = 8    // rows with the new feature at the first comparison
	freshGrowth       = 1.5  // factor of the number of rows with the new feature from one comparison to the next; bounds the number of comparisons
	maxFreshRows      = 100  // rows with which the comparisons end: the fits have learned the feature by then
	minFreshDAGRuns   = 3    // smallest number of DAG runs with the feature: the peaks of the instances in a DAG run have common causes
	maxFreshInstances = 8    // largest number of compared rows of one DAG run, so that the comparisons cover several DAG runs
	maxFreshHistory   = 2000 // largest number of rows that a fresh model learns; with more, the comparison would take too long
	minJudgedRows     = 4    // smallest number of rows for a comparison

	// The fresh model replaces the model only if the standard deviation of log(grant / peak) of the model is more than
	// freshDeviation times that of the fresh model. Without this condition, a few rows without a rare large peak would suffice,
	// and the margins would be too small for the next large peak.
	freshDeviation = 2
)

// newFeatures records the newest rows, while they all have a feature that the models had not learned when the first of them
// arrived.
type newFeatures struct {
	Names     []string     // features that all Rows have, ascending; empty: no row is stored
	Rows      []grantedRow // oldest first
	DAGRuns   int          // number of DAG runs of Rows; each row of a task that is not mapped counts as one
	DAGRun    uint64       // TrainingRow.DAGRun of the newest row
	Instances int          // number of measured rows of the run DAGRun so far
	Tried     int          // number of rows at the last comparison; 0: there was none
}

// grantedRow is a row and the bytes that would have been granted before it was learned.
type grantedRow struct {
	_       struct{} `cbor:",toarray"`
	Seq     int64
	Granted float64
}

// recordNewFeatures updates m.NewFeatures by a row, whose prediction is p. It must run before the models learn the row.
func (m *Model) recordNewFeatures(t *TrainingRow, p *experts.Point, b *buffers) {
	f := &m.NewFeatures
	if m.isEarly() {
		*f = newFeatures{}
		return
	}
	f.Names = slices.DeleteFunc(f.Names, func(name string) bool { return t.Features[name].Kind == sizing.Missing })
	if len(f.Names) == 0 || len(f.Rows) == maxFreshRows {
		*f = newFeatures{Names: m.unlearnedFeatures(t.Features)}
	}
	if len(f.Names) == 0 {
		return
	}
	if t.DAGRun == 0 || t.DAGRun != f.DAGRun {
		f.DAGRuns++
		f.Instances = 0
	}
	if f.DAGRun, f.Instances = t.DAGRun, f.Instances+1; f.Instances > maxFreshInstances {
		return
	}
	f.Rows = append(f.Rows, grantedRow{Seq: t.Seq, Granted: m.Experts.Answer(p, sizing.DefaultRiskTarget, &b.scratch).Amount})
}

// unlearnedFeatures returns the names, ascending, of the features whose effect the last fit could not learn, because few or no
// rows had them.
func (m *Model) unlearnedFeatures(f sizing.Features) (names []string) {
	columns := m.Models.Enc.Columns
	learned := make(map[string]bool, len(columns))
	for j := range columns {
		learned[columns[j].Name] = learned[columns[j].Name] || !columns[j].RarelyPresent
	}
	for name, v := range f {
		if v.Kind != sizing.Missing && !learned[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (m *Model) isRelearnDue() bool {
	f := &m.NewFeatures
	return f.DAGRuns >= minFreshDAGRuns && float64(len(f.Rows)) >= max(firstFreshRows, freshGrowth*float64(f.Tried))
}

// relearn compares the model with a fresh one if that is due, and replaces the models and their margins if the fresh model is
// clearly better. The model has learned all rows of h. The facts that do not depend on the models stay, such as the known
// kills, the newest uses of CPU (CPU.Residuals[anyCores]) and the share of the pool.
func (m *Model) relearn(h *sizing.History) (relearned bool, err error) {
	if !m.isRelearnDue() {
		return false, nil
	}
	first := m.NewFeatures.Rows[0].Seq
	m.NewFeatures.Tried = len(m.NewFeatures.Rows)
	since := rowsSince(h, first)
	if len(since.Rows) > maxFreshHistory {
		return false, nil
	}
	fresh := New()
	fresh.Trees, fresh.Sampling, fresh.fits, fresh.ablated = m.Trees, m.Sampling, m.fits, m.ablated
	if _, err := fresh.learnNewRows(since, nil); err != nil {
		return false, fmt.Errorf("relearn from row %d on: %w", first, err)
	}
	if fresh.Models == nil || !m.isWorseThan(fresh, since) {
		return false, nil
	}
	m.Models, m.Experts, m.ColdStart, m.EarlyRows = fresh.Models, fresh.Experts, fresh.ColdStart, fresh.EarlyRows
	m.OutOfSample, m.Unpredicted, m.Pending, m.Quarantine = fresh.OutOfSample, fresh.Unpredicted, fresh.Pending, fresh.Quarantine
	m.Awaited, m.Unlearned, m.Late, m.Oldest = fresh.Awaited, fresh.Unlearned, fresh.Late, fresh.Oldest
	m.Fitted, m.Reproduced, m.FitKey, m.Changed = fresh.Fitted, fresh.Reproduced, fresh.FitKey, fresh.Changed
	m.Levels, m.ErrorSeries = fresh.Levels, fresh.ErrorSeries
	m.DAGRuns, m.WithinRuns, m.WithinFeatures = fresh.DAGRuns, fresh.WithinRuns, fresh.WithinFeatures
	m.DurationLevels.Mixture, fresh.CPU.Residuals[anyCores] = fresh.DurationLevels.Mixture, m.CPU.Residuals[anyCores]
	m.CPU = fresh.CPU
	m.DurationLevels.Level = fresh.DurationLevels.Level
	m.DurationLevels.Level.Candidate = nil // its state belongs to the ratios of the fresh model
	m.Relearned, m.LastEvaluation, m.NewFeatures = cmp.Or(fresh.Relearned, first), Evaluation{}, newFeatures{}
	m.Experts.SetPool(&m.Share, nil)
	return true, nil
}

// isWorseThan compares the grants of m and of `other` for the newer half of the rows of m.NewFeatures; each made its grant
// for a row before it learned the row. It reports whether the grants of `other` waste less, by evaluationTolerance, without
// more kills, and follow the peaks more closely, by freshDeviation. `since` contains these rows.
func (m *Model) isWorseThan(other *Model, since *sizing.History) bool {
	granted := make(map[int64]float64, len(other.OutOfSample))
	for _, e := range other.OutOfSample {
		granted[e.Seq] = e.Granted
	}
	own := make(map[int64]float64)
	for _, g := range m.NewFeatures.Rows[len(m.NewFeatures.Rows)/2:] {
		own[g.Seq] = g.Granted
	}
	var mine, others grantErrors
	for i := range since.Rows {
		r := &since.Rows[i]
		if peak, _ := r.Peak(); own[r.Seq] > 0 && granted[r.Seq] > 0 && peak > 0 {
			mine.add(own[r.Seq], float64(peak), secondsOf(r.Duration))
			others.add(granted[r.Seq], float64(peak), secondsOf(r.Duration))
		}
	}
	return mine.rows >= minJudgedRows && others.kills <= mine.kills && others.waste*evaluationTolerance < mine.waste &&
		others.deviation()*freshDeviation < mine.deviation()
}

type grantErrors struct {
	rows, waste, kills float64
	mean, squares      float64 // mean of log(grant / peak), and the sum of the squared deviations from it
}

// add adds a grant and the peak of its run, both in bytes. Both must be positive.
func (e *grantErrors) add(granted, peak, seconds float64) {
	waste, kills := cost.LadderWastage(peak, 0, granted)
	e.rows++
	e.waste += waste * seconds
	e.kills += float64(min(kills, 1))
	log := math.Log(granted / peak)
	before := log - e.mean
	e.mean += before / e.rows
	e.squares += before * (log - e.mean) // West 1979
}

func (e *grantErrors) deviation() float64 { return math.Sqrt(e.squares / e.rows) }

func (m *Model) rowsInUse(h *sizing.History) *sizing.History {
	if m.Relearned == 0 {
		return h
	}
	return rowsSince(h, m.Relearned)
}

// rowsSince returns h from the row seq on. If h lacks this row, the result begins with the first row that arrived later.
func rowsSince(h *sizing.History, seq int64) *sizing.History {
	first := slices.IndexFunc(h.Rows, func(r sizing.HistoryRow) bool { return r.Seq == seq })
	if first < 0 {
		first = slices.IndexFunc(h.Rows, func(r sizing.HistoryRow) bool { return r.Seq > seq })
	}
	part := *h
	part.Rows = h.Rows[max(0, first):]
	if first > 0 { // the rows of the task that h lacks are older, unless h is thinned after this row; Total then is too small, which affects only texts
		part.Total = len(part.Rows)
	}
	return &part
}
