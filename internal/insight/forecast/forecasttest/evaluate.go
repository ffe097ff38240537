package forecasttest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Outcome compares the forecast of one run with the run.
type Outcome struct {
	Error           float64 // |forecast median − end| / end
	IsCovered       bool    // the run ended by the corrected 95 % quantile of its end
	IsMemoryCovered bool    // the largest memory at one time was at most its forecast 95 % quantile
}

// The parts of the runs, as shares of all runs in order of time.
const (
	forecastFrom = 0.25 // from here on, runs are forecast and correct later forecasts
	rateFrom     = 0.7  // from here on, the forecasts are rated
)

const draws = 300

// Evaluate learns runs in order of time. It forecasts each run from forecastFrom on before it learns the
// run, and returns the outcomes of the newest 30 %.
func (w *Workflow) Evaluate(runs []Run) ([]Outcome, error) {
	models := make([]*taskmodel.Model, len(w.Tasks))
	for i := range models {
		models[i] = taskmodel.New()
	}
	var outcomes []Outcome
	var past forecast.Calibration
	for i := range runs {
		run, position := &runs[i], float64(i)/float64(len(runs))
		features := sizing.Features{"size": sizing.NumberValue(run.Size)}
		if position >= forecastFrom {
			r, expected, err := w.forecast(models, features)
			if err != nil {
				return nil, fmt.Errorf("forecast run %d: %w", i+1, err)
			}
			if position >= rateFrom {
				median, p95 := past.Quantiles(r, expected)
				outcomes = append(outcomes, Outcome{math.Abs(median-run.End) / run.End, run.End <= p95, run.Memory <= r.Peak.P95})
			}
			past.Add(expected.Median, run.End, len(w.Tasks))
		}
		for k, m := range models {
			m.Learn(taskmodel.TrainingRow{
				Seq: int64(i + 1), At: int64(i) * 86_400, Features: features, Outcome: sizing.Success, Censoring: sizing.Exact, Peak: sizing.Bytes(run.Peaks[k]),
				Duration: time.Duration(run.Seconds[k] * float64(time.Second)), FirstTry: true, Try: 1, Run: uint64(i + 1),
			})
		}
	}
	return outcomes, nil
}

func (w *Workflow) forecast(models []*taskmodel.Model, f sizing.Features) (r, expected *forecast.Result, err error) {
	tasks := slices.Clone(w.Tasks)
	for i, m := range models {
		r, ok := m.RunTime(f)
		if !ok {
			return nil, nil, fmt.Errorf("task %s has no run time", tasks[i].ID)
		}
		times := taskmodel.RunTimes{r}
		tasks[i].Quantile, tasks[i].Median = forecast.Interpolate(times.Table(200)), forecast.Interpolate(times.LevelTable(200, .5))
		tasks[i].Memory = float64(m.Size(taskmodel.Question{Features: f, RiskTarget: sizing.DefaultRiskTarget}).Limit)
	}
	if r, err = forecast.Simulate(tasks, 5, draws); err != nil {
		return nil, nil, err
	}
	expected, err = forecast.SimulateMedians(tasks, 5, draws)
	return r, expected, err
}

// Summary summarises outcomes.
type Summary struct {
	Runs          int
	MedianError   float64 // median of Outcome.Error
	Covered       float64 // share of runs with Outcome.IsCovered
	MemoryCovered float64 // share of runs with Outcome.IsMemoryCovered
}

// Summarise returns the summary of outcomes.
func Summarise(outcomes []Outcome) Summary {
	s := Summary{Runs: len(outcomes)}
	if s.Runs == 0 {
		return s
	}
	var errors []float64
	for _, o := range outcomes {
		errors = append(errors, o.Error)
		if o.IsCovered {
			s.Covered += 1 / float64(s.Runs)
		}
		if o.IsMemoryCovered {
			s.MemoryCovered += 1 / float64(s.Runs)
		}
	}
	slices.Sort(errors)
	s.MedianError = errors[len(errors)/2]
	return s
}
