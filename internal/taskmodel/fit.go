package taskmodel

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Outcome reports what a Fit did.
type Outcome struct {
	Trained    bool       // false if there is no model, because no measured peak was learned; true even if the challenger lost its evaluation
	Reason     string     // number of reported tries (which the text calls runs) and the result of an evaluation, or why there is no model
	Evaluation Evaluation // the last evaluation; zero before the first

	Warnings []string // about parts of the history that the model cannot use
}

// Fit updates a task's champion, the model that answers, with the task's history and refits the models on the whole
// history. The result is the challenger. A nil champion starts a new model. Fit returns a nil Model if no measured peak was
// learned, or if the challenger loses its evaluation; Outcome.Reason says which. Then the stored champion stays in use.
// There are three exceptions. Without a valid champion, Fit returns even a challenger that loses. If the challenger loses
// against models that Fit itself has fitted on a part of the rows, Fit returns the last of these (see evaluateIfDue). In
// place of a champion that is not valid, Fit returns a model even without a measured peak. A champion is not valid if it
// learned a report that was deleted later (/observe/void), or peaks that were raised with outdated factors (sampling.go). Nor is
// it valid if it lacks many peaks (awaited.go), if many peaks have arrived late (late.go), or if other runs count as starved now
// than when it learned them (starvation.go).
// Fit modifies champion itself, so the caller must not use champion afterwards.
//
// Fit first learns, in the order of the history, the rows that the champion has not learned yet, so that
// their residuals are out of sample. Between these rows Fit refits the models at scheduled row counts (nextFit). With a
// long backlog of such rows, Fit refits models of many rows only each time their number has grown by a third (bulkGrowth).
func Fit(h *sizing.History, champion *Model) (*Model, Outcome, error) {
	return train(h, champion, true)
}

// Update is Fit without the final fit on all rows: it fits only at the scheduled row counts, except if there are no fitted
// models yet. If all fits come from Update and no backlog was long, the model depends only on the history, and not on the
// times of earlier calls; see IsFitDue.
func Update(h *sizing.History, champion *Model) (*Model, Outcome, error) {
	return train(h, champion, false)
}

// train implements Fit (fitsAll is true) and Update.
func train(h *sizing.History, champion *Model, fitsAll bool) (*Model, Outcome, error) {
	m := champion
	learnedSampling := samplingOf(h.Task, h.Pairs)
	var starved starvation
	changesStarved := false
	if m != nil {
		m.leavePool()
		starved = m.findStarvation(h, &learnedSampling)
		changesStarved = !slices.Equal(starved.Rows, m.Starvation.Rows)
		h = starved.withoutStarved(h)
	}
	discardsChampion := false // the champion is not valid, see Fit
	switch {
	case m == nil:
		m = New()
	case changesStarved, m.learnedVoided(h), m.Experts.LearnedRows > 0 && learnedSampling.invalidates(&m.Sampling, h), m.hasManyUnlearnedPeaks(m.rowsInUse(h)), m.isOutOfOrder(m.rowsInUse(h)):
		discardsChampion = true
		m = New()
		m.Trees, m.fits = champion.Trees, champion.fits
		// The margins that were learned from a voided report, or with outdated factors from sampled to true peaks
		// (sampling.go), cannot be unlearned. Margins that lack many peaks (awaited.go), or that were learned from the newest
		// runs first (late.go), may be far too narrow or too wide. The peaks of starved runs (starvation.go) cannot be
		// unlearned either.
		champion = nil
	}
	m.Sampling, m.Starvation = learnedSampling, starved
	whole := m.Sampling.raiseHistory(h)
	firstFit, err := m.learnNewRows(m.rowsInUse(whole), nil)
	if err != nil {
		return nil, Outcome{}, err
	}
	isDue := m.IsFitDue() // the champion learned its newest rows through Learn, without the fit that is now due
	relearned, err := m.relearn(m.rowsInUse(whole))
	if err != nil {
		return nil, Outcome{}, err
	}
	fitsAll = fitsAll || isDue && !relearned
	h = m.rowsInUse(whole)
	m.releaseGranted(h)
	if m.Experts.LearnedRows == 0 {
		if discardsChampion { // an empty model replaces the champion, which is not valid and would otherwise stay in use
			m.rebuildKills(whole)
			return m, Outcome{Trained: true, Reason: "no run with a measured peak is left"}, nil
		}
		return nil, Outcome{Reason: "no run has a measured peak yet: report memory_max_bytes with a success"}, nil
	}
	if !fitsAll && m.Models != nil {
		return m.finishUpdate(whole, champion != nil, firstFit)
	}
	return m.evaluateAndFit(whole, champion != nil, firstFit)
}

func (m *Model) learnedFrom(h *sizing.History) string {
	text := "learned from " + countRuns(h.Total)
	if m.Relearned != 0 {
		text += " since a new feature appeared"
	}
	return text
}

// finishUpdate completes an Update that needs no final fit. firstFit is the result of learnNewRows: if it is positive, an
// evaluation may be due.
func (m *Model) finishUpdate(whole *sizing.History, hasChampion bool, firstFit int) (*Model, Outcome, error) {
	h := m.rowsInUse(whole)
	out := Outcome{Trained: true, Reason: m.learnedFrom(h), Evaluation: m.LastEvaluation}
	if firstFit > 0 {
		_, lost, err := m.evaluateIfDue(h, m.rowsOf(h, len(h.Rows)), hasChampion, firstFit, &out)
		if err != nil || lost {
			return nil, out, err
		}
	}
	return m.finishModel(whole, out)
}

// learnNewRows learns, in order, the rows that newRows returns, and refits the models on the learned rows when isFitDue
// says so; nil means the rule for a backlog of this length. firstFit is the number of measured rows at the first of these fits;
// 0: none.
func (m *Model) learnNewRows(h *sizing.History, isFitDue func() bool) (firstFit int, err error) {
	m.Schema = h.Schema.WithoutCategories()
	for i := range m.EarlyRows { // the schema may have gained fields since these rows
		m.EarlyRows[i].Cells = padCells(m.EarlyRows[i].Cells, len(m.Schema.Fields))
	}
	first, lastSeq := max(0, len(h.Rows)-maxResidualRows), m.LastSeq
	late, _ := m.latePeaks(h)
	m.Late += late
	rows := m.newRows(h)
	switch {
	case isFitDue != nil:
	case m.isLongBacklog(len(rows)):
		isFitDue = m.isBulkFitDue
	default:
		isFitDue = m.IsFitDue
	}
	for k, i := range rows {
		t := NewTrainingRow(&h.Schema, &h.Rows[i])
		t.Amends = t.Seq <= lastSeq
		if i < first && !m.isEarly() {
			m.learnRange(&t)
			continue
		}
		m.Learn(t)
		fits := isFitDue()
		if !fits && !m.isRelearnDue() {
			continue
		}
		learned := m.rowsInUse(learnedPart(h, rows[k+1:], lastSeq))
		relearned, err := m.relearn(learned)
		if err != nil {
			return 0, err
		}
		if fits && !relearned {
			if err := m.refit(h, m.rowsOf(learned, len(learned.Rows))); err != nil {
				return 0, err
			}
			firstFit = cmp.Or(firstFit, m.Experts.LearnedRows)
		}
	}
	m.LastSeq = max(m.LastSeq, h.LastSeq)
	h = m.rowsInUse(h)
	m.Oldest = oldestPeak(h)
	m.rebuildAwaited(h)
	m.Unlearned = m.unlearnedPeaks(h)
	return firstFit, nil
}

// newRows returns the indices in h of the rows whose try or peak the model has not learned. They include rows that the model
// learned before their peak was known.
func (m *Model) newRows(h *sizing.History) []int {
	var rows []int
	for i := range h.Rows {
		r := &h.Rows[i]
		if _, censoring := r.Peak(); r.Seq > m.LastSeq || censoring.HasPeak() && m.Awaits(r.Seq) {
			rows = append(rows, i)
		}
	}
	return rows
}

// learnedPart returns h as the model has learned it so far: without the unlearned rows after row lastSeq, and with the other
// unlearned rows as they were before their peaks were added.
func learnedPart(h *sizing.History, unlearned []int, lastSeq int64) *sizing.History {
	learned := *h
	learned.Rows = make([]sizing.HistoryRow, 0, len(h.Rows))
	from := 0
	for _, i := range unlearned {
		learned.Rows = append(learned.Rows, h.Rows[from:i]...)
		if before := h.Rows[i]; before.Seq <= lastSeq {
			before.MemoryMax, before.MemorySampled = 0, 0
			learned.Rows = append(learned.Rows, before)
		}
		from = i + 1
	}
	learned.Rows = append(learned.Rows, h.Rows[from:]...)
	return &learned
}

func (m *Model) evaluateAndFit(whole *sizing.History, hasChampion bool, firstFit int) (*Model, Outcome, error) {
	h := m.rowsInUse(whole)
	out := Outcome{Trained: true, Reason: m.learnedFrom(h), Evaluation: m.LastEvaluation}
	rows := m.rowsOf(h, len(h.Rows))
	keepsFit, lost, err := m.evaluateIfDue(h, rows, hasChampion, firstFit, &out)
	if err != nil || lost {
		return nil, out, err
	}
	if !keepsFit && (m.FitKey == 0 || m.FitKey != fitKey(rows)) {
		if err := m.refit(h, rows); err != nil {
			return nil, Outcome{}, err
		}
	}
	return m.finishModel(whole, out)
}

// evaluateIfDue runs the evaluation on rows if it is due, and adds the result to out. firstFit is the result of
// learnNewRows. The answers of the champion in the holdout may all come from the fits of learnNewRows and none from the
// stored champion. A challenger that loses against such answers does not lose against the stored champion: keepsFit is then
// true, and the last of these fits is published. `lost` is true if the challenger loses in any other case and a champion is
// stored, which then stays in use.
func (m *Model) evaluateIfDue(h *sizing.History, rows []row, hasChampion bool, firstFit int, out *Outcome) (keepsFit, lost bool, err error) {
	exact := withoutImputed(rows)
	if !m.isEvaluationDue(len(exact)) {
		return false, false, nil
	}
	evaluation, err := m.evaluate(h, exact)
	if err != nil {
		*out = Outcome{}
		return false, false, err
	}
	m.LastEvaluation, out.Evaluation = evaluation, evaluation
	out.Reason += "; " + evaluation.Reason
	switch {
	case evaluation.Passed:
	case !hasChampion:
		out.Reason += "; published nevertheless because there is no valid champion"
	case firstFit > 0 && firstFit <= evaluation.FittedOn && evaluation.better().Name == championName:
		out.Reason += fmt.Sprintf("; published with the fit at %d runs instead", m.Fitted)
		return true, false, nil
	default:
		return false, true, nil
	}
	return false, false, nil
}

// finishModel computes the parts of the model that depend on the whole history, and the warnings.
func (m *Model) finishModel(whole *sizing.History, out Outcome) (*Model, Outcome, error) {
	if err := m.describe(m.rowsInUse(whole)); err != nil {
		return nil, Outcome{}, err
	}
	m.rebuildKills(whole) // also kills before the row Relearned say what a run with the same features needs
	for _, warning := range []string{m.describeRetired(), m.Understatement.warning(), m.Resumed.warning(), m.Starvation.warning()} {
		if warning != "" {
			out.Warnings = append(out.Warnings, warning)
			out.Reason += "; " + warning
		}
	}
	return m, out, nil
}

// learnedVoided reports whether the model has learned a report that was voided (deleted) later. h lacks the row of such a
// report, and the effect of the report on the margins cannot be undone. A thinned history contains only a sample of its old
// rows. It also lacks old rows that were not voided, so only its newest rows are checked: those that arrived after all
// old rows.
func (m *Model) learnedVoided(h *sizing.History) bool {
	seqs := make([]int64, len(h.Rows))
	for i := range h.Rows {
		seqs[i] = h.Rows[i].Seq
	}
	slices.Sort(seqs)
	from := int64(0)
	if h.Total > len(h.Rows) {
		for i := range h.Rows[:max(0, len(h.Rows)-neverThinned)] {
			from = max(from, h.Rows[i].Seq+1)
		}
	}
	isVoided := func(seq int64) bool {
		_, found := slices.BinarySearch(seqs, seq)
		return seq >= from && !found
	}
	return slices.ContainsFunc(m.OutOfSample, func(e outOfSample) bool { return isVoided(e.Seq) }) ||
		slices.ContainsFunc(m.Unpredicted, isVoided) ||
		slices.ContainsFunc(m.Pending, func(p pendingRow) bool { return isVoided(p.Seq) }) ||
		m.Levels.Candidate != nil && isVoided(m.Levels.Candidate.Row.Seq) ||
		slices.ContainsFunc(m.Levels.Fall, func(f fallRow) bool { return isVoided(f.Row.Seq) }) ||
		slices.ContainsFunc(m.Quarantine, func(r quarantinedReport) bool { return isVoided(r.Seq) }) ||
		slices.ContainsFunc(m.QuarantineCores, func(c quarantinedCores) bool { return isVoided(c.Seq) }) ||
		slices.ContainsFunc(m.KnownKills, func(k knownKill) bool { return isVoided(k.Seq) })
}

const (
	maxResidualRows = 6000 // number of newest rows of a long history that get an out-of-sample residual; more would make imports slower
	neverThinned    = 4000 // number of newest rows that a thinned history contains for certain; must not exceed store.DefaultHistoryLimits.Recent
)

// learnRange learns an old row of a long history without a residual of the peak.
func (m *Model) learnRange(t *TrainingRow) {
	m.countTry(t)
	if t.Censoring == sizing.Exact {
		if m.quarantineOld(t) {
			return
		}
		m.widenRange(t.Peak)
		m.Experts.LearnedRows++
		m.Experts.MaxPeak = max(m.Experts.MaxPeak, float64(t.Peak))
	}
}

func (m *Model) refit(h *sizing.History, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	// withoutIsolated must come first: it finds numbers whose runs have a small peak, and winsorise raises small peaks.
	fit := m.winsorise(withoutIsolated(rows))
	previous := m.Models
	forgetsLevels := slices.ContainsFunc(rows, func(r row) bool { return r.Unmoved })
	if previous != nil && (forgetsLevels || m.levelsMoveWithFit()) {
		previous = previous.withoutRows()
	}
	fitted, err := fitModels(&h.Schema, fit, previous, m.Trees, seedOf(m.Experts.LearnedRows), m.fits, &m.ablated)
	if err == nil && fitted.hasStep() && m.Models != nil && !m.Models.hasStep() {
		// The current models lack the step, so what is a low outlier to them may be a usual run.
		fit = withoutIsolated(rows)
		fitted, err = fitModels(&h.Schema, fit, previous, m.Trees, seedOf(m.Experts.LearnedRows), m.fits, &m.ablated)
	}
	if err != nil {
		return fmt.Errorf("fit %d rows: %w", len(rows), err)
	}
	if !m.Experts.IsColdStart() {
		fitted.reduceDrift(fit)
		m.moveResiduals(fitted, fit)
	}
	m.learnCycles(fitted, fit)
	if forgetsLevels {
		m.Levels.forgetAlternation()
	}
	m.useModels(fitted, fitKey(rows))
	if forgetsLevels {
		m.relearnUnmoved(rows)
	}
	if m.isEarly() {
		m.EarlyRows = rows
	}
	return nil
}

// useModels replaces the models by newly fitted ones. `key` is the fitKey of their rows; 0: unknown.
func (m *Model) useModels(fitted *models, key uint64) {
	if m.Models != nil && !groupsAlike(m.Models.RecurringColumns, fitted.RecurringColumns) {
		m.Experts.ForgetPartialRepeats()
	}
	m.Models, m.Fitted, m.Reproduced, m.FitKey = fitted, m.Experts.LearnedRows, 0, key
	m.Levels.settle()
	m.DurationLevels.Level.Unfitted = 0
	m.learnPending()
}

// rowsOf returns the rows to fit among the first n: the measured rows, and the censored rows with
// an imputed peak (Buckley & James 1979). An OOM kill is right-censored; it is left out if a success of the
// same run has a measured peak. A success without a measured peak is left-censored. Rows in quarantine, rows that
// holdsBack holds back, and peaks that are too large or too small to be real are left out, too.
func (m *Model) rowsOf(h *sizing.History, n int) []row {
	h = m.Resumed.raiseHistory(h)
	known := make(map[int64]outOfSample, len(m.OutOfSample))
	for _, e := range m.OutOfSample {
		known[e.Seq] = e
	}
	quarantinedRows, previous, quarantinedCPU := m.quarantinedSeqs(), h.Schema.PreviousSameName(), m.quarantinedCoreSeqs()
	explained := successes(h.Rows[:n], quarantinedRows)
	isStale, moved, aligned := m.beforeChange(h), m.alignment(h, m.Levels.Changes), m.alignment(h, m.Levels.keptChanges(h))
	seconds := m.DurationLevels.Level.align(h)
	rows, dagRuns := make([]row, 0, n), make([]uint64, 0, n)
	for i := range h.Rows[:n] {
		r := &h.Rows[i]
		bytes, censoring := m.peakOf(r)
		if m.Levels.isCandidate(r.Seq) || censoring == sizing.NoPeak || censoring == sizing.OwnLimit || bytes > maxPossible || quarantinedRows[r.Seq] || isTooSmall(bytes, censoring, r.Allocated.Memory, r.Requested.Memory) || censoring == sizing.AtLeast && explained[runOf(r)] {
			continue
		}
		next := row{
			Cells: cellsOf(&h.Schema, previous, r.Features), Peak: math.Max(1, aligned(i, float64(bytes))),
			Seconds: seconds(i, secondsOf(r.Duration)), Untimed: r.Duration <= 0, Cores: fittedCores(r, quarantinedCPU), Weight: max(r.Weight, 1), Residual: math.NaN(), At: cmp.Or(StartOf(r.StartedAt), r.At.Unix()),
		}
		next.Unmoved = isMoved(next.Peak, moved(i, float64(bytes)))
		if isStale(i) {
			next.Weight *= staleWeight
		}
		if before, ok := known[r.Seq]; ok {
			next.Residual, next.Granted = before.Residual, aligned(i, before.Granted)
		}
		if next.Imputed = censoring != sizing.Exact; next.Imputed && !m.impute(&next, censoring) {
			continue
		}
		rows, dagRuns = append(rows, next), append(dagRuns, sizing.DAGRunHash(r.RunID, r.MapIndex))
	}
	m.setRepeated(rows, dagRuns)
	return rows
}

// beforeChange returns a function that reports whether row i of h lies before the last change of the task. Rows may have
// arrived out of order, so their numbers decide only if h lacks the first row after the change.
func (m *Model) beforeChange(h *sizing.History) func(i int) bool {
	changed := indexOf(h, m.Changed)
	if changed < 0 {
		return func(i int) bool { return h.Rows[i].Seq < m.Changed }
	}
	return func(i int) bool { return i < changed }
}

// impute replaces a censored peak by the prediction of the current models, within the bound of the row. It returns false if
// the row cannot be used: without models an upper bound says too little, and an upper bound far below the prediction is
// probably in the wrong unit.
func (m *Model) impute(r *row, censoring sizing.Censoring) bool {
	if m.Models == nil || m.Models.ridges == nil {
		r.Peak *= KilledPeakFactor
		return censoring == sizing.AtLeast
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	m.Models.predict(padCells(r.Cells, len(m.Models.Enc.Columns)), &p, b)
	m.Levels.shiftToNewest(&p)
	predicted := math.Exp(p.Level[experts.LineTrees])
	if censoring == sizing.AtLeast {
		r.Peak = max(r.Peak*KilledPeakFactor, predicted)
	} else {
		if r.Peak*missFactor < predicted {
			return false
		}
		r.Peak = min(r.Peak, predicted)
		r.Weight *= atMostWeight
	}
	return true
}

// KilledPeakFactor is the smallest assumed ratio of the peak of a killed try to its allocation. A larger one raises later
// grants more.
const KilledPeakFactor = 1.2

const (
	staleWeight  = 0.2 // factor on the weight of a row from before the last change of the task (Model.Changed)
	atMostWeight = 0.5 // factor on the weight of a row with only an upper bound, which is weaker evidence than a peak
)

// run identifies a run, or one mapped instance of a run.
type run struct {
	id       string
	mapIndex int
}

func runOf(r *sizing.HistoryRow) run { return run{r.RunID, r.MapIndex} }

func successes(rows []sizing.HistoryRow, quarantinedRows map[int64]bool) map[run]bool {
	ended := map[run]bool{}
	for i := range rows {
		if _, censoring := rows[i].Peak(); censoring == sizing.Exact && !quarantinedRows[rows[i].Seq] {
			ended[runOf(&rows[i])] = true
		}
	}
	return ended
}

// cellsOf decodes the codes of a stored row to values in the order of the schema. If the row was stored before the schema
// had a field, the value comes from the previous field of the same name. `previous` is
// schema.PreviousSameName().
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
