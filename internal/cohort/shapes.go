package cohort

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/shape"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Shapes predicts the shape of the run times of a task with few runs from its facts, node type and
// cluster load. A shape is a distribution of the ratio of run time to prediction that several tasks share.
// The membership of a task holds the probability of each shape. Shapes is immutable and safe for
// concurrent use.
//
//	facts ─▶ classifier ─▶ prior of the task's membership in the shapes ── own runs ─▶ membership
//	membership · errors of the tasks of each shape ─▶ mixture ─▶ quantiles of the run time
type Shapes struct {
	classifier
	shapes []int               // index of the shape of each class in the set of shapes
	unseen []errorDistribution // by class; errors of RunTimes on tasks of the class that its trees had not learned, without own runs
	own    []errorDistribution // by class; errors of RunTimes on the same tasks, after 1 to MaxOwnRuns own runs
}

// shapeTrees holds the parameters of the trees of the classifier. It has half as many rounds as
// profileTrees, because every prediction for a task with few runs passes through these trees.
var shapeTrees = gbt.Config{Rounds: 20, LearningRate: 0.2, MaxDepth: 3, MinLeafRows: 5, Subsample: 0.7, ColSample: 0.5, Seed: 1}

const (
	maxShapeValues = 4000 // largest number of values of categories: the most frequent ones, by number of tasks
	maxShapeErrors = 200  // largest number of errors of each distribution
)

// FitShapes learns which facts lead to which shape. The labels are the indices of the shapes of the tasks
// with enough runs. FitShapes returns nil if there are too few tasks or fewer than two shapes, or if no fit is possible.
// It also returns nil if the classifier does not predict the shapes of unseen tasks clearly better than the shares of the
// shapes among the tasks do. It completes the metadata of rows in place.
func FitShapes(rows []Row, labels map[sizing.TaskKey]int) *Shapes {
	completeMetadata(rows)
	runs, shapes := labelShapes(rows, labels)
	tasks := newestRuns(runs, profileRuns)
	if len(shapes) < 2 || len(tasks) < minProfileTasks {
		return nil
	}
	order, losses, err := unseenLosses(tasks, len(shapes), shapeTrees)
	if err != nil {
		return nil // no fit is possible
	}
	best := smallestMean(losses)
	if !isClearlyLess(losses[best], shareLosses(order, len(shapes))) {
		return nil
	}
	c, err := fitClassifier(tasks, len(shapes), shapeTrees)
	if err != nil {
		return nil
	}
	c.temperature = temperatures[best]
	keepFrequent(c.facts.Values, maxShapeValues)
	s := &Shapes{classifier: *c, shapes: shapes}
	s.setErrors(runs)
	return s
}

// labelShapes groups the newest successes by task, and returns the shapes of the tasks in ascending order; the index in
// shapes is the class. Row.Peak is the run time in seconds, because the encoder takes its target from this field.
func labelShapes(rows []Row, labels map[sizing.TaskKey]int) (tasks []*labelledTask, shapes []int) {
	known := map[sizing.TaskKey]*labelledTask{}
	for i := range rows {
		r := rows[i]
		label, ok := labels[r.Task]
		if !ok || r.Killed || !(r.Seconds > 0) {
			continue
		}
		t := known[r.Task]
		if t == nil {
			t = &labelledTask{taskRows: taskRows{key: r.Task}}
			known[r.Task] = t
			tasks, shapes = append(tasks, t), append(shapes, label)
		}
		r.Peak = max(r.Seconds, minSeconds)
		if t.rows = append(t.rows, r); len(t.rows) > RowsPerTask {
			t.rows = slices.Delete(t.rows, 0, 1)
		}
	}
	slices.Sort(shapes)
	shapes = slices.Compact(shapes)
	for _, t := range tasks {
		t.classes = slices.Repeat([]int{slices.Index(shapes, labels[t.key])}, len(t.rows))
	}
	return tasks, shapes
}

// shareLosses returns the log losses of tasks if the shares of the classes among the tasks are the predicted
// probabilities. Each class gets one additional task (Laplace smoothing). The shares come from the same tasks, so they
// are hard to beat.
func shareLosses(tasks []*labelledTask, classes int) []float64 {
	counts := make([]float64, classes)
	for _, t := range tasks {
		counts[t.classes[0]]++
	}
	losses := make([]float64, len(tasks))
	for i, t := range tasks {
		losses[i] = -math.Log((counts[t.classes[0]] + 1) / float64(len(tasks)+classes))
	}
	return losses
}

// isClearlyLess reports whether `losses` are on average more than one standard error below `others`.
func isClearlyLess(losses, others []float64) bool {
	n, mean, squares := float64(len(losses)), 0.0, 0.0
	for i, loss := range losses {
		mean += (others[i] - loss) / n
	}
	for i, loss := range losses {
		squares += (others[i] - loss - mean) * (others[i] - loss - mean)
	}
	return mean > math.Sqrt(squares/(n-1)/n)
}

// keepFrequent deletes all but the `limit` values with the most tasks.
func keepFrequent(values map[uint64]statistic, limit int) {
	keys := slices.SortedFunc(maps.Keys(values), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(values[b].Tasks, values[a].Tasks), cmp.Compare(a, b))
	})
	for _, key := range keys[min(limit, len(keys)):] {
		delete(values, key)
	}
}

func newestRuns(tasks []*labelledTask, n int) []*labelledTask {
	newest := make([]*labelledTask, len(tasks))
	for i, t := range tasks {
		c := *t
		from := max(0, len(c.rows)-n)
		c.rows, c.classes = c.rows[from:], c.classes[from:]
		newest[i] = &c
	}
	return newest
}

// setErrors sets the errors of RunTimes on the tasks of each class. If the cross-validation fails, the
// classes have no errors, and WithShape uses those of all tasks.
func (s *Shapes) setErrors(tasks []*labelledTask) {
	s.unseen, s.own = make([]errorDistribution, len(s.shapes)), make([]errorDistribution, len(s.shapes))
	unlabelled, class := make([]*taskRows, len(tasks)), map[*taskRows]int{}
	for i, t := range tasks {
		unlabelled[i] = withoutPlacement(&t.taskRows)
		class[unlabelled[i]] = t.classes[0]
	}
	errors := map[*taskRows][]weightedError{}
	var all []weightedError
	for _, u := range crossValidate(unlabelled, false) {
		errors[u.taskRows], all = u.errors, append(all, u.errors...)
	}
	if len(all) == 0 {
		return
	}
	unseen := newErrors(all)
	_, within := ownErrors(unlabelled)
	between := betweenTasks(&unseen, within)
	byClass := make([][2][]weightedError, len(s.shapes))
	for _, t := range unlabelled {
		c := &byClass[class[t]]
		c[0], c[1] = append(c[0], errors[t]...), append(c[1], shrunkErrors(t, errors[t], between, within)...)
	}
	for c := range s.shapes {
		s.unseen[c], s.own[c] = newErrorsUpTo(byClass[c][0], maxShapeErrors), newErrorsUpTo(byClass[c][1], maxShapeErrors)
	}
}

// withoutPlacement returns a copy of t without node types and cluster loads, which RunTimes do not learn.
func withoutPlacement(t *taskRows) *taskRows {
	c := *t
	c.rows = slices.Clone(t.rows)
	for i := range c.rows {
		c.rows[i].Placement = sizing.Placement{}
	}
	return &c
}

// shrunkErrors returns the errors of RunTimes.Predict on the runs of a task after 1 to MaxOwnRuns own runs. `errors` are
// those without own runs.
func shrunkErrors(t *taskRows, errors []weightedError, between, within float64) (shrunk []weightedError) {
	mean, n := 0.0, 0
	for i := range t.rows {
		y := math.Log(t.rows[i].Peak)
		if n > 0 {
			shrunk = append(shrunk, weightedError{y - shrink(y-errors[i].Error, mean, float64(n), between, within), errors[i].Weight})
		}
		if n++; n > MaxOwnRuns {
			mean, n = 0, 0
			continue
		}
		mean += (y - mean) / float64(n)
	}
	return shrunk
}

// Probabilities returns the prior probabilities of the shapes of a task. It returns the zero value for
// nil Shapes.
func (s *Shapes) Probabilities(f *Facts) (given shape.Given) {
	if s == nil {
		return given
	}
	var buffer [maxClasses]float64
	p := buffer[:len(s.shapes)]
	s.probabilities(f, p)
	for class, index := range s.shapes {
		given[index] = p[class]
	}
	return given
}

// WithShape returns r with the errors on the tasks of each shape, weighted by the membership m of the task. In place of the
// errors of a shape with too few of them, it uses the errors on all tasks. It returns r for nil Shapes.
func (s *Shapes) WithShape(r RunTime, own OwnRuns, m *shape.Membership) RunTime {
	if s == nil {
		return r
	}
	byClass, mix := s.unseen, &errorMixture{}
	if own.Runs > 0 {
		byClass = s.own
	}
	rest := 1.0
	for class, index := range s.shapes {
		if d := &byClass[class]; d.weight() >= minErrors {
			mix.add(d, m.Posterior[index])
			rest -= m.Posterior[index]
		}
	}
	mix.add(r.errors, max(0, rest))
	r.shapes = mix
	return r
}

type errorMixture struct {
	parts   [shape.MaxShapes + 1]*errorDistribution
	weights [shape.MaxShapes + 1]float64 // the sum may be less than 1, because add ignores small parts
	n       int
}

// minPart is the smallest weight of a part of an errorMixture. Each part costs time in every prediction.
const minPart = 0.02

func (m *errorMixture) add(d *errorDistribution, weight float64) {
	if weight >= minPart {
		m.parts[m.n], m.weights[m.n] = d, weight
		m.n++
	}
}

func (m *errorMixture) above(bound float64) float64 {
	sum, total := 0.0, 0.0
	for i := range m.n {
		sum, total = sum+m.weights[i]*m.parts[i].above(bound), total+m.weights[i]
	}
	return sum / total
}

// below returns the probability that a future error is at most bound. Each part counts one further error, which has the
// mean weight and is above all others (split conformal prediction).
func (m *errorMixture) below(bound float64) float64 {
	sum, total := 0.0, 0.0
	for i := range m.n {
		n := float64(len(m.parts[i].errors))
		sum, total = sum+m.weights[i]*(1-m.parts[i].above(bound))*n/(n+1), total+m.weights[i]
	}
	return sum / total
}

// quantile returns the error that a future error does not exceed with the given probability. It bisects between the smallest
// and the largest quantile of the parts, so the result is at most the largest error.
func (m *errorMixture) quantile(probability float64) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range m.n {
		part := m.parts[i]
		q := part.quantile(probability, part.weight()/float64(len(part.errors)))
		low, high = min(low, q), max(high, q)
	}
	for range mixtureBisections {
		if middle := (low + high) / 2; m.below(middle) >= probability {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// mixtureBisections gives quantiles an accuracy of a hundredth of the distance between the quantiles of the parts.
const mixtureBisections = 7
