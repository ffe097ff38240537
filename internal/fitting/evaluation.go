package fitting

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/binning"
	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Evaluation says how a challenger was judged: on the newest rows, which it was not
// fitted on for the purpose, through the decision rule, against the champion's own
// answers to them (asked before told), the classifiers over bins, golearn's CART
// among them, and the best constant.
type Evaluation struct {
	Rows       int      `json:"rows"`       // held back
	Before     int      `json:"fitted_on"`  // rows before them
	Candidates []Result `json:"candidates"` // the challenger first
	Passed     bool     `json:"passed"`
	Reason     string   `json:"reason"`
}

// Result is one candidate's replay of the rows held back.
type Result struct {
	Name   string  `json:"name"`
	Waste  float64 `json:"waste_per_used"` // (allocated − used) / used, killed attempts whole
	Killed float64 `json:"killed"`         // share of first tries
}

// JSON is the exam as it is stored.
func (e Evaluation) JSON() []byte {
	b, err := json.Marshal(e)
	if err != nil { // a NaN is the only way
		return []byte(`{"reason":"the exam could not be written"}`)
	}
	return b
}

const (
	minEvaluationRows   = 40  // rows before an exam is worth its cost
	holdoutShare        = 0.2 // of the rows is held back …
	minHoldout          = 10
	maxHoldout          = 200
	evaluationGrowth    = 2.0  // times as many rows before the next exam
	evaluationTolerance = 1.25 // the challenger lacks the rows held back, and they are few
	maxFamilyRows       = 400  // newest of those before, that a rival is fitted on: golearn needs 0.8 s for 1,000
)

// examDue: exams cost a fit of every family, and say little new between doublings.
func (m *Model) isEvaluationDue(rows int) bool {
	return rows >= minEvaluationRows && float64(rows) >= evaluationGrowth*float64(m.LastEvaluation.Before+m.LastEvaluation.Rows)
}

// examine judges what fitting on measured rows (oldest first, examFrom at least) makes of a
// task.
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

// measured leaves out the rows whose peak is only likely: whoever guesses it the same
// way would win.
func withoutImputed(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Imputed })
}

// rungsBy are the allocations of point models with the task's margins.
func (m *Model) ladderOf(fitted *models) func(*row) []float64 {
	b := new(buffers)
	return func(r *row) []float64 {
		var p experts.Point
		fitted.predict(r.Cells, &p, b)
		amount := m.Experts.Answer(&p, sizing.DefaultRiskTarget, &b.scratch).Amount
		return []float64{amount}
	}
}

// championRungs are what was answered before the row was told; none where it is
// not known.
func championLadder(r *row) []float64 {
	if r.Granted <= 0 {
		return nil
	}
	return []float64{r.Granted}
}

// add replays one candidate, beyond its rungs by doubling.
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

// replay is what a ladder wastes on a peak.
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

// bestConstant is the allocation of least replayed cost within the risk.
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

// families are the classifiers over bins that a challenger is held against.
var families = []classify.LevelFamily{
	classify.Binned{Family: classify.SoftmaxTrees{}},
	classify.Binned{Family: classify.CART{}}, classify.Binned{Family: classify.Prior{}},
}

// examineFamilies fits the classifiers on at most examRows of the rows before.
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
			return fmt.Errorf("exam of %s: %w", family.Name(), err)
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

// tableOf encodes rows for the classifiers: what the line sees, then what the
// trees see.
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

// edgesOf are the task's bins, as log levels and as bytes.
func binsOf(rows []row) (levels []float64, bins sizing.Bins, err error) {
	var peaks, seconds []float64
	for i := range rows {
		peaks, seconds = append(peaks, rows[i].Peak), append(seconds, rows[i].Seconds)
	}
	bins, err = searchBins(peaks, seconds)
	for _, bin := range bins {
		levels = append(levels, math.Log(float64(bin)))
	}
	return levels, bins, err
}

// searchBins finds the edges of the highest time-weighted improvement, exactly.
func searchBins(peaks, seconds []float64) (sizing.Bins, error) {
	if len(peaks) == 0 {
		return nil, nil
	}
	top := binning.Top(peaks, binTopMargin, binStep)
	edges, err := binning.History{Peaks: peaks, Weights: seconds}.Search(binCount, top, binStep)
	if err != nil {
		return nil, fmt.Errorf("search bins: %w", err)
	}
	var bins sizing.Bins
	for _, edge := range edges {
		if b := sizing.Bytes(min(math.Ceil(edge), sizing.MaxBytes)); len(bins) == 0 || b > bins[len(bins)-1] {
			bins = append(bins, b)
		}
	}
	return bins, nil
}

// judge: the challenger passes unless the champion, CART or the best constant
// would have wasted clearly less.
func (e *Evaluation) judge() {
	challenger := e.Candidates[0]
	e.Passed = true
	e.Reason = fmt.Sprintf("on the newest %d runs it wastes %.2f per used, %.1f %% killed", e.Rows, challenger.Waste, 100*challenger.Killed)
	for _, rival := range e.Candidates[1:] {
		if rival.Waste*evaluationTolerance < challenger.Waste && rival.Killed <= challenger.Killed+sizing.DefaultRiskTarget {
			e.Passed = false
			e.Reason = fmt.Sprintf("lost on the newest %d runs: it wastes %.2f per used, %s %.2f", e.Rows, challenger.Waste, rival.Name, rival.Waste)
			return
		}
	}
}
