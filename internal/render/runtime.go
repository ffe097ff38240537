package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/insight/timeout"
)

// runTimeProblem describes a problem of the timeout or the run times of a task; "" without one. A
// problem with a larger severity is worse.
func runTimeProblem(r *api.RunTime) (text string, severity float64) {
	figures := timeout.Figures{Risk: r.ExecutionTimeout.Risk, Suggested: r.ExecutionTimeout.Seconds, Current: r.ExecutionTimeout.CurrentSeconds, Probability: r.TimeoutProbability, Drift: r.Drift}
	return figures.Problem()
}

// RunTimes prints the run times of tasks in one of Formats, the task with the worst problem first.
func RunTimes(w io.Writer, format string, answers []api.RunTime) error {
	slices.SortStableFunc(answers, func(a, b api.RunTime) int {
		_, x := runTimeProblem(&a)
		_, y := runTimeProblem(&b)
		return cmp.Compare(y, x)
	})
	if format == "json" {
		return JSON(w, map[string]any{"tasks": answers})
	}
	if len(answers) == 0 && format == "table" {
		_, err := fmt.Fprintln(w, "no task has enough run times yet; report at least two successes of a task with duration_seconds and memory_max_bytes or memory_sampled_bytes to POST /observe")
		return err
	}
	table := Table{Header: []string{"namespace", "dag_id", "task_id", "problem", "shape", "runs", "median_s", "p95_s", "p99_s", "suggested_timeout_s", "timeout_s"}, TextColumns: 5}
	for i := range answers {
		r := &answers[i]
		problem, _ := runTimeProblem(r)
		inUse := ""
		if c := r.ExecutionTimeout.CurrentSeconds; c != nil {
			inUse = plainSeconds(*c)
		}
		table.Rows = append(table.Rows, []string{
			r.Namespace, r.DagID, r.TaskID, problem, shapeName(r), strconv.Itoa(r.Runs), plainSeconds(r.MedianSeconds), plainSeconds(r.P95Seconds),
			plainSeconds(r.P99Seconds), plainSeconds(r.ExecutionTimeout.Seconds), inUse,
		})
	}
	return table.Write(w, format)
}

func plainSeconds(s float64) string { return strconv.FormatFloat(s, 'f', 1, 64) }

func shapeName(r *api.RunTime) string {
	if len(r.Shapes) == 0 || r.NoShapeProbability >= r.Shapes[0].Probability {
		return ""
	}
	return r.Shapes[0].Name
}

// RunTime prints the run times of one task.
func RunTime(w io.Writer, r *api.RunTime) error {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("runs", "%d", r.Runs)
	line("run time", "median %s, 95 %% below %s, 99 %% below %s", seconds(r.MedianSeconds), seconds(r.P95Seconds), seconds(r.P99Seconds))
	line("timeout", "%s, which a healthy run exceeds with probability %g", seconds(r.ExecutionTimeout.Seconds), r.ExecutionTimeout.Risk)
	if c := r.ExecutionTimeout.CurrentSeconds; c != nil && r.TimeoutProbability != nil {
		line("in use", "%s, which a healthy run exceeds with probability %.2g", seconds(*c), *r.TimeoutProbability)
	}
	if left := r.Remaining; left != nil {
		line("remaining", "median %s, 95 %% below %s", seconds(left.MedianSeconds), seconds(left.P95Seconds))
	}
	if name := shapeName(r); name != "" {
		line("shape", "%s, with probability %.2f", name, r.Shapes[0].Probability)
	}
	if r.Newest.IsOutlier {
		line("outlier", "the newest run took %.1f times the prediction", r.Newest.Ratio)
	}
	if problem, _ := runTimeProblem(r); problem != "" {
		line("problem", "%s", problem)
	}
	fmt.Fprintln(w, "\nnumber of runs by the ratio of run time to prediction; each prediction was made before the run was learned")
	return runTimeBars(w, &r.Histogram)
}

const (
	barBins  = 5  // bins of the histogram per line
	barWidth = 50 // of the longest bar, in characters
)

func runTimeBars(w io.Writer, h *api.RunTimeHistogram) error {
	var counts []int
	last, most := 0, 1
	for i, n := range h.Counts {
		if i%barBins == 0 {
			counts = append(counts, 0)
		}
		counts[len(counts)-1] += n
		if n > 0 {
			last = len(counts)
		}
		most = max(most, counts[len(counts)-1])
	}
	for i, n := range counts[:last] {
		end := fmt.Sprintf("%.2f", h.Width*float64(barBins*(i+1)))
		if i == len(counts)-1 {
			end = "…"
		}
		if _, err := fmt.Fprintf(w, "%5.2f – %-5s %s %d\n", h.Width*float64(barBins*i), end, strings.Repeat("█", (n*barWidth+most-1)/most), n); err != nil {
			return err
		}
	}
	return nil
}

// RunTimeWhatIf prints, in one of Formats, the run times before and after a change.
func RunTimeWhatIf(w io.Writer, format string, r *api.RunTimeWhatIf) error {
	if format == "json" {
		return JSON(w, r)
	}
	first := "expected run times" // the rows are those before and after the change
	if format == "csv" {
		first = "the model expects" // a released column name
	}
	table := Table{Header: []string{first, "p25_s", "median_s", "p75_s", "p95_s", "outliers_percent"}, TextColumns: 1}
	for _, row := range []struct {
		name string
		q    *api.RunTimeQuantiles
	}{{"before", &r.Before}, {"after", &r.After}} {
		table.Rows = append(table.Rows, []string{
			row.name, plainSeconds(row.q.P25Seconds), plainSeconds(row.q.MedianSeconds), plainSeconds(row.q.P75Seconds), plainSeconds(row.q.P95Seconds), decimals(100*row.q.OutlierShare, 1),
		})
	}
	return table.Write(w, format)
}
