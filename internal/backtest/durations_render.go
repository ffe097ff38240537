package backtest

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/loadaware/loadaware/internal/sizing"
)

// WriteDurations writes reports in a format: table, markdown or json.
func WriteDurations(w io.Writer, format string, reports []*DurationReport) error {
	var write func(table) error
	switch format {
	case "json":
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(reports)
	case "table":
		write = func(t table) error { return t.aligned(w) }
	case "markdown":
		write = func(t table) error { return t.markdown(w) }
	default:
		return sizing.Errorf(sizing.Invalid, "format %q: unknown for run times; choose among table, markdown, json", format)
	}
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %d rows of %d tasks, %d predicted; %d shapes\n", r.Trace, r.Rows, r.Tasks, r.Scored, r.Shapes)
		fmt.Fprintf(w, "p95 covers %s, p99 covers %s; outliers promised %.0f, seen %d\n\n", percentOf(r.P95.Share), percentOf(r.P99.Share), r.Outliers.Promised, r.Outliers.Seen)
		points := table{header: []string{"point prediction", "rows", "median error", "within 5 %", "within 20 %"}}
		for _, p := range r.Point {
			points.rows = append(points.rows, []string{p.Predictor, strconv.Itoa(p.Rows), percentOf(p.Median), percentOf(p.Within5), percentOf(p.Within20)})
		}
		if err := write(points); err != nil {
			return err
		}
		for i := range r.ByHistory {
			if err := r.ByHistory[i].write(w, write); err != nil {
				return err
			}
		}
		if len(r.KS) == 0 {
			continue
		}
		fmt.Fprint(w, "\nKolmogorov–Smirnov distance to the later runs\n\n")
		distances := table{header: []string{"after runs", "tasks", "loadaware", "boosted point", "lognormal", "own quantiles"}}
		for _, d := range r.KS {
			distances.rows = append(distances.rows, []string{
				strconv.Itoa(d.Runs), strconv.Itoa(d.Tasks), distance(d.Loadaware), distance(d.Boosted), distance(d.Lognormal), distance(d.Empirical),
			})
		}
		if err := write(distances); err != nil {
			return err
		}
	}
	return nil
}

func percentOf(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func distance(d float64) string { return fmt.Sprintf("%.3f", d) }
