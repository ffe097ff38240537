package fitting

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/tune"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Trees are how the trees of a task's point models are grown, as a Search found it.
// The zero value is treeConfig.
type Trees struct {
	Rounds       int
	LearningRate float64
	MaxDepth     int
	Subsample    float64 // share of the rows drawn for every round
	MinLeafRows  int
}

// config is treeConfig with what was found.
func (t Trees) config(rows int, seed uint64) gbt.Config {
	c := treeConfig(rows, seed)
	if t == (Trees{}) {
		return c
	}
	c.Rounds, c.LearningRate, c.MaxDepth, c.Subsample = t.Rounds, t.LearningRate, t.MaxDepth, t.Subsample
	c.MinLeafRows = max(1, min(t.MinLeafRows, rows/8)) // a young or voided task has fewer rows than were searched on
	return c
}

// treeSpace is where Search looks. More rounds or deeper trees would make answers
// slower and models larger than they are worth.
var treeSpace = tune.Space{
	{Name: "rounds", Low: 30, High: 240, Log: true, Whole: true},
	{Name: "learning rate", Low: 0.02, High: 0.3, Log: true},
	{Name: "depth", Low: 2, High: 8, Whole: true},
	{Name: "subsample", Low: 0.4, High: 1},
	{Name: "rows of a leaf", Low: 1, High: 40, Log: true, Whole: true},
}

func treesAt(params []float64) Trees {
	return Trees{
		Rounds: int(params[0]), LearningRate: params[1], MaxDepth: int(params[2]), Subsample: params[3], MinLeafRows: int(params[4]),
	}
}

const (
	minSearchRows = 200  // measured rows before a search can tell parameters from luck
	maxSearchRows = 4000 // newest rows that are searched on
	searchTrials  = 24
	compareFrom   = 0.4  // from here …
	confirmFrom   = 0.75 // … to here parameters are compared, on the rest they are confirmed
	refitShare    = 0.1  // of the rows, between fits: one fit's luck must not decide
	searchMargin  = 0.1  // less waste on the newest rows, or the parameters in use stay
)

// SearchResult is what a search came to. Trees are to be used where Exam.Passed.
type SearchResult struct {
	Trees      Trees
	Evaluation Evaluation
}

// Search looks for better parameters of a task's trees by replaying its history in
// order, each row asked before it is told:
//
//	learned │ compared: least error of 24 trials │ confirmed: found against in use
//	oldest ─────────────────────────────── time ───────────────────────────────▶ newest
//
// The trials are compared by the root mean square of their honest log residuals, not
// by what the decision rule wastes: that one hangs on single kills. Of 26 draws on
// the heavy tasks of a retail trace, errors on the compared and on the newest rows
// correlate by 0.98, and with the newest rows' waste by 0.65 and 0.68; the wastes of
// both spans by 0.62 and 0.40. The decision rule confirms: what was found passes
// where it wastes searchMargin less than both the parameters in use and the
// champion's own answers on the newest rows, of which the trials know nothing, and
// is killed no more often than them or than the target, but for chance. champion is only read. It takes 24 bulk fits of at most 4,000
// rows; between two it looks whether ctx has ended, whose error it returns. The same
// history and champion give the same Found.
func Search(ctx context.Context, h *sizing.History, champion *Model) (SearchResult, error) {
	s := newSearch(champion.Sampling.raiseHistory(h), champion.Trees)
	if s.measured < minSearchRows {
		return SearchResult{Evaluation: Evaluation{Reason: fmt.Sprintf("no search below %d runs with a measured peak: there are %d", minSearchRows, s.measured)}}, nil
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

// search is a history cut in three.
type search struct {
	h           *sizing.History
	from, until int // rows that are compared on
	every       int // rows between fits
	measured    int
	inUse       Trees
}

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

// find is the best of the parameters in use, the default and the trials.
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

// residualOf is the root mean square of honest log residuals; +Inf without one.
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

// replay learns the rows before from with t, and is then asked each row before it is
// told, fitted now and then on those before. It returns the rows that were asked.
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

// answered are rows with what a model answered before it was told them.
func (s *search) outOfSampleRows(m *Model, from, until int) []row {
	part := *s.h
	part.Rows = s.h.Rows[from:until]
	return withoutImputed(m.rowsOf(&part, len(part.Rows)))
}

// confirm holds what was found against what answers now, on the newest rows.
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

// judgeSearch: what was found passes where it beats every rival clearly.
func (e *Evaluation) judgeSearch(found Trees) {
	if len(e.Candidates) < 2 {
		e.Reason = "a search could not be confirmed: none of the newest runs was measured"
		return
	}
	challenger := e.Candidates[0]
	chance := 3 * math.Sqrt(sizing.DefaultRiskTarget/float64(e.Rows)) // three deviations of a share so small
	for _, rival := range e.Candidates[1:] {
		if challenger.Waste > (1-searchMargin)*rival.Waste || challenger.Killed > max(sizing.DefaultRiskTarget, rival.Killed)+chance {
			e.Reason = fmt.Sprintf("a search found no better trees: on the newest %d runs they waste %.2f per used, %.1f %% killed, %s %.2f, %.1f %%",
				e.Rows, challenger.Waste, 100*challenger.Killed, rival.Name, rival.Waste, 100*rival.Killed)
			return
		}
	}
	e.Passed = true
	e.Reason = fmt.Sprintf("a search found better trees (%v): on the newest %d runs they waste %.2f per used, those in use %.2f",
		found, e.Rows, challenger.Waste, e.Candidates[1].Waste)
}

// String tells the parameters to a person.
func (t Trees) String() string {
	if t == (Trees{}) {
		return "the default"
	}
	return fmt.Sprintf("%d of depth %d, rate %.2g, %.0f %% of the rows each, %d in a leaf", t.Rounds, t.MaxDepth, t.LearningRate, 100*t.Subsample, t.MinLeafRows)
}

// Fit learns the whole history anew with what was found, so that its margins are
// those of the trees that answer. The champion is not asked: it was beaten.
func (f SearchResult) Fit(h *sizing.History, _ *Model) (*Model, Outcome, error) {
	m := New()
	m.Trees, m.LastEvaluation = f.Trees, f.Evaluation
	challenger, outcome, err := Fit(h, m)
	outcome.Reason = cmp.Or(f.Evaluation.Reason, outcome.Reason)
	return challenger, outcome, err
}
