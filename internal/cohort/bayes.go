package cohort

import (
	"cmp"
	"math"
	"slices"
)

const (
	maxBayesValues = 4000 // largest number of values: the most frequent ones, by number of tasks
	pseudoCount    = 0.5  // smoothing of the shares, in tasks
)

// bayes scores the classes of a task (usage profiles or shapes) by its categories, as naive Bayes does. Each task has
// weight 1.
type bayes struct {
	Classes int
	Prior   []float32            // number of tasks by class
	Values  map[uint64][]float32 // by hash of name and value: number of tasks with the value, by class
}

// newBayes returns a bayes that has counted no task yet. It knows the maxBayesValues most frequent values in the newest rows
// of the tasks. The number of values is bounded because names and values come from callers.
func newBayes(tasks []*labelledTask, classes int) bayes {
	counts := map[uint64]int{}
	for _, t := range tasks {
		t.rows[len(t.rows)-1].eachCategory(func(name, value string) { counts[hashOf(name, value)]++ })
	}
	values := make([]uint64, 0, len(counts))
	for v := range counts {
		values = append(values, v)
	}
	slices.SortFunc(values, func(a, b uint64) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	b := bayes{Classes: classes, Prior: make([]float32, classes), Values: map[uint64][]float32{}}
	for _, v := range values[:min(len(values), maxBayesValues)] {
		b.Values[v] = make([]float32, classes)
	}
	return b
}

func (b *bayes) learn(t *labelledTask) {
	weight := 1 / float32(len(t.rows))
	for i := range t.rows {
		b.Prior[t.classes[i]] += weight
		t.rows[i].eachCategory(func(name, value string) {
			if counts := b.Values[hashOf(name, value)]; counts != nil {
				counts[t.classes[i]] += weight
			}
		})
	}
}

// scores appends the score of every class to dst. The score is the log of the share of the class among all
// the tasks, plus for each known value the log of a ratio: the share of the class among the tasks with
// the value, divided by its share among all tasks.
func (b *bayes) scores(f *Facts, dst []float64) []float64 {
	from, all := len(dst), float32(0)
	for _, n := range b.Prior {
		all += n
	}
	for _, n := range b.Prior {
		dst = append(dst, math.Log(b.share(n, all)))
	}
	s := dst[from:]
	f.eachCategory(func(name, value string) {
		counts := b.Values[hashOf(name, value)]
		with := float32(0)
		for _, n := range counts {
			with += n
		}
		if with == 0 {
			return
		}
		for c, n := range counts {
			prior := b.share(b.Prior[c], all)
			s[c] += math.Log((float64(n) + pseudoCount*prior) / (float64(with) + pseudoCount) / prior)
		}
	})
	return dst
}

// share returns the smoothed share of n tasks among `all` tasks.
func (b *bayes) share(n, all float32) float64 {
	return (float64(n) + pseudoCount) / (float64(all) + pseudoCount*float64(b.Classes))
}
