// Package forecasttest generates workflows whose dependencies are known, and rates the forecasts of
// their newest runs. The same seed gives the same runs and the same forecasts.
package forecasttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/loadaware/loadaware/internal/insight/forecast"
)

// Workflow is a generated DAG: layers of tasks whose run times grow with the input size of a run. All
// run times of a run have a common random factor that no feature shows.
type Workflow struct {
	Tasks []forecast.Task // with their dependencies; Quantile and Memory are not set
	fixed []float64       // constant part of the run time of each task, in seconds
	slope []float64       // seconds per unit of size
	noise []float64       // standard deviation of the log seconds of each task
	bytes []float64       // growth of the peak of each task, in bytes per unit of size
}

// Run is one generated run of a Workflow.
type Run struct {
	Size    float64   // size of the input; its median is 1
	Seconds []float64 // run time of each task, in the order of Workflow.Tasks
	Peaks   []float64 // peak of each task in bytes
	End     float64   // seconds from the start of the run until its last task ends
	Memory  float64   // largest sum of the peaks of tasks that run at the same time, in bytes
}

// Generate returns a workflow of 3 to 5 layers with 1 to 4 tasks each, and runs of it in order of time.
func Generate(seed uint64, runs int) (*Workflow, []Run, error) {
	rng := rand.New(rand.NewPCG(seed, 17))
	w := newWorkflow(rng)
	all := make([]Run, runs)
	for i := range all {
		if err := w.draw(&all[i], rng); err != nil {
			return nil, nil, err
		}
	}
	return w, all, nil
}

// newWorkflow gives each task after the first layer at least one upstream task in the previous layer.
func newWorkflow(rng *rand.Rand) *Workflow {
	w := &Workflow{}
	var previous []string
	for layer := range 3 + rng.IntN(3) {
		var ids []string
		for k := range 1 + rng.IntN(4) {
			task := forecast.Task{ID: fmt.Sprintf("layer%d_%d", layer, k)}
			for _, id := range previous {
				if len(task.Upstream) == 0 || rng.IntN(2) == 0 {
					task.Upstream = append(task.Upstream, id)
				}
			}
			ids = append(ids, task.ID)
			w.Tasks = append(w.Tasks, task)
			w.fixed, w.slope = append(w.fixed, 60*rng.Float64()), append(w.slope, 120*rng.Float64())
			w.noise, w.bytes = append(w.noise, .05+.3*rng.Float64()), append(w.bytes, 2e9*rng.Float64())
		}
		previous = ids
	}
	return w
}

func (w *Workflow) draw(r *Run, rng *rand.Rand) error {
	r.Size = math.Exp(.7 * rng.NormFloat64())
	common := math.Exp(.1 * rng.NormFloat64())
	actual := slices.Clone(w.Tasks)
	for i := range w.Tasks {
		seconds := (w.fixed[i] + w.slope[i]*r.Size) * common * math.Exp(w.noise[i]*rng.NormFloat64())
		peak := (1e8 + w.bytes[i]*r.Size) * math.Exp(.05*rng.NormFloat64())
		r.Seconds, r.Peaks = append(r.Seconds, seconds), append(r.Peaks, peak)
		actual[i].Quantile, actual[i].Memory = func(float64) float64 { return seconds }, peak
	}
	simulated, err := forecast.Simulate(actual, 1, 1)
	if err != nil {
		return fmt.Errorf("simulate a generated run: %w", err)
	}
	r.End, r.Memory = simulated.Median, simulated.Peak.Median
	return nil
}
