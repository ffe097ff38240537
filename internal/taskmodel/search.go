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

// Trees are the tree parameters of a task's point models, as found by Search. The zero value
// means treeConfig.
type Trees struct {
	Rounds       int
	LearningRate float64
	MaxDepth     int
	Subsample    float64 // share of the rows drawn in every round
	MinLeafRows  int
}

// config returns treeConfig with the parameters that Search found.
func (t Trees) config(rows int, seed uint64) gbt.Config {
	c := treeConfig(rows, seed)
	if t == (Trees{}) {
		return c
	}
	c.Rounds, c.LearningRate, c.MaxDepth, c.Subsample = t.Rounds, t.LearningRate, t.MaxDepth, t.Subsample
	c.MinLeafRows = max(1, min(t.MinLeafRows, rows/8)) // a task may have fewer rows now than Search had
	return c
}

// treeSpace is the search space. More rounds or deeper trees would make answers slower and models
// larger than the gain justifies.
var treeSpace = tune.Space{
	{Name: "rounds", Low: 30, High: 240, Log: true, Whole: true},
	{Name: "learning rate", Low: 0.02, High: 0.3, Log: true},
	{Name: "depth", Low: 2, High: 8, Whole: true},
	{Name: "subsample", Low: 0.4, High: 1},
	{Name: "rows of a leaf", Low: 1, High: 40, Log: true, Whole: true},
}

// treesAt converts a point of treeSpace.
func treesAt(params []float64) Trees {
	return Trees{
		Rounds: int(params[0]), LearningRate: params[1], MaxDepth: int(params[2]), Subsample: params[3], MinLeafRows: int(params[4]),
	}
}

const (
	minSearchRows = 200  // measured rows before a search can distinguish parameters from chance
	maxSearchRows = 4000 // newest rows to search on
	searchTrials  = 24
	compareFrom   = 0.4  // share of the rows after which trials are compared …
	confirmFrom   = 0.75 // … and after which the best one is confirmed
	refitShare    = 0.1  // of the rows between two fits, so that no single fit decides
	searchMargin  = 0.1  // reduction of waste on the newest rows that a new parameter set needs
)

// SearchResult is the outcome of a search. Use Trees if Evaluation.Passed.
type SearchResult struct {
	Trees      Trees
	Evaluation Evaluation
}

// Search looks for better tree parameters of a task by replaying its history in order,
// with an out-of-sample prediction for each row:
//
//	learned │ compared: least error of 24 trials │ confirmed: found versus in use
//	oldest ─────────────────────────────── time ───────────────────────────────▶ newest
//
// The trials are compared by the root mean square of their out-of-sample log residuals, not by
// the waste of the decision rule, which depends on single kills. For 26 draws on the heavy tasks
// of a retail trace, the errors on the compared and on the newest rows correlate by 0.98, and
// with the newest rows' waste by 0.65 and 0.68; the wastes of the two parts by 0.62 and 0.40. The
// decision rule confirms the result on the newest rows, which the trials do not use: it passes if
// it wastes searchMargin less than both the parameters in use and the champion's own answers, and
// is killed no more often than they are or than the target, except by chance.
//
// A search does not modify champion. It takes 24 fits of at most 4,000 rows, checks ctx between
// two fits, and is deterministic.
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

// search is a history split into three parts.
type search struct {
	h           *sizing.History
	from, until int // rows to compare on
	every       int // rows between fits
	measured    int
	inUse       Trees
}

// newSearch splits the newest rows of a history.
func newSearch(h *sizing.History, inUse Trees) *search {
	part := *h
	part.Rows = h.Rows[max(0, len(h.Rows)-maxSearchRows):]
	part.LastSeq = 0 // as a model sees it that learned a part of the rows
	n := float64(len(part.Rows))
	s := &search{h: &part, from: int(compareFrom * n), until: int(confirmFrom * n), every: max(1, int(refitShare*n)), inUse: inUse}
	for i := range part.Rows {
		if _, censoring := part.Rows[i].Peak(); censoring == sizing.Exact {
			s.measured++
		}
	}
	return s
}

// find returns the best of the parameters in use, the default and the trials.
func (s *search) find(ctx context.Context) (Trees, error) {
	best, least := s.inUse, math.Inf(1)
	try := func(t Trees) (float64, error) {
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
	for _, t := range []Trees{s.inUse, {}} {
		if _, err := try(t); err != nil {
			return best, err
		}
	}
	_, err := tune.Bayes(treeSpace, searchTrials, seedOf(s.measured), func(params []float64) (float64, error) { return try(treesAt(params)) })
	return best, err
}

// residualRMS returns the root mean square of out-of-sample log residuals; +Inf if there is none.
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

// replay learns the rows before from with t, then predicts each row before it learns it, with
// regular fits on the rows so far. It returns the predicted rows.
func (s *search) replay(t Trees, from, until int) ([]row, error) {
	m, before := New(), *s.h
	m.Trees = t
	before.Rows = s.h.Rows[:from]
	if err := m.learnNewRows(&before); err != nil {
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

// outOfSampleRows returns rows with a model's out-of-sample answers.
func (s *search) outOfSampleRows(m *Model, from, until int) []row {
	part := *s.h
	part.Rows = s.h.Rows[from:until]
	return withoutImputed(m.rowsOf(&part, len(part.Rows)))
}

// confirm compares the parameters found with those in use and with the champion, on the newest
// rows.
func (s *search) confirm(found Trees, champion *Model) (SearchResult, error) {
	n := len(s.h.Rows)
	newest := s.outOfSampleRows(champion, s.until, n)
	e := Evaluation{Rows: len(newest), Before: s.measured - len(newest)}
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
	e.addCandidate("champion", newest, championLadder)
	e.judgeSearch(found)
	return SearchResult{Trees: found, Evaluation: e}, nil
}

// judgeSearch lets the parameters found pass if they clearly beat every rival.
func (e *Evaluation) judgeSearch(found Trees) {
	if len(e.Candidates) < 2 {
		e.Reason = "a search could not be confirmed: none of the newest runs has a measured peak"
		return
	}
	challenger := e.Candidates[0]
	chance := 3 * math.Sqrt(sizing.DefaultRiskTarget/float64(e.Rows)) // three standard deviations of such a small share
	for _, rival := range e.Candidates[1:] {
		if challenger.Waste > (1-searchMargin)*rival.Waste || challenger.Killed > max(sizing.DefaultRiskTarget, rival.Killed)+chance {
			e.Reason = fmt.Sprintf("a search found no better trees: on the newest %d runs they waste %.2f times the used memory, %.1f %% killed; %s %.2f, %.1f %%",
				e.Rows, challenger.Waste, 100*challenger.Killed, rival.Name, rival.Waste, 100*rival.Killed)
			return
		}
	}
	e.Passed = true
	e.Reason = fmt.Sprintf("a search found better trees (%v): on the newest %d runs they waste %.2f times the used memory, those in use %.2f",
		found, e.Rows, challenger.Waste, e.Candidates[1].Waste)
}

// String describes the parameters.
func (t Trees) String() string {
	if t == (Trees{}) {
		return "the default"
	}
	return fmt.Sprintf("%d of depth %d, rate %.2g, %.0f %% of the rows each, %d in a leaf", t.Rounds, t.MaxDepth, t.LearningRate, 100*t.Subsample, t.MinLeafRows)
}

// Fit learns the whole history from scratch with the parameters found, so that its margins belong
// to the new trees. It ignores the champion, which has lost.
func (r SearchResult) Fit(h *sizing.History, _ *Model) (*Model, Outcome, error) {
	m := New()
	m.Trees, m.LastEvaluation = r.Trees, r.Evaluation
	challenger, outcome, err := Fit(h, m)
	outcome.Reason = cmp.Or(r.Evaluation.Reason, outcome.Reason)
	return challenger, outcome, err
}
