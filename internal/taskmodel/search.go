package taskmodel

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/tune"
	"github.com/loadaware/loadaware/internal/sizing"
)

// TreeParams are the parameters of a task's trees that Search found. The zero value means the
// defaults of treeConfig.
type TreeParams struct {
	Rounds       int // number of trees
	LearningRate float64
	MaxDepth     int
	Subsample    float64 // share of the rows drawn in every round
	MinLeafRows  int     // smallest number of rows in a leaf
}

// config replaces the parameters of treeConfig by those of t, unless t is zero.
func (t TreeParams) config(rows int, seed uint64) gbt.Config {
	c := treeConfig(rows, seed)
	if t == (TreeParams{}) {
		return c
	}
	c.Rounds, c.LearningRate, c.MaxDepth, c.Subsample = t.Rounds, t.LearningRate, t.MaxDepth, t.Subsample
	c.MinLeafRows = max(1, min(t.MinLeafRows, rows/8)) // a task may have fewer rows now than Search had
	return c
}

// treeSpace bounds the parameters that a search tries. The gain of more rounds or deeper trees would not justify slower
// answers and larger models.
var treeSpace = tune.Space{
	{Name: "rounds", Low: 30, High: 240, Log: true, Integer: true},
	{Name: "learning rate", Low: 0.02, High: 0.3, Log: true},
	{Name: "depth", Low: 2, High: 8, Integer: true},
	{Name: "subsample", Low: 0.4, High: 1},
	{Name: "rows of a leaf", Low: 1, High: 40, Log: true, Integer: true},
}

func treeParamsAt(params []float64) TreeParams {
	return TreeParams{
		Rounds: int(params[0]), LearningRate: params[1], MaxDepth: int(params[2]), Subsample: params[3], MinLeafRows: int(params[4]),
	}
}

const (
	minSearchRows = 200  // measured rows from which the differences between trials are more than chance
	maxSearchRows = 4000 // newest rows that a search uses
	searchTrials  = 24   // number of parameter sets that a search tries, besides the default and the one in use
	compareFrom   = 0.4  // trials are compared on the rows after this share of the history
	confirmFrom   = 0.75 // and before this share; the best trial is confirmed on the rows after it
	refitShare    = 0.1  // share of the rows between two fits, so that the result depends on several fits
	searchMargin  = 0.1  // smallest relative reduction of the waste on the newest rows with which the best trial passes
)

// SearchResult is the outcome of a search. Use Trees only if Evaluation.Passed is true.
type SearchResult struct {
	Trees      TreeParams
	Evaluation Evaluation
}

// Search looks for better tree parameters of a task by replaying its history in order,
// with an out-of-sample prediction for each row:
//
//	learned │ compared: least error of the trials │ confirmed: found versus in use
//	oldest ─────────────────────────────── time ───────────────────────────────▶ newest
//
// It compares the trials by the root mean square of their out-of-sample log residuals. The waste of the grants depends on
// single kills: on the heavy tasks of a retail trace, the error on the compared rows predicts the error and the waste on the
// newest rows better than the waste on the compared rows does.
//
// The grants on the newest rows, which the trials do not use, confirm the best trial. It passes if its grants waste less, by
// searchMargin, than those with the parameters in use and than the champion's own answers. Its share of kills may exceed
// theirs, or the default risk target if that is larger, only by chance.
//
// Search does not modify `champion`. It checks ctx before each trial, and it is deterministic.
func Search(ctx context.Context, h *sizing.History, champion *Model) (SearchResult, error) {
	s := newSearch(champion.Sampling.raiseHistory(h), champion.Trees)
	if s.measured < minSearchRows {
		return SearchResult{Evaluation: Evaluation{Reason: fmt.Sprintf("a search needs %d runs with a measured peak: there are %d", minSearchRows, s.measured)}}, nil
	}
	found, err := s.find(ctx)
	if err != nil {
		return SearchResult{}, err
	}
	if found == s.inUse {
		return SearchResult{Trees: found, Evaluation: Evaluation{Reason: "a search found no better trees than those in use"}}, nil
	}
	return s.confirm(found, champion)
}

type search struct {
	h           *sizing.History
	from, until int        // trials are compared on h.Rows[from:until]
	every       int        // number of rows between two fits
	measured    int        // number of rows with a measured peak
	inUse       TreeParams // parameters of the champion
}

func newSearch(h *sizing.History, inUse TreeParams) *search {
	part := *h
	part.Rows = h.Rows[max(0, len(h.Rows)-maxSearchRows):]
	part.LastSeq = 0 // the models of a search learn only a part of the rows
	n := float64(len(part.Rows))
	s := &search{h: &part, from: int(compareFrom * n), until: int(confirmFrom * n), every: max(1, int(refitShare*n)), inUse: inUse}
	for i := range part.Rows {
		if _, censoring := part.Rows[i].Peak(); censoring == sizing.Exact {
			s.measured++
		}
	}
	return s
}

// find tries the parameters in use, the default, and searchTrials others.
func (s *search) find(ctx context.Context) (TreeParams, error) {
	best, least := s.inUse, math.Inf(1)
	try := func(t TreeParams) (float64, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		rows, err := s.replay(t, s.from, s.until)
		if err != nil {
			return 0, err
		}
		loss := residualRMS(rows)
		if loss < least {
			best, least = t, loss
		}
		return loss, nil
	}
	for _, t := range []TreeParams{s.inUse, {}} {
		if _, err := try(t); err != nil {
			return best, err
		}
	}
	_, err := tune.Bayes(treeSpace, searchTrials, seedOf(s.measured), func(params []float64) (float64, error) { return try(treeParamsAt(params)) })
	return best, err
}

// residualRMS ignores NaN; it returns +Inf if there is no residual.
func residualRMS(rows []row) float64 {
	sum, n := 0.0, 0.0
	for i := range rows {
		if r := rows[i].Residual; !math.IsNaN(r) {
			sum, n = sum+r*r, n+1
		}
	}
	if n == 0 {
		return math.Inf(1)
	}
	return math.Sqrt(sum / n)
}

// replay learns s.h.Rows[:from] with the parameters t, then predicts and learns each row until `until`, with fits at regular
// intervals. It returns the predicted rows that have a measured peak.
func (s *search) replay(t TreeParams, from, until int) ([]row, error) {
	m, before := New(), *s.h
	m.Trees = t
	before.Rows = s.h.Rows[:from]
	if _, err := m.learnNewRows(&before, m.hasGrown); err != nil { // with few fits, because a search has many trials
		return nil, err
	}
	for i := from; i < until; i++ {
		if (i-from)%s.every == 0 {
			if err := m.refit(s.h, m.rowsOf(s.h, i)); err != nil {
				return nil, err
			}
		}
		m.Learn(NewTrainingRow(&s.h.Schema, &s.h.Rows[i]))
	}
	return s.outOfSampleRows(m, from, until), nil
}

// outOfSampleRows returns the measured rows, with the residuals and the grants that m recorded before it learned them.
func (s *search) outOfSampleRows(m *Model, from, until int) []row {
	part := *s.h
	part.Rows = s.h.Rows[from:until]
	return withoutImputed(m.rowsOf(&part, len(part.Rows)))
}

func (s *search) confirm(found TreeParams, champion *Model) (SearchResult, error) {
	n := len(s.h.Rows)
	newest := s.outOfSampleRows(champion, s.until, n)
	e := Evaluation{Rows: len(newest), FittedOn: s.measured - len(newest)}
	challenger, err := s.replay(found, s.until, n)
	if err != nil {
		return SearchResult{}, err
	}
	inUse, err := s.replay(s.inUse, s.until, n)
	if err != nil {
		return SearchResult{}, err
	}
	e.addCandidate("challenger", challenger, championLadder)
	e.addCandidate("trees in use", inUse, championLadder)
	e.addCandidate(championName, newest, championLadder)
	e.judgeSearch(found)
	return SearchResult{Trees: found, Evaluation: e}, nil
}

// judgeSearch expects the parameters found to be the first candidate. They pass if they clearly beat every other one.
func (e *Evaluation) judgeSearch(found TreeParams) {
	if len(e.Candidates) < 2 {
		e.Reason = "a search could not be confirmed: none of the newest runs has a measured peak"
		return
	}
	challenger := e.Candidates[0]
	chance := 3 * math.Sqrt(sizing.DefaultRiskTarget/float64(e.Rows)) // three standard deviations of the share of kills at the risk target
	for _, other := range e.Candidates[1:] {
		if challenger.Waste > (1-searchMargin)*other.Waste || challenger.Killed > max(sizing.DefaultRiskTarget, other.Killed)+chance {
			e.Reason = fmt.Sprintf("a search found no better trees: on the newest %d runs they waste %.2f times the used memory, %.1f %% killed; %s %.2f, %.1f %%",
				e.Rows, challenger.Waste, 100*challenger.Killed, other.Name, other.Waste, 100*other.Killed)
			return
		}
	}
	e.Passed = true
	e.Reason = fmt.Sprintf("a search found better trees (%v): on the newest %d runs they waste %.2f times the used memory, those in use %.2f",
		found, e.Rows, challenger.Waste, e.Candidates[1].Waste)
}

// String describes the parameters for people.
func (t TreeParams) String() string {
	if t == (TreeParams{}) {
		return "the default"
	}
	return fmt.Sprintf("%d of depth %d, rate %.2g, %.0f %% of the rows each, at least %d in a leaf", t.Rounds, t.MaxDepth, t.LearningRate, 100*t.Subsample, t.MinLeafRows)
}

// Fit learns the whole history from scratch with the parameters found, so that the margins belong to the new trees. It has
// the signature of the function Fit, in whose place it is called, and ignores the champion.
func (r SearchResult) Fit(h *sizing.History, _ *Model) (*Model, Outcome, error) {
	m := New()
	m.Trees, m.LastEvaluation = r.Trees, r.Evaluation
	challenger, outcome, err := Fit(h, m)
	outcome.Reason = cmp.Or(r.Evaluation.Reason, outcome.Reason)
	return challenger, outcome, err
}
