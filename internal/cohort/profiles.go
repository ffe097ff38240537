package cohort

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

const (
	minProfileTasks = 20   // smallest number of tasks for a fit, each with a run in one of the classes; fewer tasks do not show which facts lead to which profile
	profileRuns     = 5    // largest number of runs of a task that are used: the newest
	maxProfileRows  = 4000 // largest number of rows that are used: the newest
	maxClasses      = 16   // largest number of classes (profiles and the outlier group): those with the most tasks
	profileFolds    = 4    // of the cross-validation
)

// profileTrees holds the parameters of the trees of the classifier. It has fewer rounds than treeConfig,
// because each round fits one tree per class.
var profileTrees = gbt.Config{Rounds: 40, LearningRate: 0.1, MaxDepth: 3, MinLeafRows: 5, Subsample: 0.7, ColSample: 0.5, Seed: 1}

// Profiles predicts the usage profile of a task without history from its facts, and from the probabilities of the profiles
// its memory, CPU and GPU memory. It is immutable and safe for concurrent use.
//
//	facts ─▶ numbers, target statistics, naive Bayes scores ─▶ boosted trees ─▶ temperature ─▶ P(profile)
//	P(profile) · distributions of the profiles ─▶ mixture ─▶ quantiles
type Profiles struct {
	classifier
	classes []class
}

// classifier predicts the class of a task (its usage profile, or its shape in Shapes) from its facts.
type classifier struct {
	facts       encoder
	bayes       bayes
	trees       *gbt.Classifier
	temperature float64 // divides the scores of the trees (Guo et al. 2017)
}

// class is a usage profile or the outlier group.
type class struct {
	ID      int // of the profile; 0 is the outlier group, the runs without a profile
	Tasks   int // number of tasks with a run in the profile
	Runs    int
	Spreads [quantities]distribution // distributions of the quantities over the tasks of the profile
}

type labelledTask struct {
	taskRows
	classes []int // by row
}

// FitProfiles learns which facts lead to which profile of `set`. It returns nil if there are too few tasks or fewer than
// two classes (profiles, or the outlier group), or if no fit is possible. It completes the metadata of `rows` in place.
func FitProfiles(rows []Row, set *usageprofile.Set) *Profiles {
	completeMetadata(rows)
	tasks, ids := labelRows(rows, set)
	if len(ids) < 2 || len(tasks) < minProfileTasks {
		return nil
	}
	c, err := fitClassifier(tasks, len(ids), profileTrees)
	if err != nil {
		return nil // no fit is possible
	}
	c.temperature = calibrate(tasks, len(ids))
	return &Profiles{*c, describe(tasks, ids)}
}

// labelRows groups the newest rows by task and returns the ids of the profiles with the most tasks; the index in ids is the
// class. It drops rows of other profiles.
func labelRows(rows []Row, set *usageprofile.Set) (tasks []*labelledTask, ids []int) {
	byTask := map[sizing.TaskKey]int{}
	var newest []*Row
	for i := len(rows) - 1; i >= 0 && len(newest) < maxProfileRows; i-- {
		if r := &rows[i]; byTask[r.Task] < profileRuns && r.Peak > 0 {
			byTask[r.Task]++
			newest = append(newest, r)
		}
	}
	slices.Reverse(newest)
	profiles, weights := make([]int, len(newest)), map[int]float64{}
	for i, r := range newest {
		profiles[i] = set.Place(&r.Usage).Profile.ID
		weights[profiles[i]] += 1 / float64(byTask[r.Task])
	}
	for id := range weights {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int) int { return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b)) })
	ids = ids[:min(len(ids), maxClasses)]
	known := map[sizing.TaskKey]*labelledTask{}
	for i, r := range newest {
		at := slices.Index(ids, profiles[i])
		if at < 0 {
			continue
		}
		t := known[r.Task]
		if t == nil {
			t = &labelledTask{taskRows: taskRows{key: r.Task}}
			known[r.Task] = t
			tasks = append(tasks, t)
		}
		t.rows, t.classes = append(t.rows, *r), append(t.classes, at)
	}
	return tasks, ids
}

// orders is the number of random orders in which a classifier encodes the tasks. Each row of a task is in another order.
const orders = profileRuns

// fitClassifier fits a classifier, whose temperature is 1. It uses ordered target statistics: the facts of a task are encoded
// before the statistics learn the task. As in CatBoost (Prokhorenkova et al. 2018), the order is random and there are
// several. In order of arrival, the tasks of one kind (such as one owner) are often neighbours, so the trees would learn how
// many rows the statistics had when this kind began. In a single random order, the statistics contain nearly all tasks, as
// for a new task, only when the last tasks are encoded. So these few tasks would decide for all new tasks.
func fitClassifier(tasks []*labelledTask, classes int, trees gbt.Config) (*classifier, error) {
	unlabelled := make([]*taskRows, len(tasks))
	for i, t := range tasks {
		unlabelled[i] = &t.taskRows
	}
	p := &classifier{facts: *newEncoder(unlabelled, false), temperature: 1}
	for _, t := range unlabelled {
		for i := range t.rows {
			p.facts.Mean += p.facts.target(&t.rows[i]) / float64(len(t.rows)) / float64(len(unlabelled))
		}
	}
	data := &table.Table{Names: make([]string, p.facts.columns()+classes)}
	for order := range uint64(orders) {
		p.facts.Values, p.bayes = map[uint64]statistic{}, newBayes(tasks, classes)
		for _, t := range permuted(tasks, order) {
			weight := 1 / math.Sqrt(float64(len(t.rows)))
			for i := range t.rows {
				if (t.randomKey(orders)+uint64(i))%orders == order {
					data.X = p.encode(&t.rows[i].Facts, data.X)
					data.Y, data.W = append(data.Y, float64(t.classes[i])), append(data.W, weight)
				}
			}
			p.facts.learn(&t.taskRows)
			p.bayes.learn(t)
		}
	}
	var err error
	p.trees, err = gbt.FitClassifier(data, nil, classes, trees)
	return p, err
}

func (c *classifier) columns() int { return c.facts.columns() + c.bayes.Classes }

func (c *classifier) encode(f *Facts, dst []float64) []float64 {
	return c.bayes.scores(f, c.facts.encode(f, dst))
}

const maxInputs = maxNumbers + 2*maxCategories + maxClasses

// scores writes the raw scores of all classes to s.
func (c *classifier) scores(f *Facts, s []float64) {
	var buffer [maxInputs]float64
	c.trees.Scores(c.encode(f, buffer[:0]), s)
}

// probabilities writes the calibrated probabilities of all classes to s.
func (c *classifier) probabilities(f *Facts, s []float64) {
	c.scores(f, s)
	softmax(s, c.temperature)
}

func softmax(s []float64, temperature float64) {
	top, sum := slices.Max(s), 0.0
	for i, v := range s {
		s[i] = math.Exp((v - top) / temperature)
		sum += s[i]
	}
	for i := range s {
		s[i] /= sum
	}
}

// temperatures lists the candidates of a calibration. Trees fitted on few tasks are overconfident, so most
// temperatures are above 1.
var temperatures = []float64{0.7, 0.85, 1, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 4, 5, 7}

// foldOf returns the fold of a task, from 0 to folds − 1. It does not follow the order of the tasks, because tasks of one
// kind may recur in a cycle. The multiplier spreads the hashes of similar names (Fibonacci hashing).
func foldOf(task sizing.TaskKey, folds uint64) int {
	return int(hashOfTask(task) * 0x9E3779B97F4A7C15 >> 32 % folds)
}

// calibrate returns the temperature with the smallest log loss on tasks that the trees have not seen; 1 if a fit fails.
func calibrate(tasks []*labelledTask, classes int) float64 {
	_, losses, err := unseenLosses(tasks, classes, profileTrees)
	if err != nil {
		return 1
	}
	return temperatures[smallestMean(losses)]
}

// unseenLosses returns the log losses of the tasks for each temperature, from a cross-validation over whole tasks. `order`
// lists the tasks in the order of the losses.
func unseenLosses(tasks []*labelledTask, classes int, trees gbt.Config) (order []*labelledTask, losses [][]float64, err error) {
	losses = make([][]float64, len(temperatures))
	scores, scaled := make([]float64, classes), make([]float64, classes)
	for fold := range profileFolds {
		var training, unseen []*labelledTask
		for _, t := range tasks {
			if foldOf(t.key, profileFolds) == fold {
				unseen = append(unseen, t)
			} else {
				training = append(training, t)
			}
		}
		if len(unseen) == 0 {
			continue
		}
		p, err := fitClassifier(training, classes, trees)
		if err != nil {
			return nil, nil, err
		}
		order = append(order, unseen...)
		for _, t := range unseen {
			for at := range temperatures {
				losses[at] = append(losses[at], 0)
			}
			for i := range t.rows {
				p.scores(&t.rows[i].Facts, scores)
				for at, temperature := range temperatures {
					copy(scaled, scores)
					softmax(scaled, temperature)
					losses[at][len(losses[at])-1] -= math.Log(max(1e-9, scaled[t.classes[i]])) / float64(len(t.rows))
				}
			}
		}
	}
	return order, losses, nil
}

// smallestMean returns the index of the list with the smallest mean. All lists must have the same length.
func smallestMean(lists [][]float64) int {
	best, least := 0, math.Inf(1)
	for at, list := range lists {
		sum := 0.0
		for _, v := range list {
			sum += v
		}
		if sum < least {
			best, least = at, sum
		}
	}
	return best
}
