package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/sizing"
)

var severityColours = map[report.Severity]text.Colors{
	report.Critical: {text.FgRed, text.Bold},
	report.Warning:  {text.FgYellow},
	report.OK:       {text.FgGreen},
	report.Unknown:  {text.FgHiBlack},
}

// Report prints a report in one of ReportFormats. A table has colours if `coloured` is true.
func Report(w io.Writer, format string, coloured bool, r *report.Report) error {
	switch format {
	case "json":
		return JSON(w, r)
	case "yaml":
		return YAML(w, r)
	}
	if len(r.Tasks) == 0 && format == "table" {
		_, err := fmt.Fprintln(w, "no try is reported in this window; report runs to POST /observe, or import a history with loadaware import")
		return err
	}
	s := reportTable{
		header: []string{"severity", "task", "group", "tries", "requested GB", "granted GB", "used GB", "saved GB·h", "killed GB·h", "risk %", "source", whyNotBetter}, textColumns: 3,
		csvHeader: []string{"namespace", "dag_id", "task_id", "group", "severity", "tries", "kills", "requested_bytes", "granted_bytes", "used_bytes",
			"requested_gbh", "granted_gbh", "used_gbh", "killed_gbh", "wasted_gbh", "saved_gbh", "saved_money", "killed_percent", "risk", "risk_target", "source", "why_not",
			"static_request_bytes", "static_risk", "static_saves_gbh"},
		footer: []string{"total", "", "", strconv.Itoa(r.Total.Tries), "", "", "", figure(r.Total.SavedGBH), figure(r.Total.KilledGBH), "", "", ""},
		caption: "Worst first, by GB·h wasted. Window: " + window(r.From, r.To, r.FirstDay, r.LastDay) + ". GB = 1e9 bytes,\n" +
			"averaged over running time; " + formula(&r.Total) + "; risk = mean promised probability of an OOM kill." + gaps(&r.Total),
	}
	if !slices.ContainsFunc(r.Tasks, func(t report.Task) bool { return t.WhyNot == nil || *t.WhyNot != report.NoGrantYet }) {
		s.caption += "\nNo try has used a grant yet; loadaware report --static shows what one request per task would save."
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		s.colours = append(s.colours, severityColours[t.Severity])
		s.rows = append(s.rows, []string{string(t.Severity), taskName(t.Namespace, t.DagID, t.TaskID), t.Group, strconv.Itoa(t.Tries),
			gigabytes(t.RequestedBytes), gigabytes(t.GrantedBytes), gigabytes(t.UsedBytes), figure(t.SavedGBH), figure(t.KilledGBH), percent(t.Risk),
			orElse(t.Source, notKnown), orElse(t.WhyNot, "")})
		s.csvRows = append(s.csvRows, reportCSV(t))
	}
	if format == "table" {
		s.compact()
	}
	return s.write(w, format, coloured)
}

// compact fits the table to a terminal: it joins the columns requested, granted and used, and shortens the headers
// and the cells of unknown values.
func (s *reportTable) compact() {
	s.header = []string{"severity", "task", "group", "tries", "requested →\ngranted →\nused, GB", "saved\nGB·h", "killed\nGB·h", "risk\n%", "source", "why not\nbetter"}
	s.caption += "\n– = " + notKnown + "."
	for i, row := range append(s.rows, s.footer) {
		for j, cell := range row {
			if cell == notKnown {
				row[j] = "–"
			}
		}
		sizes := strings.Join(row[4:7], " → ")
		if i == len(s.rows) {
			sizes = ""
		}
		compacted := append(append(slices.Clone(row[:4]), sizes), row[7:]...)
		if i < len(s.rows) {
			s.rows[i] = compacted
		} else {
			s.footer = compacted
		}
	}
}

func reportCSV(t *report.Task) []string {
	static := t.Static
	if static == nil {
		static = &report.Static{}
	}
	return []string{t.Namespace, t.DagID, t.TaskID, t.Group, string(t.Severity), strconv.Itoa(t.Tries), strconv.Itoa(t.Kills),
		exact(t.RequestedBytes), exact(t.GrantedBytes), exact(t.UsedBytes), exact(t.RequestedGBH), exact(t.GrantedGBH), exact(t.UsedGBH),
		exact(t.KilledGBH), exact(t.WastedGBH), exact(t.SavedGBH), exact(t.SavedMoney), exact(t.KilledPercent), exact(t.Risk), exact(&t.RiskTarget),
		exact(t.Source), exact(t.WhyNot), exact(static.RequestBytes), exact(static.Risk), exact(static.SavesGBH)}
}

func taskName(namespace, dag, task string) string {
	name := dag
	if task != "" {
		name += "/" + task
	}
	if namespace != "" && namespace != sizing.DefaultNamespace {
		name = namespace + "/" + name
	}
	return name
}

func noStatic(t *report.Task) string {
	s := t.Static
	if s == nil {
		s = &report.Static{}
	}
	if s.Runs > 0 && s.Runs >= s.RunsNeeded {
		return fmt.Sprintf("%d of %s were OOM-killed and never succeeded, too many for a risk of %s %%", s.KilledRuns, Count(s.Runs, "run"), percent(&t.RiskTarget))
	}
	return fmt.Sprintf("%d of the %d measured runs that a risk of %s %% needs", s.Runs, s.RunsNeeded, percent(&t.RiskTarget))
}

// Static prints the static requests of a report as arguments of a KubernetesPodOperator.
func Static(w io.Writer, r *report.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Static memory requests from reported runs: %s. GB = 1e9 bytes, Gi = 2^30 bytes.\n", window(r.From, r.To, r.FirstDay, r.LastDay))
	b.WriteString("# risk: upper bound of the probability that the next run exceeds the request and is killed, if the next run is like the past\n" +
		"# ones (exchangeable). The bound does not hold for a task whose peaks grow.\n")
	for i := range r.Tasks {
		t := &r.Tasks[i]
		name := fmt.Sprintf("%s (%s)", taskName(t.Namespace, t.DagID, t.TaskID), t.Group)
		if t.Static == nil || t.Static.Request == nil {
			fmt.Fprintf(&b, "\n# %s: no safe request yet; %s\n", name, noStatic(t))
			continue
		}
		fmt.Fprintf(&b, "\n# %s: risk at most %s %% from %s; %s\n", name, percent(t.Static.Risk), Count(t.Static.Runs, "run"),
			wouldSave(t.Static.SavesGBH, t.RequestedGBH))
		b.WriteString(resourcesArgument(*t.Static.Request))
	}
	for _, g := range r.Groups {
		if g.Request == nil {
			fmt.Fprintf(&b, "\n# all %s tasks: no safe request yet for %s\n", g.Group, Count(g.TasksWithoutRequest, "task"))
			continue
		}
		tasks := strconv.Itoa(g.Tasks)
		if g.TasksWithoutRequest > 0 {
			tasks += fmt.Sprintf("; %d more without a safe request", g.TasksWithoutRequest)
		}
		fmt.Fprintf(&b, "\n# one request for all %s tasks (%s): risk at most %s %% per run; %s\n", g.Group, tasks, percent(g.Risk), wouldSave(g.SavesGBH, nil))
		b.WriteString(resourcesArgument(*g.Request))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func wouldSave(saved, requested *float64) string {
	switch {
	case saved == nil:
		return "the savings are " + notKnown
	case requested == nil:
		return fmt.Sprintf("would save %s GB·h", figure(saved))
	}
	return fmt.Sprintf("would save %s of %s GB·h", figure(saved), figure(requested))
}

func resourcesArgument(memory string) string {
	return fmt.Sprintf("container_resources=k8s.V1ResourceRequirements(requests={\"memory\": %q}, limits={\"memory\": %q}),\n", memory, memory)
}
