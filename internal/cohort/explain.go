package cohort

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Step is one factor between the base of an explanation and the amount before floor, bins and cap.
type Step struct {
	Kind  StepKind
	Name  string  // of a fact, such as "metadata.owner"; a description for other kinds
	Value string  // of a fact; "" for other kinds
	Log   float64 // natural logarithm of the factor
}

// StepKind classifies a Step.
type StepKind int

// The kinds, in the order in which they occur. The last step is either a RequestStep or a RoundingStep.
const (
	FactStep     StepKind = iota // the effect of a fact on the predicted peak
	MarginStep                   // the margin for errors on tasks without history
	RequestStep                  // the reduction to the static request, because the learned tasks rarely exceed their requests
	RoundingStep                 // rounding up to whole MiB
)

// Explanation explains the amount of an answer of the trees before floor, bins and cap. The logarithm of
// the amount is Base plus the logarithms of all steps.
type Explanation struct {
	Base     float64 // log bytes
	BaseName string  // description of Base
	Steps    []Step
	Level    float64 // predicted log peak
}

// Explain splits an answer of Size to the same question into the base, the effect of each fact (Shapley values), the margin,
// and the reduction to the request or the rounding. The base is the expected prediction if no fact is known: the mean log
// peak of the learned tasks or, if the trees predict a ratio, the mean log ratio plus the logarithm of the request. ok is
// false if sizeByRequest and not the trees gave the answer.
func (m *Model) Explain(q *Question, a *Answer) (e Explanation, ok bool) {
	if !(a.amount > 0) {
		return Explanation{}, false
	}
	if a.ofDAG {
		m = m.modelOfDAG(&q.Task)
	}
	return m.explain(q, a), true
}

func (m *Model) explain(q *Question, a *Answer) (e Explanation) {
	names, values, phi, expected := m.effects(&q.Facts)
	e.Base, e.BaseName = expected, "the typical peak of "+m.describeTasks()
	if m.byRequest {
		e.Base, e.BaseName = expected+math.Log(float64(q.Requested.Memory)), "the typical share of the request that "+m.describeTasks()+" use"
	}
	e.Level = m.level(&q.Facts)
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { // the largest effect first
		switch x, y := math.Abs(phi[a]), math.Abs(phi[b]); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, i := range order {
		e.Steps = append(e.Steps, Step{FactStep, names[i], values[names[i]], phi[i]})
	}
	amount := math.Log(a.amount)
	e.Steps = append(e.Steps, Step{Kind: MarginStep, Name: fmt.Sprintf("the margin for errors on tasks without history, from %d tasks", m.Tasks), Log: amount - e.Level})
	unbounded := math.Log(float64(a.unbounded))
	if a.usesRequest {
		e.Steps = append(e.Steps, Step{Kind: RequestStep, Name: "the static request, because " + m.describeTasks() + " rarely exceed theirs", Log: unbounded - amount})
	} else {
		e.Steps = append(e.Steps, Step{Kind: RoundingStep, Name: "whole MiB", Log: unbounded - amount})
	}
	return e
}

// effects returns the names of the facts, their values by name, their effects phi on the prediction of the trees (Shapley
// values), and the expected prediction without any fact. The two columns of a category are one player, with one effect.
func (m *Model) effects(f *Facts) (names []string, values map[string]string, phi []float64, expected float64) {
	names = slices.Concat(m.Numbers, m.Categories)
	players := make([]int, m.columns())
	for i := range m.Numbers {
		players[i] = i
	}
	for i := range m.Categories {
		at := len(m.Numbers) + 2*i
		players[at], players[at+1] = len(m.Numbers)+i, len(m.Numbers)+i
	}
	phi = make([]float64, m.columns())
	expected = m.trees.ExplainPlayers(m.encode(f, nil), players, phi)
	return names, f.texts(), phi[:len(names)], expected
}

func (f *Facts) texts() map[string]string {
	texts := map[string]string{dagID: f.Task.DAG, taskID: f.Task.Task}
	if f.Requested.Memory > 0 {
		texts[requestedMemory] = f.Requested.Memory.String()
	}
	if f.Requested.CPU > 0 {
		texts[requestedCPU] = f.Requested.CPU.String()
	}
	for name, values := range f.Metadata {
		texts[metadataPrefix+name] = strings.Join(values, ", ")
	}
	for name, v := range f.Features {
		if v.Kind == sizing.Category {
			texts[featurePrefix+name] = v.Text
		} else if v.Kind != sizing.Missing {
			texts[featurePrefix+name] = sizing.FormatNumber(v.Num)
		}
	}
	return texts
}
