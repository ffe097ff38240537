// Package shapetest generates tasks whose metadata and node type predict the shape of their run times, and rates the
// shapes that packages taskmodel and cohort predict for them.
package shapetest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Kinds are the names of the generated shapes.
var Kinds = []string{"steady", "skewed", "retried"}

const (
	steady = iota
	skewed
	retried
)

// A fifth of the runs of a retried task take three typical run times more, because they wait for a retry.
const (
	steadySpread = .05 // standard deviation of the log seconds
	skewedSpread = .5  // standard deviation of the log seconds
	retryShare   = .2  // share of the runs that wait
	retryFactor  = 3.  // wait, in typical run times
	strayShare   = .05 // share of the tasks whose kind is drawn regardless of image and node type
)

// ratio draws a run time relative to the typical run time of the task.
func ratio(kind int, rng *rand.Rand) float64 {
	switch {
	case kind == skewed:
		return math.Exp(skewedSpread * rng.NormFloat64())
	case kind == retried && rng.Float64() < retryShare:
		return retryFactor + math.Exp(steadySpread*rng.NormFloat64())
	default:
		return math.Exp(steadySpread * rng.NormFloat64())
	}
}

// Config describes the generated tasks.
type Config struct {
	Seed              uint64
	Tasks             int  // number of tasks with a history
	UnrelatedMetadata bool // neither the metadata nor the node type predicts the shape
}

type task struct {
	key      sizing.TaskKey
	kind     int     // index in Kinds
	seconds  float64 // typical run time for an input of 100 rows
	power    float64 // exponent e of run time ∝ rows^e: 0 or 1
	metadata sizing.Metadata
	node     string
}

type run struct {
	task     *task
	at       time.Duration // start, since the beginning of the history
	features sizing.Features
	rows     float64 // size of the input
	seconds  float64
}

// newTask draws a task. The image decides on the kind, except that a spot node leads to retries, and that strayShare of the
// tasks (with UnrelatedMetadata all tasks) get a random kind. The operator decides on the typical run time. The owner and the
// Airflow pool have no influence.
func newTask(c *Config, name string, i int, rng *rand.Rand) *task {
	operator, image := rng.IntN(4), rng.IntN(9)
	node := []string{"m5.large", "c5.xlarge", "spot"}[rng.IntN(3)]
	kind := image % len(Kinds)
	if node == "spot" {
		kind = retried
	}
	if c.UnrelatedMetadata || rng.Float64() < strayShare {
		kind = rng.IntN(len(Kinds))
	}
	return &task{
		key: sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: fmt.Sprintf("%s_%d", name, i/5), Task: fmt.Sprintf("%s_step_%d", name, i)}, kind: kind,
		seconds: 30 * math.Exp(float64(operator)+.3*rng.NormFloat64()), power: float64(rng.IntN(2)),
		metadata: sizing.Metadata{
			"operator": {fmt.Sprintf("Operator%d", operator)}, "image": {fmt.Sprintf("registry/image-%d", image)},
			"owner": {fmt.Sprintf("team-%d", rng.IntN(6))}, "pool": {fmt.Sprintf("pool-%d", rng.IntN(3))},
		},
		node: node,
	}
}

func (t *task) newRun(rng *rand.Rand) run {
	rows := math.Round(100 * math.Exp(.5*rng.NormFloat64()))
	return run{task: t, rows: rows, features: sizing.Features{"rows": sizing.NumberValue(rows)}, seconds: t.typical(rows) * ratio(t.kind, rng)}
}

func (t *task) typical(rows float64) float64 { return t.seconds * math.Pow(rows/100, t.power) }

// history draws the tasks and 10 to 119 runs of each, in order of time.
func history(c *Config, rng *rand.Rand) []run {
	var runs []run
	for i := range c.Tasks {
		t := newTask(c, "dag", i, rng)
		for range int(10 * math.Exp(math.Log(12)*rng.Float64())) {
			r := t.newRun(rng)
			r.at = time.Duration(rng.Float64() * float64(90*24*time.Hour))
			runs = append(runs, r)
		}
	}
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(a.at, b.at) })
	return runs
}

// facts returns the facts of a run; the node type is always known.
func (r *run) facts() cohort.Facts {
	return cohort.Facts{
		Task: r.task.key, Metadata: r.task.metadata, Features: r.features, Requested: sizing.Resources{Memory: 4 * sizing.GiB},
		Placement: sizing.Placement{NodeType: r.task.node},
	}
}

func (r *run) row() cohort.Row {
	return cohort.Row{Facts: r.facts(), Peak: r.peak(), Seconds: r.seconds}
}

func (r *run) peak() float64 { return 1e9 + 1e6*r.rows }

func (r *run) trainingRow(seq int64) taskmodel.TrainingRow {
	return taskmodel.TrainingRow{
		Seq: seq, Features: r.features, Outcome: sizing.Success, Censoring: sizing.Exact, Peak: sizing.Bytes(r.peak()),
		Duration: time.Duration(r.seconds * float64(time.Second)), FirstTry: true, Try: 1,
	}
}
