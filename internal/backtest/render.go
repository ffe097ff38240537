package backtest

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Formats returns the formats that Write supports.
func Formats() []string { return []string{"table", "json", "csv", "markdown"} }

// Layout selects the format and the extent of the reports.
type Layout struct {
	Format string // one of Formats
	// TaskWastage adds to table and markdown, for each policy and task of a trace with several tasks, the wastage by
	// cause and by age group (number of the run within its task).
	TaskWastage bool
}

// Write writes reports. The format json contains every figure, and csv the columns of csvHeader for each policy
// and each of its tasks. The formats table and markdown contain the totals, the shares of wastage and the deciles by
// promise and by limit per trace, then utilisation and the share of killed rows per task if a trace has several tasks.
func Write(w io.Writer, layout Layout, reports []*Report) error {
	switch layout.Format {
	case "json":
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(reports)
	case "csv":
		return writeCSV(w, reports)
	case "table":
		return writeTables(w, layout, reports, func(t table) error { return t.aligned(w) })
	case "markdown":
		return writeTables(w, layout, reports, func(t table) error { return t.markdown(w) })
	}
	return sizing.Errorf(sizing.Invalid, "format %q: unknown; choose among %s", layout.Format, strings.Join(Formats(), ", "))
}

const noFigure = "–"

// table has text in the first column and numbers in the other columns.
type table struct {
	header []string
	rows   [][]string
}

func writeTables(w io.Writer, layout Layout, reports []*Report, write func(table) error) error {
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %d rows, %s feedback", r.Trace, r.Rows, r.Feedback)
		if r.LeftOut > 0 {
			fmt.Fprintf(w, "; %d tries left out that are not a success with a measured peak and duration", r.LeftOut)
		}
		if r.Rejected > 0 {
			fmt.Fprintf(w, "; rejected rows that cannot be read: %d", r.Rejected)
		}
		fmt.Fprint(w, "\n\n")
		if err := write(r.overall()); err != nil {
			return err
		}
		fmt.Fprint(w, "\nshare of the wastage %, by cause and by number of the run within its task\n\n")
		if err := write(r.shareTable()); err != nil {
			return err
		}
		if deciles := r.decileTable(func(res *Result) []Decile { return res.Deciles }); len(deciles.rows) > 0 {
			fmt.Fprint(w, "\npromised / realised kills %, by decile of the promise\n\n")
			if err := write(deciles); err != nil {
				return err
			}
			fmt.Fprint(w, "\npromised / realised kills %, by decile of the limit within the task\n\n")
			if err := write(r.decileTable(func(res *Result) []Decile { return res.LimitDeciles })); err != nil {
				return err
			}
		}
		if err := writeTasks(w, layout, r, write); err != nil {
			return err
		}
	}
	return nil
}

func writeTasks(w io.Writer, layout Layout, r *Report, write func(table) error) error {
	if len(r.Results) == 0 || len(r.Results[0].Tasks) < 2 {
		return nil
	}
	fmt.Fprint(w, "\nutilisation % / rows killed %, by task\n\n")
	if err := write(r.byTask()); err != nil || !layout.TaskWastage {
		return err
	}
	for i := range r.Results {
		fmt.Fprintf(w, "\n%s: share of the wastage %%, by cause and by number of the run within its task\n\n", r.Results[i].Policy)
		if err := write(r.Results[i].shareTable()); err != nil {
			return err
		}
	}
	return nil
}

// overall returns the table of the totals by policy. The column "worst heavy %" has the killed % of Worst; see heavyShare.
func (r *Report) overall() table {
	t := table{header: []string{"policy", "util %", "wasted GB·h", "killed %", "worst heavy %", "attempts", "kills", "gave up", "promised %", "realised %", "95 % interval"}}
	for i := range r.Results {
		res := &r.Results[i]
		cells := []string{res.Policy, decimals(res.Utilisation, 1), decimals(res.WastedGBh, 1), decimals(res.Killed, 2), noFigure,
			strconv.Itoa(res.Attempts), strconv.Itoa(res.Kills), strconv.Itoa(res.GaveUp), noFigure, noFigure, noFigure}
		if res.WorstHeavy != nil {
			cells[4] = decimals(res.WorstHeavy.Killed, 2)
		}
		if k := res.Risk; k != nil {
			cells[8], cells[9] = decimals(k.Promised, 2), decimals(k.Realised, 2)
			cells[10] = decimals(k.Low, 2) + "–" + decimals(k.High, 2)
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// byTask returns the table of the tasks. Every policy has its tasks in the same order, by needed byte-seconds, which do not
// depend on the policy.
func (r *Report) byTask() table {
	t := table{header: []string{"task"}}
	for i := range r.Results {
		t.header = append(t.header, r.Results[i].Policy)
	}
	for n, task := range r.Results[0].Tasks {
		cells := []string{task.Task}
		for i := range r.Results {
			f := &r.Results[i].Tasks[n]
			cells = append(cells, decimals(f.Utilisation, 1)+"/"+decimals(f.Killed, 1))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

func (t table) aligned(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, cells := range append([][]string{t.header}, t.rows...) {
		// tabwriter aligns all columns to the right, so the left-aligned first one is padded here.
		fmt.Fprintf(out, "%-*s\t%s\t\n", t.firstWidth(), cells[0], strings.Join(cells[1:], "\t"))
	}
	return out.Flush()
}

func (t table) firstWidth() int {
	width := len(t.header[0])
	for _, cells := range t.rows {
		width = max(width, len([]rune(cells[0])))
	}
	return width
}

func (t table) markdown(w io.Writer) error {
	fmt.Fprintf(w, "| %s |\n|---|%s\n", strings.Join(t.header, " | "), strings.Repeat("---:|", len(t.header)-1))
	for _, cells := range t.rows {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")); err != nil {
			return err
		}
	}
	return nil
}

var csvHeader = []string{"trace", "feedback", "policy", "task", "rows", "used_gbh", "wasted_gbh", "utilisation_percent", "killed_percent",
	"attempts", "kills", "gave_up", "promised_rows", "promised_sum", "promised_killed", "realised_percent", "realised_low_percent", "realised_high_percent",
	"wasted_cold_start_gbh", "wasted_margin_gbh", "wasted_kills_gbh", "wasted_cap_gbh",
	"wasted_run_1_gbh", "wasted_runs_2_5_gbh", "wasted_runs_6_32_gbh", "wasted_later_gbh"}

// writeCSV writes a line for each policy of a trace, with an empty task, and then a line for each of its tasks.
func writeCSV(w io.Writer, reports []*Report) error {
	out := csv.NewWriter(w)
	lines := [][]string{csvHeader}
	for _, r := range reports {
		for i := range r.Results {
			res := &r.Results[i]
			lines = append(lines, csvLine(r, res.Policy, "", &res.Figures))
			for j := range res.Tasks {
				lines = append(lines, csvLine(r, res.Policy, res.Tasks[j].Task, &res.Tasks[j].Figures))
			}
		}
	}
	return out.WriteAll(lines)
}

func csvLine(r *Report, policy, task string, f *Figures) []string {
	line := []string{r.Trace, r.Feedback, policy, task, strconv.Itoa(f.Rows), decimals(f.UsedGBh, 6), decimals(f.WastedGBh, 6),
		decimals(f.Utilisation, 4), decimals(f.Killed, 4), strconv.Itoa(f.Attempts), strconv.Itoa(f.Kills), strconv.Itoa(f.GaveUp)}
	if f.Risk == nil {
		line = append(line, "", "", "", "", "", "")
	} else {
		line = append(line, strconv.Itoa(f.Risk.Rows), decimals(f.Risk.PromisedSum, 4), strconv.Itoa(f.Risk.Killed),
			decimals(f.Risk.Realised, 4), decimals(f.Risk.Low, 4), decimals(f.Risk.High, 4))
	}
	for _, wasted := range f.wastage() {
		line = append(line, decimals(wasted, 6))
	}
	return line
}

func decimals(v float64, n int) string { return strconv.FormatFloat(v, 'f', n, 64) }
