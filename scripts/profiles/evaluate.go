package main

import (
	"math/rand/v2"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
)

// folds is the number of parts of a history in the cross-validation.
const folds = 5

func (h *history) foldsOfRuns(seed uint64) []int {
	fold := make([]int, len(h.rows))
	for at, i := range rand.New(rand.NewPCG(seed, 22)).Perm(len(fold)) {
		fold[i] = at % folds
	}
	return fold
}

// foldsOfTasks gives all runs of a task the same random part.
func (h *history) foldsOfTasks(seed uint64) []int {
	r, of, fold := rand.New(rand.NewPCG(seed, 23)), map[sizing.TaskKey]int{}, make([]int, len(h.rows))
	for i := range h.rows {
		task := h.rows[i].Task
		if _, known := of[task]; !known {
			of[task] = r.IntN(folds)
		}
		fold[i] = of[task]
	}
	return fold
}

// accuracy contains, for each rule, the share of the runs whose profile the rule predicts correctly.
type accuracy struct {
	majority   float64 // the most frequent profile of the runs of the other parts
	nearest    float64 // the profile of the most similar task
	predicted  float64 // predictor.predict
	inProfiles float64 // like predicted, among the runs that are no outliers
}

// evaluate predicts the runs of each part from the runs of the other parts. `fold` contains the part of each run.
func (h *history) evaluate(fold []int) accuracy {
	var right accuracy
	inProfiles := 0.0
	for part := range folds {
		p := h.learn(fold, part)
		for i := range h.rows {
			if fold[i] != part {
				continue
			}
			own := h.labels[i]
			if p.majority == own {
				right.majority++
			}
			if p.nearest(&h.rows[i].Facts) == own {
				right.nearest++
			}
			isRight := p.predict(&h.rows[i].Facts) == own
			if isRight {
				right.predicted++
			}
			if own != 0 {
				if inProfiles++; isRight {
					right.inProfiles++
				}
			}
		}
	}
	n := float64(len(h.rows))
	return accuracy{right.majority / n, right.nearest / n, right.predicted / n, right.inProfiles / max(1, inProfiles)}
}

type predictor struct {
	tasks      map[sizing.TaskKey]int // index of a task in facts and labels
	facts      []map[string]bool      // of the newest run of each task
	labels     []int                  // profile of the newest run of each task
	majority   int                    // most frequent profile of all learned runs
	byTask     map[sizing.TaskKey]int // most frequent profile of the learned runs of each task
	classifier *cohort.Profiles       // nil if the learned runs allow no classifier (cohort.FitProfiles)
}

// learn learns the runs outside a part.
func (h *history) learn(fold []int, part int) *predictor {
	p := &predictor{tasks: map[sizing.TaskKey]int{}, byTask: map[sizing.TaskKey]int{}}
	var rows []cohort.Row
	counts, ofTask := map[int]int{}, map[sizing.TaskKey]map[int]int{}
	for i := range h.rows {
		if fold[i] == part {
			continue
		}
		row, label := h.rows[i], h.labels[i]
		rows = append(rows, row)
		at, known := p.tasks[row.Task]
		if !known {
			at = len(p.facts)
			p.tasks[row.Task], p.facts, p.labels = at, append(p.facts, nil), append(p.labels, 0)
		}
		p.facts[at], p.labels[at] = factSet(&row.Facts), label
		if counts[label]++; counts[label] > counts[p.majority] {
			p.majority = label
		}
		own := ofTask[row.Task]
		if own == nil {
			own = map[int]int{}
			ofTask[row.Task] = own
		}
		best, known := p.byTask[row.Task]
		if own[label]++; !known || own[label] > own[best] {
			p.byTask[row.Task] = label
		}
	}
	p.classifier = cohort.FitProfiles(rows, h.set)
	return p
}

// predict returns the most frequent profile of the task of a run. For a task without learned runs, it returns the profile
// that the classifier gives or, if it gives none, the most frequent profile of all learned runs.
func (p *predictor) predict(f *cohort.Facts) int {
	if label, known := p.byTask[f.Task]; known {
		return label
	}
	if place, ok := p.classifier.Place(f); ok {
		return place.Profile
	}
	return p.majority
}

// nearest returns the profile of the newest run of the most similar task, which has the largest Jaccard index of the facts.
// Among equally similar tasks it is the one whose first run is newest.
func (p *predictor) nearest(f *cohort.Facts) int {
	facts, best, label := factSet(f), -1.0, p.majority
	for i, other := range p.facts {
		shared := 0
		for fact := range facts {
			if other[fact] {
				shared++
			}
		}
		if similarity := float64(shared) / float64(len(facts)+len(other)-shared); similarity >= best {
			best, label = similarity, p.labels[i]
		}
	}
	return label
}

func factSet(f *cohort.Facts) map[string]bool {
	facts := map[string]bool{"dag " + f.Task.DAG: true, "task " + f.Task.Task: true}
	for name, values := range f.Metadata {
		for _, v := range values {
			facts["metadata "+name+" "+v] = true
		}
	}
	for name, v := range f.Features {
		if v.Kind == sizing.Category {
			facts["feature "+name+" "+v.Text] = true
		}
	}
	return facts
}
