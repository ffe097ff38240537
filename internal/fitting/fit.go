package fitting

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Outcome of a Fit.
type Outcome struct {
	Trained    bool
	Reason     string
	Evaluation Evaluation // the last that was due; zero before the first

	Warnings []string // about what the model cannot use of the history
}

// Fit learns a task's history on top of its champion (nil: there is none), and
// fits the models anew on all of it. It returns nil where there is nothing to fit,
// or where the challenger lost its exam and a champion can stay; the Outcome says
// why. champion must not be used afterwards.
//
// Rows that the champion was not told yet are learned in order first, so that
// their residuals are honest; a bulk of history is learned in blocks, with a fit
// before each (half as many rows again every time).
func Fit(h *sizing.History, champion *Model) (*Model, Outcome, error) {
	m := champion
	learnedSampling := samplingOf(h.Task, h.Pairs)
	if m != nil {
		m.leavePool()
	}
	switch {
	case m == nil:
		m = New()
	case m.learnedVoided(h), m.Experts.Told > 0 && learnedSampling.invalidates(&m.Sampling, h):
		m = New()
		m.Trees = champion.Trees
		champion = nil // what it learned of a report that was taken back, or of a peak that is raised now, must not stay
	}
	m.Sampling = learnedSampling
	h = m.Sampling.raiseHistory(h)
	if err := m.learnNewRows(h); err != nil {
		return nil, Outcome{}, err
	}
	m.releaseGranted(h)
	if m.Experts.Told == 0 {
		return nil, Outcome{Reason: "no run with a measured peak yet: report memory_max_bytes of a success"}, nil
	}
	return m.finish(h, champion != nil)
}

// takeIn learns in order the rows that the model was not told yet.
func (m *Model) learnNewRows(h *sizing.History) error {
	m.Schema = h.Schema.Shape()
	for i := range m.EarlyRows { // a young champion has seen fewer features
		m.EarlyRows[i].Cells = padded(m.EarlyRows[i].Cells, len(m.Schema.Fields))
	}
	lastSeq := m.LastSeq
	first := max(0, len(h.Rows)-maxResidualRows)
	for i := range h.Rows {
		r := &h.Rows[i]
		if r.Seq <= lastSeq {
			continue
		}
		t := NewTrainingRow(&h.Schema, r)
		if i < first && !m.inBurnIn() {
			m.learnRange(&t)
			continue
		}
		m.Learn(t)
		if m.isBulkFitDue() {
			if err := m.refit(h, m.rowsOf(h, i+1)); err != nil {
				return err
			}
		}
	}
	m.LastSeq = max(m.LastSeq, h.LastSeq)
	return nil
}

// finish fits on all of the history, and holds the exam that is due.
func (m *Model) finish(h *sizing.History, champion bool) (*Model, Outcome, error) {
	out := Outcome{Trained: true, Reason: fmt.Sprintf("learned from %d runs", h.Total)}
	rows := m.rowsOf(h, len(h.Rows))
	if exact := withoutImputed(rows); m.isEvaluationDue(len(exact)) {
		evaluation, err := m.evaluate(h, exact)
		if err != nil {
			return nil, Outcome{}, err
		}
		m.LastEvaluation = evaluation
		out.Reason += "; " + evaluation.Reason
		if !evaluation.Passed && champion {
			out.Evaluation = evaluation
			return nil, out, nil
		}
		if !evaluation.Passed {
			out.Reason += "; published all the same, since there is no champion to stay"
		}
	}
	out.Evaluation = m.LastEvaluation
	if err := m.refit(h, rows); err != nil {
		return nil, Outcome{}, err
	}
	if err := m.describe(h); err != nil {
		return nil, Outcome{}, err
	}
	m.rebuildKills(h)
	if warning := m.describeRetired(); warning != "" {
		out.Warnings = append(out.Warnings, warning)
		out.Reason += "; " + warning
	}
	return m, out, nil
}

// knowsVoided reports whether a report that was taken back is in the ledger: what it
// did to the margins cannot be taken out of them again. Of a thinned history only
// the newest rows can be looked up.
func (m *Model) learnedVoided(h *sizing.History) bool {
	seqs := make([]int64, len(h.Rows))
	for i := range h.Rows {
		seqs[i] = h.Rows[i].Seq
	}
	slices.Sort(seqs)
	from := int64(0)
	if h.Total > len(seqs) {
		from = seqs[max(0, len(seqs)-neverThinned)]
	}
	isVoided := func(seq int64) bool {
		_, found := slices.BinarySearch(seqs, seq)
		return seq >= from && !found
	}
	return slices.ContainsFunc(m.OutOfSample, func(e outOfSample) bool { return isVoided(e.Seq) }) ||
		slices.ContainsFunc(m.Quarantine, func(h quarantinedReport) bool { return isVoided(h.Seq) }) ||
		slices.ContainsFunc(m.QuarantineCores, func(h quarantinedCores) bool { return isVoided(h.Seq) }) ||
		slices.ContainsFunc(m.KnownKills, func(k knownKill) bool { return isVoided(k.Seq) })
}

const (
	maxResidualRows = 6000 // of a bulk, only so many newest rows are asked about before they are told
	bulkGrowth      = 1.5

	neverThinned = 4000 // newest rows, of any history
)

// dueInBulk reports whether a bulk of history has grown enough for a fit.
func (m *Model) isBulkFitDue() bool {
	return !m.inBurnIn() && float64(m.Experts.Told) >= bulkGrowth*float64(max(m.Fitted, 20))
}

// skim takes in an old row of a bulk, of which no honest residual is wanted.
func (m *Model) learnRange(t *TrainingRow) {
	m.countTry(t)
	if t.Censoring == sizing.Exact {
		if m.quarantineOld(t) {
			return
		}
		m.widenRange(t.Peak)
		m.Experts.Told++
		m.Experts.MaxPeak = max(m.Experts.MaxPeak, float64(t.Peak))
	}
}

// refit fits the models on rows of a history.
func (m *Model) refit(h *sizing.History, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	fit := m.winsorise(rows)
	fitted, err := fitModels(&h.Schema, fit, m.Models, m.Trees, seedOf(m.Experts.Told))
	if err != nil {
		return fmt.Errorf("fit %d rows: %w", len(rows), err)
	}
	if !m.Experts.Young() {
		fitted.settleDrift(fit)
		m.moveResiduals(fitted, fit)
	}
	m.Models, m.Fitted = fitted, m.Experts.Told
	m.learnPending()
	if m.inBurnIn() {
		m.EarlyRows = rows
	}
	return nil
}

// rowsOf are the rows to fit: the measured ones, and the censored ones at what is
// likely of them (regression with censored data by imputation, Buckley & James
// 1979): an OOM that no success of its run explains at its bound or above, a
// success without a peak at its allocation or below.
func (m *Model) rowsOf(h *sizing.History, n int) []row {
	known := make(map[int64]outOfSample, len(m.OutOfSample))
	for _, e := range m.OutOfSample {
		known[e.Seq] = e
	}
	quarantinedRows, previous, quarantinedCPU := m.quarantinedSeqs(), h.Schema.PreviousSameName(), m.quarantinedCoreSeqs()
	explained := successes(h.Rows[:n], quarantinedRows)
	rows := make([]row, 0, n)
	for i := range h.Rows[:n] {
		r := &h.Rows[i]
		bytes, censoring := r.Peak()
		if censoring == sizing.NoPeak || bytes > maxPossible || quarantinedRows[r.Seq] || isTooSmall(bytes, censoring, r.Allocated.Memory, r.Requested.Memory) || censoring == sizing.AtLeast && explained[runOf(r)] {
			continue
		}
		next := row{
			Cells: cellsOf(&h.Schema, previous, r.Features), Peak: math.Max(1, float64(bytes)),
			Seconds: secondsOf(r.Duration), Cores: fittedCores(r, quarantinedCPU), Weight: max(r.Weight, 1), Residual: math.NaN(),
		}
		if r.Seq < m.Changed {
			next.Weight *= staleWeight
		}
		if before, ok := known[r.Seq]; ok {
			next.Residual, next.Granted = before.Residual, before.Granted
		}
		if next.Imputed = censoring != sizing.Exact; next.Imputed && !m.impute(&next, censoring) {
			continue
		}
		rows = append(rows, next)
	}
	return rows
}

// impute puts a censored row at what the last models say of it, within its bound;
// without models only a lower bound is of use.
func (m *Model) impute(r *row, censoring sizing.Censoring) bool {
	if m.Models == nil || m.Models.ridges == nil {
		r.Peak *= killedPeakFactor
		return censoring == sizing.AtLeast
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	m.Models.predict(padded(r.Cells, len(m.Models.Enc.Columns)), &p, b)
	level := math.Exp(p.Level[experts.LineTrees])
	if censoring == sizing.AtLeast {
		r.Peak = max(r.Peak*killedPeakFactor, level)
	} else {
		if r.Peak*missFactor < level {
			return false // an allocation that low names a wrong unit
		}
		r.Peak = min(r.Peak, level)
		r.Weight *= atMostWeight
	}
	return true
}

const (
	killedPeakFactor = 1.2 // the peak of a killed try is above its bound, by who knows what
	staleWeight      = 0.2 // a row from before the task changed
	atMostWeight     = 0.5 // a row that only says "not more" is half a row
)

// run names one (run, map index).
type run struct {
	id       string
	mapIndex int
}

func runOf(r *sizing.HistoryRow) run { return run{r.RunID, r.MapIndex} }

// successes are the runs whose peak was measured in the end, and is not held back.
func successes(rows []sizing.HistoryRow, quarantinedRows map[int64]bool) map[run]bool {
	ended := map[run]bool{}
	for i := range rows {
		if _, censoring := rows[i].Peak(); censoring == sizing.Exact && !quarantinedRows[rows[i].Seq] {
			ended[runOf(&rows[i])] = true
		}
	}
	return ended
}

// cellsOf decodes a stored row, in the order of the schema. A field that the row is too
// old to have is read from the field of the same name before it; twins are schema.PreviousSameName().
func cellsOf(schema *sizing.Schema, previous []int, codes []float64) []sizing.Value {
	cells := make([]sizing.Value, len(schema.Fields))
	for j := range cells {
		switch {
		case j < len(codes):
			cells[j] = schema.Fields[j].Value(codes[j])
		case previous != nil && previous[j] >= 0:
			cells[j] = schema.Fields[j].ReadStored(cells[previous[j]])
		}
	}
	return cells
}
