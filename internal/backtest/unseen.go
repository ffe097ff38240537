package backtest

import (
	"maps"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// unseen sizes tasks without history by one rule per namespace, and other tasks by their largest peak. Loadaware sizes
// tasks without history by a cohort. Compare the figures of first runs to see how much better a cohort is than simpler
// rules.
type unseen struct {
	*baseline // of tasks with history
	newRule   func() rule
	rules     map[string]rule // by namespace
}

func newUnseen(newRule func() rule) *unseen {
	return &unseen{newBaseline(func(int) rule { return &largest{scale: 1} }), newRule, map[string]rule{}}
}

// Predict implements Policy.
func (p *unseen) Predict(q Question) Answer {
	answer := p.baseline.Predict(q)
	if !answer.ColdStart {
		return answer
	}
	if guessed := sizing.Bytes(p.ruleOf(q.Try.Namespace).allocate(&q)); guessed > 0 {
		answer.Limit = min(guessed, q.Cap)
	}
	return answer
}

// Learn implements Policy.
func (p *unseen) Learn(o Outcome) error {
	if !o.Killed {
		p.ruleOf(o.Try.Namespace).learn(&o)
	}
	return p.baseline.Learn(o)
}

func (p *unseen) ruleOf(namespace string) rule {
	if p.rules[namespace] == nil {
		p.rules[namespace] = p.newRule()
	}
	return p.rules[namespace]
}

const (
	maxNeighbours   = 2000 // largest number of tasks that nearest compares
	neighbourMargin = 2.0  // factor on the largest peak of the most similar task; without it, many first runs would exceed the grant
)

// nearest allocates twice the largest peak of the most similar task. The similarity is the Jaccard index of the facts:
// metadata, categories and name of the DAG. Of equally similar tasks it takes the one with the newest first success.
type nearest struct {
	tasks []*neighbour // by first success, oldest first
	byKey map[sizing.TaskKey]*neighbour
}

type neighbour struct {
	task  sizing.TaskKey
	facts map[string]bool // of the newest success
	peak  float64         // largest peak
}

func (r *nearest) allocate(q *Question) float64 {
	facts, best, peak := factSet(q), -1.0, 0.0
	for _, n := range slices.Backward(r.tasks) {
		shared := 0
		for fact := range facts {
			if n.facts[fact] {
				shared++
			}
		}
		if similarity := float64(shared) / float64(len(facts)+len(n.facts)-shared); similarity > best {
			best, peak = similarity, n.peak
		}
	}
	return neighbourMargin * peak
}

func (r *nearest) learn(o *Outcome) {
	n := r.byKey[o.Try.TaskKey]
	if n == nil {
		if len(r.tasks) == maxNeighbours {
			delete(r.byKey, r.tasks[0].task)
			r.tasks = slices.Delete(r.tasks, 0, 1)
		}
		n = &neighbour{task: o.Try.TaskKey}
		r.tasks = append(r.tasks, n)
		if r.byKey == nil {
			r.byKey = map[sizing.TaskKey]*neighbour{}
		}
		r.byKey[n.task] = n
	}
	n.facts, n.peak = factSet(&o.Question), max(n.peak, float64(o.Peak))
}

func factSet(q *Question) map[string]bool {
	facts := map[string]bool{"dag\x00" + q.Try.DAG: true}
	for name, values := range maps.All(q.Metadata) {
		for _, v := range values {
			facts["m\x00"+name+"\x00"+v] = true
		}
	}
	for name, v := range q.Features {
		if v.Kind == sizing.Category {
			facts["f\x00"+name+"\x00"+v.Text] = true
		}
	}
	return facts
}
