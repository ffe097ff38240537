package taskmodel

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Evaluation compares a challenger with its rivals on a holdout of the newest rows, through the
// decision rule: the champion's own out-of-sample answers, classifiers over bins (golearn's CART
// among them), and the best constant.
type Evaluation struct {
	Rows       int      `json:"rows"`       // holdout
	Before     int      `json:"fitted_on"`  // rows before the holdout
	Candidates []Result `json:"candidates"` // the challenger first
	Passed     bool     `json:"passed"`
	Reason     string   `json:"reason"`
}

// Result is the replay of the holdout with one candidate.
type Result struct {
	Name   string  `json:"name"`
	Waste  float64 `json:"waste_per_used"` // (allocated − used) / used; killed attempts count in full
	Killed float64 `json:"killed"`         // share of first tries
}

// JSON encodes the evaluation as the store keeps it.
func (e Evaluation) JSON() []byte {
	b, err := json.Marshal(e)
	if err != nil { // only NaN fails
		return []byte(`{"reason":"the evaluation contains a number that is not finite"}`)
	}
	return b
}

const (
	minEvaluationRows   = 40  // rows from which an evaluation is worth its cost
	holdoutShare        = 0.2 // share of the rows that becomes the holdout …
	minHoldout          = 10
	maxHoldout          = 200
	evaluationGrowth    = 2.0  // growth in rows between two evaluations
	evaluationTolerance = 1.25 // the challenger is fitted without the holdout, and a holdout is small
	maxFamilyRows       = 400  // newest training rows of a classifier: golearn takes 0.8 s for 1,000
)

// isEvaluationDue reports whether the rows have doubled since the last evaluation. An evaluation
// costs a fit of every family, and more frequent ones add little.
func (m *Model) isEvaluationDue(rows int) bool {
	return rows >= minEvaluationRows && float64(rows) >= evaluationGrowth*float64(m.LastEvaluation.Before+m.LastEvaluation.Rows)
}

// evaluate compares a challenger that is fitted without the holdout with its rivals. rows are
// measured, oldest first, at least minEvaluationRows.
func (m *Model) evaluate(h *sizing.History, rows []row) (Evaluation, error) {
	holdout := max(minHoldout, min(maxHoldout, int(holdoutShare*float64(len(rows)))))
	before, newest := rows[:len(rows)-holdout], rows[len(rows)-holdout:]
	e := Evaluation{Rows: holdout, Before: len(before)}
	challenger, err := fitModels(&h.Schema, before, nil, m.Trees, seedOf(len(before)))
	if err != nil {
		return e, err
	}
	e.addCandidate("challenger", newest, m.ladderOf(challenger))
	e.addCandidate("champion", newest, championLadder)
	constant := bestConstant(before)
	e.addCandidate("constant", newest, func(*row) []float64 { return []float64{constant} })
	if err := m.evaluateFamilies(&e, h, before, newest); err != nil {
		return e, err
	}
	e.judge()
	return e, nil
}

// withoutImputed returns the rows with a measured peak: a model that imputes a peak would win on
// its own imputation.
func withoutImputed(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Imputed })
}

// ladderOf returns a function from row to the allocations of point models with the task's
// margins.
func (m *Model) ladderOf(fitted *models) func(*row) []float64 {
	b := new(buffers)
	return func(r *row) []float64 {
		var p experts.Point
		fitted.predict(r.Cells, &p, b)
		amount := m.Experts.Answer(&p, sizing.DefaultRiskTarget, &b.scratch).Amount
		return []float64{amount}
	}
}

// championLadder returns the out-of-sample answer for a row, or none if it is unknown.
func championLadder(r *row) []float64 {
	if r.Granted <= 0 {
		return nil
	}
	return []float64{r.Granted}
}

// addCandidate replays one candidate; after its last rung the allocation doubles.
func (e *Evaluation) addCandidate(name string, rows []row, rungs func(*row) []float64) {
	used, waste, killed, n := 0.0, 0.0, 0.0, 0.0
	for i := range rows {
		r := &rows[i]
		ladder := rungs(r)
		if len(ladder) == 0 {
			continue
		}
		n++
		used += r.Peak * r.Seconds
		if ladder[0] < r.Peak {
			killed++
		}
		waste += replay(ladder, r.Peak) * r.Seconds
	}
	if n > 0 && used > 0 {
		e.Candidates = append(e.Candidates, Result{Name: name, Waste: waste / used, Killed: killed / n})
	}
}

// replay returns the waste of a ladder for a peak.
func replay(ladder []float64, peak float64) float64 {
	waste, amount := 0.0, 0.0
	for i := 0; ; i++ {
		if i < len(ladder) {
			amount = ladder[i]
		} else {
			amount *= 2
		}
		if amount >= peak {
			return waste + amount - peak
		}
		waste += amount
	}
}

// bestConstant returns the allocation with the smallest replayed cost within the risk target.
func bestConstant(rows []row) float64 {
	peaks := make([]float64, len(rows))
	for i := range rows {
		peaks[i] = rows[i].Peak
	}
	slices.Sort(peaks)
	best, least := peaks[len(peaks)-1], math.Inf(1)
	for k := max(1, int((1-2*sizing.DefaultRiskTarget)*float64(len(peaks)))); k <= len(peaks); k++ {
		constant, cost := []float64{peaks[k-1]}, 0.0
		for i := range rows {
			cost += replay(constant, rows[i].Peak) * rows[i].Seconds
		}
		if cost < least {
			best, least = peaks[k-1], cost
		}
	}
	return best
}

// families are the classifiers over bins that compete with a challenger.
var families = []classify.LevelFamily{
	classify.Binned{Family: classify.SoftmaxTrees{}},
	classify.Binned{Family: classify.CART{}}, classify.Binned{Family: classify.Prior{}},
}

// evaluateFamilies fits the classifiers on at most maxFamilyRows of the rows before the holdout.
func (m *Model) evaluateFamilies(e *Evaluation, h *sizing.History, before, newest []row) error {
	before = before[max(0, len(before)-maxFamilyRows):]
	t, encode := tableOf(&h.Schema, before)
	if t.Cols() == 0 {
		return nil
	}
	edges, bins, err := binsOf(before)
	if err != nil {
		return err
	}
	p := make([]float64, len(edges))
	for _, family := range families {
		fitted, err := family.FitLevels(t, edges, seedOf(len(before)))
		if err != nil {
			return fmt.Errorf("evaluate %s: %w", family.Name(), err)
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
	return nil
}

// tableOf encodes rows for the classifiers: the inputs of the line, then those of the trees.
func tableOf(schema *sizing.Schema, rows []row) (*table.Table, func([]sizing.Value) []float64) {
	y, cells := make([]float64, len(rows)), make([][]sizing.Value, len(rows))
	for i := range rows {
		y[i], cells[i] = math.Log(rows[i].Peak), rows[i].Cells
	}
	enc := newEncoder(schema, cells, y)
	encode := func(cells []sizing.Value) []float64 {
		line, tree := enc.encode(cells, nil, nil)
		return append(line, tree...)
	}
	t := &table.Table{Names: make([]string, enc.LineWidth+enc.TreeWidth), Y: y}
	for i := range rows {
		t.X = append(t.X, encode(cells[i])...)
		enc.learn(cells[i], y[i])
	}
	return t, encode
}

// judge lets the challenger pass unless a rival wastes clearly less without more kills.
func (e *Evaluation) judge() {
	challenger := e.Candidates[0]
	e.Passed = true
	e.Reason = fmt.Sprintf("on the newest %d runs it wastes %.2f times the used memory, %.1f %% killed", e.Rows, challenger.Waste, 100*challenger.Killed)
	for _, rival := range e.Candidates[1:] {
		if rival.Waste*evaluationTolerance < challenger.Waste && rival.Killed <= challenger.Killed+sizing.DefaultRiskTarget {
			e.Passed = false
			e.Reason = fmt.Sprintf("lost on the newest %d runs: it wastes %.2f times the used memory, %s %.2f", e.Rows, challenger.Waste, rival.Name, rival.Waste)
			return
		}
	}
}
