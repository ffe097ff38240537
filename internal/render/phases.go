package render

import (
	"fmt"
	"io"
	"strconv"

	"github.com/loadaware/loadaware/internal/backtest/growth"
)

// Growth prints a replay of limits that grow during a run: the totals of the policies for limits, then those of
// the policies for requests of memory and CPU, then each task with its next plan.
func Growth(w io.Writer, r *growth.Report, format string) error {
	fmt.Fprintf(w, "%s of %s; the tables do not count %s; usage read every %g s, a new limit in force after %g s\n\n",
		Count(r.Runs, "run"), Count(r.Tasks, "task"), Count(r.FirstRuns, "first run"), r.Poll, r.Reaction)
	for _, t := range []*Table{limits(r), requests(r), taskPlans(r)} {
		if err := t.Write(w, format); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

func limits(r *growth.Report) *Table {
	t := &Table{Header: []string{"limits", "kind", "GB·h", "of static", "kills", "kills/100 runs", "resizes/run"}, TextColumns: 2}
	for _, f := range r.Policies {
		kind := "grows"
		switch {
		case f.Policy == growth.Static:
			kind = "constant"
		case f.Hindsight:
			kind = "hindsight"
		case !f.Grows:
			kind = "shrinks too"
		}
		t.Rows = append(t.Rows, []string{
			f.Policy, kind, decimals(f.LimitGBh, 1), decimals(f.ShareOfStatic, 3), strconv.Itoa(f.Killed), decimals(f.KilledPercent, 1), decimals(f.ResizesPerRun, 1),
		})
	}
	return t
}

func requests(r *growth.Report) *Table {
	t := &Table{Header: []string{"requests", "of", "amount", "of static", "too low, % of time"}, TextColumns: 2}
	for _, f := range r.Requests {
		t.Rows = append(t.Rows, []string{f.Policy, "memory, GB·h", decimals(f.RequestGBh, 1), decimals(f.ShareOfStatic, 3), ""})
	}
	for _, f := range r.CPU {
		t.Rows = append(t.Rows, []string{f.Policy, "CPU, core·h", decimals(f.CoreHours, 1), decimals(f.ShareOfStatic, 3), decimals(f.ShortPercent, 2)})
	}
	return t
}

func taskPlans(r *growth.Report) *Table {
	t := &Table{Header: []string{"task", "next plan", "runs", "static GB·h", "plan GB·h", "of static", "static killed", "plan killed"}, TextColumns: 2}
	for _, task := range r.PerTask {
		t.Rows = append(t.Rows, []string{
			task.DagID + "/" + task.TaskID, task.Plan.Rule, strconv.Itoa(task.Runs), decimals(task.StaticGBh, 1), decimals(task.PlanGBh, 1),
			decimals(task.ShareOfStatic, 2), strconv.Itoa(task.StaticKilled), strconv.Itoa(task.PlanKilled),
		})
	}
	return t
}

func decimals(v float64, n int) string { return strconv.FormatFloat(v, 'f', n, 64) }
