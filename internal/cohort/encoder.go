package cohort

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

const (
	maxNumbers    = 24     // largest number of numeric columns
	maxCategories = 24     // largest number of categories, each with two columns
	maxValues     = 20_000 // largest number of values of all categories together
	priorWeight   = 1.0    // weight of the mean of all tasks in a target statistic, in tasks
)

// statistic is the target statistic of one value. Each task has weight 1, divided among its rows.
type statistic struct {
	Sum   float64 // weighted sum of the targets
	Tasks float64 // total weight
}

// encoder turns facts into a row of numbers. NaN is unknown.
type encoder struct {
	Numbers    []string             // names, in alphabetical order
	Categories []string             // names, in alphabetical order
	Mean       float64              // mean target of the tasks
	Values     map[uint64]statistic // target statistics of the categories, by hash of name and value
	Known      []int                // by category: number of known values; nil in a model of an earlier release
	byRequest  bool                 // the target is the log ratio of peak to request, not the log peak
}

func (e *encoder) target(r *Row) float64 {
	if e.byRequest {
		return math.Log(r.Peak / float64(r.Requested.Memory))
	}
	return math.Log(r.Peak)
}

// newEncoder chooses the maxNumbers numbers and the maxCategories categories that the most tasks have in their oldest row.
// It ignores names that say nothing about other tasks, because their columns would displace useful columns when the
// trees draw columns: numbers with the same value in all tasks, categories with a single value, and categories whose
// values never recur.
func newEncoder(tasks []*taskRows, byRequest bool) *encoder {
	numbers, categories := map[string]int{}, map[string]int{}
	firstNumber, firstText := map[string]float64{}, map[string]string{}
	varies, recurs := map[string]bool{}, map[string]bool{}
	seen := map[uint64]bool{}
	for _, t := range tasks {
		f := &t.rows[0].Facts
		f.eachNumber(func(name string, v float64) {
			if numbers[name]++; numbers[name] == 1 {
				firstNumber[name] = v
			} else if firstNumber[name] != v {
				varies[name] = true
			}
		})
		f.eachCategory(func(name, value string) {
			if categories[name]++; categories[name] == 1 {
				firstText[name] = value
			} else if firstText[name] != value {
				varies[name] = true
			}
			hash := hashOf(name, value)
			recurs[name] = recurs[name] || seen[hash]
			seen[hash] = true
		})
	}
	maps.DeleteFunc(numbers, func(name string, n int) bool { return n == len(tasks) && !varies[name] })
	maps.DeleteFunc(categories, func(name string, _ int) bool { return !varies[name] || !recurs[name] })
	e := &encoder{Numbers: mostFrequent(numbers, maxNumbers), Categories: mostFrequent(categories, maxCategories), Values: map[uint64]statistic{}, byRequest: byRequest}
	e.Known = make([]int, len(e.Categories))
	return e
}

// mostFrequent returns the `limit` names with the largest counts, in alphabetical order.
func mostFrequent(counts map[string]int, limit int) []string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	names = names[:min(limit, len(names))]
	slices.Sort(names)
	return names
}

func (e *encoder) columns() int { return len(e.Numbers) + 2*len(e.Categories) }

// encode appends the numbers, and two columns per category: the smoothed mean target of the tasks with the same value, and
// log1p of the number of these tasks.
func (e *encoder) encode(f *Facts, dst []float64) []float64 {
	from := len(dst)
	for range e.columns() {
		dst = append(dst, math.NaN())
	}
	x := dst[from:]
	f.eachNumber(func(name string, v float64) {
		if i, known := slices.BinarySearch(e.Numbers, name); known {
			x[i] = v
		}
	})
	var known [maxCategories]statistic // sums over the values of one name, such as tags
	var present [maxCategories]bool
	f.eachCategory(func(name, value string) {
		if i, ok := slices.BinarySearch(e.Categories, name); ok {
			s := e.Values[hashOf(name, value)]
			known[i].Sum, known[i].Tasks = known[i].Sum+s.Sum, known[i].Tasks+s.Tasks
			present[i] = true
		}
	})
	for i := range e.Categories {
		at := len(e.Numbers) + 2*i
		if present[i] {
			x[at+1] = math.Log1p(known[i].Tasks)
		}
		if known[i].Tasks > 0 {
			x[at] = (known[i].Sum + priorWeight*e.Mean) / (known[i].Tasks + priorWeight)
		}
	}
	return dst
}

func (e *encoder) learn(t *taskRows) {
	weight := 1 / float64(len(t.rows))
	for i := range t.rows {
		r := &t.rows[i]
		y := e.target(r)
		r.eachCategory(func(name, value string) {
			i, ok := slices.BinarySearch(e.Categories, name)
			if !ok {
				return
			}
			key := hashOf(name, value)
			s, seen := e.Values[key]
			if !seen && len(e.Values) == maxValues {
				return
			}
			if !seen {
				e.Known[i]++
			}
			e.Values[key] = statistic{s.Sum + weight*y, s.Tasks + weight}
		})
	}
}

// hashOf returns the 64-bit FNV-1a hash of a name and a value.
func hashOf(name, value string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	h *= 1099511628211 // separates name and value
	for i := range len(value) {
		h = (h ^ uint64(value[i])) * 1099511628211
	}
	return h
}
