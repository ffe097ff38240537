package cohort

import (
	"math"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The trees err more on a task of a new DAG, or with a new name, than on other tasks that they have not learned. Such tasks
// are rare among the unseen tasks. So wideningOf estimates the size of their errors separately, and for such a task all errors
// are multiplied by a factor; see widening.

// novelty says whether the DAG and the name of a task are new: no learned task has them.
type novelty int

const (
	newDAG    novelty = 1
	newName   novelty = 2
	novelties         = 4 // number of combinations
)

// novelty returns the novelty of a task. If the trees do not use DAGs, no DAG is new; the same is true of names.
func (e *encoder) novelty(task *sizing.TaskKey) (n novelty) {
	if e.isNew(dagID, task.DAG) {
		n |= newDAG
	}
	if e.isNew(taskID, task.Task) {
		n |= newName
	}
	return n
}

func (e *encoder) isNew(category, value string) bool {
	return e.uses(category) && e.Values[hashOf(category, value)].Tasks == 0
}

func (e *encoder) uses(category string) bool {
	_, found := slices.BinarySearch(e.Categories, category)
	return found
}

// widening holds for each novelty the factor on the errors. A factor below 1 counts as 1, so the zero value changes no error.
type widening [novelties]float64

// wideningOf compares the errors on new tasks with all errors on unseen tasks: the factor is the ratio of their root mean
// squares. The mean square of the errors of one novelty is averaged with that of all errors, which counts as minErrors
// errors. While a novelty has fewer errors than that, its factor is at least its factor in `before`. A task with a new
// DAG and a new name is at least as uncertain as a task with only one of them.
func wideningOf(all []weightedError, byNovelty *[novelties][]weightedError, before widening) (w widening) {
	typical := squares(all) / weightOf(all)
	if !(typical > 0) {
		return before
	}
	for n := newDAG; n < novelties; n++ {
		errors := byNovelty[n]
		square := (squares(errors) + minErrors*typical) / (weightOf(errors) + minErrors)
		if w[n] = math.Sqrt(square / typical); weightOf(errors) < minErrors {
			w[n] = max(w[n], before[n])
		}
	}
	w[newDAG|newName] = max(w[newDAG|newName], w[newDAG], w[newName])
	return w
}

func weightOf(errors []weightedError) (sum float64) {
	for _, e := range errors {
		sum += e.Weight
	}
	return sum
}

func (w *widening) isValid() bool {
	for _, factor := range w {
		if !(factor >= 0) || math.IsInf(factor, 0) {
			return false
		}
	}
	return true
}

func (w *widening) lists(errors errorList) (lists [novelties]errorList) {
	for n, factor := range w {
		if lists[n] = errors; !(factor > 1) {
			continue
		}
		wider := slices.Clone(errors.errors)
		for i := range wider {
			wider[i].Error *= factor
		}
		lists[n] = newErrorList(wider)
	}
	return lists
}

func (m *Model) forTask(f *Facts) *Model {
	updated := *m
	updated.errorList = m.errorsFor(m.novelty(&f.Task), m.unknownGroup(f))
	return &updated
}

// unknownGroup identifies a list of errors that contains those of an unknown group.
type unknownGroup struct {
	novelty     novelty
	probability float64
}

// errorsFor returns the errors for a novelty and a probability of an unknown group (see unknownGroup). It keeps each list
// with an unknown group, because it takes 0.2 ms to make one of 10,000 errors. There are only a few such lists: the
// probability has one value per category.
func (m *Model) errorsFor(n novelty, probability float64) errorList {
	if probability == 0 || len(m.widenedErrors[n].errors) == 0 {
		return m.widenedErrors[n]
	}
	key := unknownGroup{n, probability}
	if l, ok := m.groupErrors.Load(key); ok {
		return l.(errorList)
	}
	l := m.widenedErrors[n].withUnknownGroup(probability)
	m.groupErrors.Store(key, l)
	return l
}

// unknownGroup returns the probability that the task belongs to a group, such as a DAG or the tasks of an owner, of a kind that
// the known groups do not show: 1/(n+1) for n known groups, as for tasks in ratios.next. A group is new if none of the task's
// values of the category is known. Of several new groups, that of the category with the fewest known groups counts. The result
// is 0 without a new group.
func (e *encoder) unknownGroup(f *Facts) (probability float64) {
	var present, known [maxCategories]bool
	f.eachCategory(func(name, value string) {
		if i, ok := slices.BinarySearch(e.Categories, name); ok && groupsTasks(name) {
			present[i] = true
			known[i] = known[i] || e.Values[hashOf(name, value)].Tasks > 0
		}
	})
	for i, n := range e.Known {
		if present[i] && !known[i] && n > 0 {
			probability = max(probability, 1/float64(n+1))
		}
	}
	return probability
}

func groupsTasks(category string) bool {
	return category == dagID || strings.HasPrefix(category, metadataPrefix)
}

// unknownErrors is the number of errors with equal weights that stand for the errors of an unknown group.
const unknownErrors = 64

// withUnknownGroup adds, with the given probability, the errors of a task of an unknown group. They are normally distributed
// around the mean of the known errors, with a standard deviation of ratioSpread. If the standard deviation of the known
// errors is at least ratioSpread, these errors cover an unknown group, too, and the list stays unchanged.
func (l errorList) withUnknownGroup(probability float64) errorList {
	mean, weight := 0.0, l.weight()
	for _, e := range l.errors {
		mean += e.Weight / weight * e.Error
	}
	if squares(l.errors)/weight-mean*mean >= ratioSpread*ratioSpread {
		return l
	}
	errors := make([]weightedError, 0, len(l.errors)+unknownErrors)
	known := l.errors
	for i := range unknownErrors {
		level := (float64(i) + .5) / unknownErrors
		e := mean + ratioSpread*math.Sqrt2*math.Erfinv(2*level-1)
		for len(known) > 0 && known[0].Error <= e {
			errors, known = append(errors, known[0]), known[1:]
		}
		errors = append(errors, weightedError{e, weight * probability / (1 - probability) / unknownErrors})
	}
	return newErrorList(append(errors, known...))
}

// byNovelty returns the errors of tasks by the novelty of the task for the model that has not learned it.
func byNovelty(tasks []unseenTask) (errors [novelties][]weightedError) {
	for i := range tasks {
		n := tasks[i].model.novelty(&tasks[i].key)
		errors[n] = append(errors[n], tasks[i].errors...)
	}
	return errors
}

// crossValidateNew is like crossValidate, but each fold holds out all tasks of some DAGs and all tasks with some names, if
// the trees use DAGs and names. So the models of the folds do not know these DAGs and names.
func crossValidateNew(tasks []*taskRows, byRequest bool) []unseenTask {
	e := newEncoder(tasks, byRequest)
	dags, names := map[string]int{}, map[string]int{} // folds
	for _, t := range permuted(tasks, 0) {
		if _, known := dags[t.key.DAG]; !known {
			dags[t.key.DAG] = len(dags) % folds
		}
		if _, known := names[t.key.Task]; !known {
			names[t.key.Task] = len(names) % folds
		}
	}
	return holdOut(tasks, byRequest, func(t *taskRows, fold int) bool {
		return e.uses(dagID) && dags[t.key.DAG] == fold || e.uses(taskID) && names[t.key.Task] == fold
	})
}
