package backtest

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
)

// RunTimesByHistory compares the predicted run times of all runs of one kind (first runs of tasks, or later runs) with
// a running mean. Loadaware and the running mean predict the same rows.
type RunTimesByHistory struct {
	Kind  string       `json:"kind"`         // description of the runs and of their running mean
	Rows  int          `json:"rows"`         // rows with a prediction
	P95   Share        `json:"p95_covered"`  // rows within the predicted 95 % quantile
	P99   Share        `json:"p99_covered"`  // rows within the predicted 99 % quantile
	Point []PointError `json:"point_errors"` // of loadaware and of the running mean
}

// The kinds of rows of RunTimesByHistory.
const (
	neverSeen = iota // the first run of a task
	recurring        // any later run
	kindCount
)

// historyReplay evaluates the predictions of the first runs of tasks separately from those of later runs. While a task
// has at most cohort.MaxOwnRuns earlier runs, the run-time model of the namespace (cohort.RunTimes) predicts its run.
// After that, the task's own model predicts it. If the model that should predict has no prediction, the other one predicts.
type historyReplay struct {
	similarBy []string                          // names of metadata
	learners  map[string]*cohort.RunTimeLearner // by namespace
	similar   map[string]*runningMean           // of the seconds, by namespace and the values of similarBy
	all       runningMean                       // of the seconds of all earlier rows
	logs      map[sizing.TaskKey]*runningMean   // of the log seconds
	kinds     [kindCount]RunTimesByHistory
	errors    [kindCount][2][]float64 // relative errors of loadaware and of the running mean
}

func newHistoryReplay(similarBy []string) historyReplay {
	s := historyReplay{similarBy: similarBy, learners: map[string]*cohort.RunTimeLearner{}, similar: map[string]*runningMean{}, logs: map[sizing.TaskKey]*runningMean{}}
	similar := "all tasks of the namespace"
	if len(similarBy) > 0 {
		similar = "the same " + strings.Join(similarBy, ", ")
	}
	s.kinds[neverSeen].Kind, s.kinds[recurring].Kind = "never-seen tasks, compared with the mean of the earlier runs of "+similar, "recurring tasks, compared with their own running mean"
	return s
}

// add evaluates the prediction of one row, if there is one, and learns the row. ownPrediction is nil if the task's own
// model has none. mean is the running mean of the task before this row. The baseline of a first run is the mean of
// similarTo, or the mean of all earlier rows if no earlier run is similar.
func (s *historyReplay) add(q *Question, ownPrediction *sizing.Duration, seconds float64, mean *runningMean) {
	kind, baseline := recurring, mean.value()
	similar := s.similarTo(q)
	if mean.n == 0 {
		kind, baseline = neverSeen, similar.value()
		if similar.n == 0 {
			baseline = s.all.value()
		}
	}
	learner, facts := s.learners[q.Try.Namespace], factsOf(q)
	if learner == nil {
		learner = cohort.NewRunTimeLearner()
		s.learners[q.Try.Namespace] = learner
	}
	log := s.logs[q.Try.TaskKey]
	if log == nil {
		log = new(runningMean)
		s.logs[q.Try.TaskKey] = log
	}
	r, ok := learner.Model().Predict(&facts, cohort.OwnRuns{Runs: log.n, Mean: log.value()})
	if ownPrediction != nil && (!ok || log.n > cohort.MaxOwnRuns) {
		s.score(kind, ownPrediction.Median.Seconds(), ownPrediction.P95.Seconds(), ownPrediction.P99.Seconds(), seconds, baseline)
	} else if ok {
		s.score(kind, r.Median(), r.Quantile(.95), r.Quantile(.99), seconds, baseline)
	}
	learner.Add(&facts, seconds)
	log.add(math.Log(max(seconds, 0.1)))
	similar.add(seconds)
	s.all.add(seconds)
}

// similarTo returns the running mean of the earlier runs of the namespace with the same metadata for the names in
// similarBy; of all its earlier runs if similarBy is empty.
func (s *historyReplay) similarTo(q *Question) *runningMean {
	key := q.Try.Namespace
	for _, name := range s.similarBy {
		key += "\x00" + strings.Join(q.Metadata[name], "\x01")
	}
	if s.similar[key] == nil {
		s.similar[key] = new(runningMean)
	}
	return s.similar[key]
}

// score compares a prediction and the baseline with the run time `seconds`. All times are in seconds.
func (s *historyReplay) score(kind int, median, p95, p99, seconds, baseline float64) {
	k := &s.kinds[kind]
	k.Rows++
	if seconds <= p95 {
		k.P95.Covered++
	}
	if seconds <= p99 {
		k.P99.Covered++
	}
	s.errors[kind][0] = append(s.errors[kind][0], math.Abs(median-seconds)/seconds)
	s.errors[kind][1] = append(s.errors[kind][1], math.Abs(baseline-seconds)/seconds)
}

func (s *historyReplay) report() (kinds []RunTimesByHistory) {
	for i := range s.kinds {
		k := &s.kinds[i]
		if k.Rows == 0 {
			continue
		}
		k.P95.Share, k.P99.Share = float64(k.P95.Covered)/float64(k.Rows), float64(k.P99.Covered)/float64(k.Rows)
		for j, name := range []string{"loadaware", "running mean"} {
			k.Point = append(k.Point, pointError(name, s.errors[i][j]))
		}
		kinds = append(kinds, *k)
	}
	return kinds
}

func (k *RunTimesByHistory) write(w io.Writer, write func(table) error) error {
	fmt.Fprintf(w, "\n%s: %d rows; p95 covers %s, p99 covers %s\n\n", k.Kind, k.Rows, percentOf(k.P95.Share), percentOf(k.P99.Share))
	points := table{header: []string{"point prediction", "rows", "median error", "within 5 %", "within 20 %"}}
	for _, p := range k.Point {
		points.rows = append(points.rows, []string{p.Predictor, strconv.Itoa(p.Rows), percentOf(p.Median), percentOf(p.Within5), percentOf(p.Within20)})
	}
	return write(points)
}
