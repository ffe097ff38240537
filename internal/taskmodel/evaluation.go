package taskmodel

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/cost"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Evaluation compares a challenger (a model that is fitted without the holdout) with other candidates on a holdout of the
// newest rows, by the waste and the kills of their allocations. The other candidates are the out-of-sample answers of the
// champion (the model in use), the best constant, and classifiers over bins such as golearn's CART (see families). In the
// evaluation of a Search the other candidates are a model with the tree parameters in use, and the champion's own answers.
type Evaluation struct {
	Rows       int      `json:"rows"`       // number of measured rows in the holdout
	FittedOn   int      `json:"fitted_on"`  // number of measured rows before the holdout
	Candidates []Result `json:"candidates"` // the challenger first
	Passed     bool     `json:"passed"`     // the newly fitted model may replace the champion
	Reason     string   `json:"reason"`
}

// Result is the replay of the holdout with one candidate.
type Result struct {
	Name   string  `json:"name"`           // the candidate, such as "challenger", "champion", "constant" or the name of a classifier
	Waste  float64 `json:"waste_per_used"` // (allocated − used) / used; the whole allocation of a killed try is waste
	Killed float64 `json:"killed"`         // share of first tries that are killed, 0 to 1
}

// JSON encodes the evaluation for the store.
func (e Evaluation) JSON() []byte {
	b, err := json.Marshal(e)
	if err != nil { // only NaN and infinities fail
		return []byte(`{"reason":"the evaluation contains a number that is not finite"}`)
	}
	return b
}

const (
	minEvaluationRows   = 40   // smallest number of measured rows for an evaluation; with fewer rows an evaluation is not worth its cost
	holdoutShare        = 0.2  // share of the rows that are the holdout, within the next two bounds
	minHoldout          = 10   // in rows
	maxHoldout          = 200  // in rows; a larger holdout compares more exactly, but the challenger lacks more of the newest rows
	evaluationGrowth    = 2.0  // smallest factor by which the number of rows grows from one evaluation to the next
	evaluationTolerance = 1.25 // see Evaluation.better; lenient, because the holdout is small, and the challenger has not learned the rows of the holdout
	maxFamilyRows       = 400  // newest rows on which a classifier is fitted: with 1,000 rows, golearn takes 0.8 s
)

// isEvaluationDue reports whether `rows` measured rows are enough, and at least evaluationGrowth times those of the last
// evaluation. More frequent evaluations gain little, and each of them fits every classifier in families.
func (m *Model) isEvaluationDue(rows int) bool {
	return rows >= minEvaluationRows && float64(rows) >= evaluationGrowth*float64(m.LastEvaluation.FittedOn+m.LastEvaluation.Rows)
}

// evaluate fits a challenger without the newest rows, and compares it with the other candidates on these rows. It requires at
// least minEvaluationRows measured rows, oldest first.
func (m *Model) evaluate(h *sizing.History, rows []row) (Evaluation, error) {
	holdout := max(minHoldout, min(maxHoldout, int(holdoutShare*float64(len(rows)))))
	before, newest := rows[:len(rows)-holdout], rows[len(rows)-holdout:]
	e := Evaluation{Rows: holdout, FittedOn: len(before)}
	challenger, err := fitModels(&h.Schema, withoutIsolated(before), nil, m.Trees, seedOf(len(before)), m.fits, &m.ablated)
	if err != nil {
		return e, err
	}
	e.addCandidate("challenger", newest, m.ladderOf(challenger))
	e.addCandidate(championName, newest, championLadder)
	constant := bestConstant(before)
	e.addCandidate("constant", newest, func(*row) []float64 { return []float64{constant} })
	failed, err := m.evaluateFamilies(&e, h, before, newest)
	if err != nil {
		return e, err
	}
	e.judge()
	e.Reason = strings.Join(append([]string{e.Reason}, failed...), "; ")
	return e, nil
}

const championName = "champion"

// withoutImputed returns the rows with a measured peak. In an evaluation, the model that imputed a peak would win on its row.
func withoutImputed(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Imputed })
}

// ladderOf returns a function that maps a row to a ladder of one rung: the amount that the task's experts
// grant for the predictions of `fitted`.
func (m *Model) ladderOf(fitted *models) func(*row) []float64 {
	b := new(buffers)
	return func(r *row) []float64 {
		var p experts.Point
		fitted.predict(r.Cells, &p, b)
		amount := m.Experts.Answer(&p, sizing.DefaultRiskTarget, &b.scratch).Amount
		return []float64{amount}
	}
}

// championLadder returns a ladder of one rung: the amount that the experts computed before they learned the row; nil if
// this amount is unknown.
func championLadder(r *row) []float64 {
	if r.Granted <= 0 {
		return nil
	}
	return []float64{r.Granted}
}

// addCandidate replays one candidate on `rows` and adds its result, unless every row is skipped. ladderFor returns the
// ladder of the candidate for a row, or nil to skip the row. After the last rung the allocation doubles.
func (e *Evaluation) addCandidate(name string, rows []row, ladderFor func(*row) []float64) {
	used, waste, killed, n := 0.0, 0.0, 0.0, 0.0
	for i := range rows {
		r := &rows[i]
		ladder := ladderFor(r)
		if len(ladder) == 0 {
			continue
		}
		n++
		used += r.Peak * r.Seconds
		wasted, kills := cost.LadderWastage(r.Peak, 0, ladder...)
		waste += wasted * r.Seconds
		if kills > 0 {
			killed++
		}
	}
	if n > 0 && used > 0 {
		e.Candidates = append(e.Candidates, Result{Name: name, Waste: waste / used, Killed: killed / n})
	}
}

// bestConstant returns the constant grant with the least waste on `rows`, in bytes. It considers only peaks that at most
// about 2 · DefaultRiskTarget of the rows exceed.
func bestConstant(rows []row) float64 {
	peaks := make([]float64, len(rows))
	for i := range rows {
		peaks[i] = rows[i].Peak
	}
	slices.Sort(peaks)
	best, least := peaks[len(peaks)-1], math.Inf(1)
	for k := max(1, int((1-2*sizing.DefaultRiskTarget)*float64(len(peaks)))); k <= len(peaks); k++ {
		waste := 0.0
		for i := range rows {
			wasted, _ := cost.LadderWastage(rows[i].Peak, 0, peaks[k-1])
			waste += wasted * rows[i].Seconds
		}
		if waste < least {
			best, least = peaks[k-1], waste
		}
	}
	return best
}

// families are the classifiers over bins that compete with a challenger: boosted trees, CART, and the frequencies of the
// bins without any feature (Prior).
var families = []classify.LevelFamily{
	classify.BinnedFamily{Family: classify.SoftmaxTrees{}},
	classify.BinnedFamily{Family: classify.CART{}}, classify.BinnedFamily{Family: classify.Prior{}},
}

// evaluateFamilies adds the results of the classifiers to e. It omits a classifier whose fit fails, such as CART if its
// library panics (cart.ErrLibrary), because the classifiers serve only for comparison. failed describes the omitted
// classifiers.
func (m *Model) evaluateFamilies(e *Evaluation, h *sizing.History, before, newest []row) (failed []string, err error) {
	before = before[max(0, len(before)-maxFamilyRows):]
	t, encode := tableOf(&h.Schema, before)
	if t.Cols() == 0 {
		return nil, nil
	}
	edges, bins, err := binsOf(before)
	if err != nil {
		return nil, err
	}
	p := make([]float64, len(edges))
	for _, family := range families {
		seed := seedOf(len(before))
		fitted, err := fitOnce(m.fits, func() fitHash { return m.fits.hash(family.Name()+fmt.Sprint(seed), t.X, t.Y, t.W, edges) },
			func() (classify.Classifier, error) { return family.FitLevels(t, edges, seed) })
		if err != nil {
			failed = append(failed, fmt.Sprintf("not compared with %s: %v", family.Name(), err))
			continue
		}
		e.addCandidate(family.Name(), newest, func(r *row) []float64 {
			fitted.Probabilities(encode(r.Cells), p)
			var ladder []float64
			for _, rung := range sizing.LeastCost(bins, p, sizing.DefaultRiskTarget, 0) {
				ladder = append(ladder, float64(rung))
			}
			return ladder
		})
	}
	return failed, nil
}

func (e *Evaluation) judge() {
	challenger := e.Candidates[0]
	e.Reason = fmt.Sprintf("on the newest %d runs it wastes %.2f times the used memory, %.1f %% killed", e.Rows, challenger.Waste, 100*challenger.Killed)
	better := e.better()
	if e.Passed = better == nil; !e.Passed {
		e.Reason = fmt.Sprintf("lost on the newest %d runs: it wastes %.2f times the used memory, %s %.2f", e.Rows, challenger.Waste, better.Name, better.Waste)
	}
}

// better returns the first other candidate against which the challenger loses; nil if there is none.
func (e *Evaluation) better() *Result {
	challenger := e.Candidates[0]
	for i := range e.Candidates[1:] {
		other := &e.Candidates[1+i]
		if other.Waste*evaluationTolerance < challenger.Waste && other.Killed <= challenger.Killed+sizing.DefaultRiskTarget {
			return other
		}
	}
	return nil
}
