package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// UsageProfiles prints the usage profiles of a namespace in one of Formats except json.
func UsageProfiles(w io.Writer, format string, set *api.UsageProfileSet) error {
	if format == "table" {
		fmt.Fprintf(w, "%s of %s of %s, version %d of %s; compared by %s\n", Count(len(set.Profiles), "profile"), Count(set.Runs, "run"), Count(set.Tasks, "task"), set.Version,
			set.LearnedAt.UTC().Format("2006-01-02 15:04"), strings.Join(set.Quantities, ", "))
		fmt.Fprintf(w, "coverage %.2f, silhouette %.2f, Davies–Bouldin %.2f, Hopkins %.2f\n\n", set.Coverage, set.Silhouette, set.DaviesBouldin, set.Hopkins)
	}
	table := Table{Header: []string{"profile", "runs", "share", "before", "tasks", "killed", "memory_p10", "memory_p50", "memory_p90", "seconds_p10", "seconds_p50", "seconds_p90", "cores_p50", "of_request_p50"}}
	for i := range set.Profiles {
		table.Rows = append(table.Rows, profileCells(format, &set.Profiles[i]))
	}
	table.Rows = append(table.Rows, profileCells(format, &set.Outliers))
	return table.Write(w, format)
}

func profileCells(format string, p *api.UsageProfile) []string {
	before := ""
	if p.PreviousShare != nil {
		before = Figure(format, *p.PreviousShare, 3)
	}
	cells := []string{strconv.Itoa(p.ID), strconv.Itoa(p.Runs), Figure(format, p.Share, 3), before, strconv.Itoa(p.Tasks), strconv.Itoa(p.Killed)}
	memory, seconds := spreadOf(p, "memory_peak_bytes"), spreadOf(p, "duration_seconds")
	for _, v := range []float64{memory.P10, memory.P50, memory.P90} {
		cells = append(cells, amountCell(format, "memory_peak_bytes", v, memory.Runs))
	}
	for _, v := range []float64{seconds.P10, seconds.P50, seconds.P90} {
		cells = append(cells, amountCell(format, "duration_seconds", v, seconds.Runs))
	}
	cores, ofRequest := spreadOf(p, "cpu_peak_cores"), spreadOf(p, "peak_over_request")
	if cores.Runs == 0 {
		cores = spreadOf(p, "cpu_mean_cores")
	}
	return append(cells, amountCell(format, "cores", cores.P50, cores.Runs), amountCell(format, "ratio", ofRequest.P50, ofRequest.Runs))
}

func spreadOf(p *api.UsageProfile, quantity string) api.UsageSpread {
	for _, spread := range p.Spreads {
		if spread.Quantity == quantity {
			return spread
		}
	}
	return api.UsageSpread{}
}

func amountCell(format, quantity string, v float64, runs int) string {
	switch {
	case runs == 0:
		return ""
	case format == "csv":
		return Figure(format, v, 0)
	case strings.HasSuffix(quantity, "_bytes"):
		return sizing.Bytes(v).Approx()
	case v >= 100:
		return Figure(format, v, 0)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// UsageProfile prints one usage profile: quantiles of its quantities, and the tasks in it. csv has the tasks
// only.
func UsageProfile(w io.Writer, format string, d *api.UsageProfileDetail) error {
	if format != "csv" {
		name := fmt.Sprintf("profile %d", d.Profile.ID)
		if d.Profile.ID == 0 {
			name = "outliers"
		}
		fmt.Fprintf(w, "%s of namespace %s: %s of %s, %.1f %% of all runs, %d killed\n\n", name, d.Namespace, Count(d.Profile.Runs, "run"), Count(d.Profile.Tasks, "task"), 100*d.Profile.Share, d.Profile.Killed)
		spreads := Table{Header: []string{"quantity", "runs", "p10", "p50", "p90"}, TextColumns: 1}
		for _, s := range d.Profile.Spreads {
			cell := func(v float64) string { return amountCell(format, s.Quantity, v, s.Runs) }
			spreads.Rows = append(spreads.Rows, []string{s.Quantity, strconv.Itoa(s.Runs), cell(s.P10), cell(s.P50), cell(s.P90)})
		}
		if err := spreads.Write(w, format); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	members := Table{Header: []string{"dag_id", "task_id", "runs", "share_of_its_runs"}, TextColumns: 2}
	for _, m := range d.Members {
		members.Rows = append(members.Rows, []string{m.DagID, m.TaskID, strconv.Itoa(m.Runs), Figure(format, m.Share, 2)})
	}
	return members.Write(w, format)
}

// ProfileMetadata prints which facts predict the profile of a task, in one of Formats. In the table, "alone" and "without" are
// the accuracies with this field only and with all other fields; "worth" is the accuracy with all fields minus "without".
func ProfileMetadata(w io.Writer, format string, set *api.UsageProfileSet) error {
	m := set.Metadata
	if format == "json" {
		return JSON(w, map[string]any{"metadata": m})
	}
	if m == nil {
		m = &api.UsageProfileMetadata{}
		if format == "table" {
			_, err := fmt.Fprintln(w, "the profiles have too few tasks to say which facts predict the profile of a task")
			return err
		}
	}
	if format == "table" {
		fmt.Fprintf(w, "%d tasks, each predicted from the others: %.1f %% right with all fields, %.1f %% with none\n\n", m.Tasks, 100*m.Accuracy, 100*m.Majority)
	}
	table := Table{Header: []string{"field", "tasks", "alone", "without", "worth"}, TextColumns: 1}
	for _, f := range m.Fields {
		table.Rows = append(table.Rows, []string{f.Name, strconv.Itoa(f.Tasks), Figure(format, f.Alone, 3), Figure(format, f.Without, 3), Figure(format, m.Accuracy-f.Without, 3)})
	}
	return table.Write(w, format)
}
