package usageprofile

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Predictability says how well facts that are known before the first run of a task predict its profile. Naive Bayes predicts
// every task from the other tasks (leave one task out). No accuracy is below that of predicting the most frequent profile
// for every task.
type Predictability struct {
	Tasks    int
	Majority float64 // share of the most frequent profile: the accuracy without any fact
	Accuracy float64 // share of the tasks whose profile is predicted correctly from all fields
	Fields   []Field // the most useful first
}

// Field says what one field contributes.
type Field struct {
	Name    string  // such as metadata.owner, dag_id or requested.memory
	Tasks   int     // number of tasks that have the field
	Alone   float64 // accuracy with this field alone
	Without float64 // accuracy with all other fields
}

// The bounds of the prediction. Names and values come from callers, so their numbers are limited.
const (
	maxFields     = 24  // largest number of fields: the most frequent ones, by number of tasks
	maxValues     = 5   // largest number of values of a field with several values, such as tags: the first ones
	minTasks      = 20  // smallest number of tasks for a prediction; fewer tasks show nothing
	pseudoCount   = 0.5 // added to each count
	metadataField = "metadata."
)

type facts map[string][]string

// factsOf returns the facts that are known before a run. Requested memory counts as the nearest power of two.
func factsOf(r *sizing.ContextRow) facts {
	f := facts{"dag_id": {r.Task.DAG}, "task_id": {r.Task.Task}}
	if r.Requested.Memory > 0 {
		f["requested.memory"] = []string{strconv.Itoa(int(math.Round(math.Log2(float64(r.Requested.Memory)))))}
	}
	for name, values := range r.Metadata {
		if len(values) > 0 {
			f[metadataField+name] = values[:min(len(values), maxValues)]
		}
	}
	return f
}

// predict sets s.Predictability from the facts of the newest run of each task. The outlier group counts as a profile.
func (s *Set) predict(runs []Run) {
	tasks := make([]facts, len(s.Tasks))
	for i := range runs {
		tasks[s.TaskOf[i]] = runs[i].facts
	}
	classes := make([]int, len(tasks))
	for task := range tasks {
		most, counts := 0, s.countsOf(int32(task))
		for class, n := range counts {
			if n > counts[most] {
				most = class
			}
		}
		classes[task] = most
	}
	if len(tasks) >= minTasks {
		s.Predictability = newBayes(tasks, classes, len(s.Profiles)+1).evaluate(tasks, classes)
	}
}

// bayes holds the counts of a naive Bayes classifier. A class is a profile or the outlier group.
type bayes struct {
	fields  []string
	tasks   []float64             // number of tasks, by class
	known   [][]float64           // number of tasks with a field, by field and class
	values  []map[string]struct{} // distinct values, by field
	matches map[match]float64     // number of tasks with a value
}

type match struct {
	field, class int
	value        string
}

func newBayes(tasks []facts, classes []int, classCount int) *bayes {
	b := &bayes{fields: frequentFields(tasks), tasks: make([]float64, classCount), matches: map[match]float64{}}
	for range b.fields {
		b.known, b.values = append(b.known, make([]float64, classCount)), append(b.values, map[string]struct{}{})
	}
	for i, f := range tasks {
		b.tasks[classes[i]]++
		for field, name := range b.fields {
			for _, value := range f[name] {
				b.matches[match{field, classes[i], value}]++
				b.values[field][value] = struct{}{}
			}
			if len(f[name]) > 0 {
				b.known[field][classes[i]]++
			}
		}
	}
	return b
}

func frequentFields(tasks []facts) []string {
	counts := map[string]int{}
	for _, f := range tasks {
		for name := range f {
			counts[name]++
		}
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	return names[:min(len(names), maxFields)]
}

// logPrior returns a log probability up to a constant, without counting the task itself, whose class is `own`.
func (b *bayes) logPrior(class, own int) float64 {
	n := b.tasks[class]
	if class == own {
		n--
	}
	return math.Log(n + pseudoCount)
}

// logLikelihood returns the mean log probability of the values of a field in a class, without counting the task itself,
// whose class is `own`.
func (b *bayes) logLikelihood(field, class, own int, values []string) float64 {
	self := 0.0
	if class == own {
		self = 1
	}
	all := b.known[field][class] - self + pseudoCount*float64(len(b.values[field])+1)
	sum := 0.0
	for _, value := range values {
		sum += math.Log((b.matches[match{field, class, value}] - self + pseudoCount) / all)
	}
	return sum / float64(max(1, len(values)))
}

// evaluate returns the accuracies of the predictions. It raises each accuracy to at least the share of the most frequent
// profile. Otherwise fields that say nothing would have an accuracy of 0 if the profiles have equally many tasks: without the
// task itself, its own profile is the rarest.
func (b *bayes) evaluate(tasks []facts, classes []int) *Predictability {
	p := &Predictability{Tasks: len(tasks), Majority: slices.Max(b.tasks) / float64(len(tasks)), Fields: make([]Field, len(b.fields))}
	share := 1 / float64(len(tasks))
	scores := make([][]float64, len(b.fields))
	for i := range scores {
		scores[i] = make([]float64, len(b.tasks))
	}
	prior, total, buffer := make([]float64, len(b.tasks)), make([]float64, len(b.tasks)), make([]float64, len(b.tasks))
	for i, f := range tasks {
		own := classes[i]
		for class := range prior {
			prior[class] = b.logPrior(class, own)
			total[class] = prior[class]
			for field, name := range b.fields {
				scores[field][class] = 0
				if len(f[name]) > 0 {
					scores[field][class] = b.logLikelihood(field, class, own, f[name])
				}
				total[class] += scores[field][class]
			}
		}
		if indexOfLargest(total) == own {
			p.Accuracy += share
		}
		for field, name := range b.fields {
			if len(f[name]) > 0 {
				p.Fields[field].Tasks++
			}
			for class := range buffer {
				buffer[class] = prior[class] + scores[field][class]
			}
			if indexOfLargest(buffer) == own {
				p.Fields[field].Alone += share
			}
			for class := range buffer {
				buffer[class] = total[class] - scores[field][class]
			}
			if indexOfLargest(buffer) == own {
				p.Fields[field].Without += share
			}
		}
	}
	p.Accuracy = max(p.Accuracy, p.Majority)
	for field, name := range b.fields {
		f := &p.Fields[field]
		f.Name, f.Alone, f.Without = name, max(f.Alone, p.Majority), max(f.Without, p.Majority)
	}
	slices.SortStableFunc(p.Fields, func(a, b Field) int {
		return cmp.Or(cmp.Compare(a.Without, b.Without), cmp.Compare(b.Alone, a.Alone), cmp.Compare(a.Name, b.Name))
	})
	return p
}

// indexOfLargest returns the index of the largest number, the first one among equals.
func indexOfLargest(list []float64) int {
	most := 0
	for i, v := range list {
		if v > list[most] {
			most = i
		}
	}
	return most
}
