package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/campaign/suggest"
)

// progressWidth is the number of characters between the brackets of a progress bar.
const progressWidth = 30

// Campaign prints a campaign with its progress, its budget and its failures as text.
func Campaign(w io.Writer, c *api.Campaign) error {
	var b strings.Builder
	fmt.Fprintf(&b, "campaign %d %q of DAG %s", c.ID, c.Name, c.DagID)
	switch {
	case c.Stopped != nil:
		fmt.Fprintf(&b, ": stopped, %s", *c.Stopped)
	case c.Paused:
		b.WriteString(": paused")
	}
	done := int(c.Progress * progressWidth)
	fmt.Fprintf(&b, "\n[%s%s] %.0f %% of %s profiled, %d in the last hour\n", strings.Repeat("#", done), strings.Repeat(".", progressWidth-done), 100*c.Progress, Count(c.Runs, "run"), c.ProfiledLastHour)
	fmt.Fprintf(&b, "started %s%s, allocated %.4g GB·h%s\n", Count(c.Used.Runs, "run"), bound(c.Budget.Runs, "%d"), c.Used.Gbh, bound(c.Budget.Gbh, "%.4g"))
	for _, s := range c.States {
		if s.Runs > 0 {
			fmt.Fprintf(&b, "  %2d %-21s %d\n", s.State, s.Name, s.Runs)
		}
	}
	for i := range c.Failures {
		r := &c.Failures[i]
		notes := "no notes"
		if r.Notes != nil {
			notes = *r.Notes
		}
		fmt.Fprintf(&b, "run %d (%s) %s: %s\n", r.N, r.Scenario, r.StateName, notes)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func bound[T any](value *T, format string) string {
	if value == nil {
		return ""
	}
	return " of " + fmt.Sprintf(format, *value)
}

// Campaigns prints a table of campaigns.
func Campaigns(w io.Writer, all []api.Campaign) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "id\tname\tdag_id\truns\tprofiled\tfailed\tstate")
	for i := range all {
		c := &all[i]
		failed, state := 0, "running"
		for _, s := range c.States {
			if campaign.State(s.State).IsFailure() {
				failed += s.Runs
			}
		}
		switch {
		case c.Stopped != nil:
			state = "stopped"
		case c.Paused:
			state = "paused"
		case c.Runs > 0 && c.Progress == 1:
			state = "done"
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%.0f %%\t%d\t%s\n", c.ID, c.Name, c.DagID, c.Runs, 100*c.Progress, failed, state)
	}
	return t.Flush()
}

// Suggestions prints ranked runs, each with two shares of the uncertainty about all archived runs: in the column "adds" the
// share that the reproduction of the run removes, and in the column "in all" the sum of these shares up to this run.
func Suggestions(w io.Writer, runs []campaign.ArchivedRun, scored []suggest.ScoredCandidate) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\texecution_date\tadds\tin all")
	sum := 0.0
	for i := range runs {
		sum += scored[i].Gain
		fmt.Fprintf(t, "%s\t%s\t%.2f %%\t%.1f %%\n", runs[i].Scenario, runs[i].ExecutionDate.Format("2006-01-02"), 100*scored[i].Gain, 100*sum)
	}
	return t.Flush()
}
