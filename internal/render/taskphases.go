package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// TaskPhases prints the phases of a task, its next plan and the replayed savings.
func TaskPhases(w io.Writer, p *api.TaskPhases, format string) error {
	fmt.Fprintf(w, "%s/%s: phases %s, %s, version %d\n", p.DagID, p.TaskID, p.Mode, Count(p.Runs, "learned run"), p.Version)
	s := &p.Savings
	if s.ShareOfStatic != nil {
		fmt.Fprintf(w, "plans would take %.2f of the memory time of static grants: %.1f instead of %.1f GB·h in %s; killed runs: %d instead of %d\n",
			*s.ShareOfStatic, s.PlanGbh, s.StaticGbh, Count(s.Runs, "run"), s.PlanKilled, s.StaticKilled)
	}
	if c := s.CPU; c != nil {
		fmt.Fprintf(w, "CPU requests: %.1f instead of %.1f core·h in %s; too low for %.1f %% of the time\n", c.PlanCoreHours, c.StaticCoreHours, Count(c.Runs, "run"), c.ShortPercent)
	}
	if p.Plan == nil {
		fmt.Fprintln(w, "no plan yet: a plan needs at least three learned runs with a median duration of ten minutes or more, and a run with a known static grant")
	} else {
		fmt.Fprintf(w, "next plan: %s of %s at the start, promised risk %.4f (%s)\n", approx(p.Plan.StartBytes), approx(p.Plan.StaticBytes), p.Plan.Promised, p.Plan.Rule)
	}
	for _, t := range []*Table{planStepsTable(p.Plan), phasesTable(p), prototypesTable(p)} {
		if len(t.Rows) == 0 {
			continue
		}
		fmt.Fprintln(w)
		if err := t.Write(w, format); err != nil {
			return err
		}
	}
	return nil
}

func approx(bytes int64) string { return sizing.Bytes(bytes).Approx() }

func planStepsTable(p *api.NextPlan) *Table {
	t := &Table{Header: []string{"ask by s", "in force by s", "expected usage", "limit"}}
	if p == nil {
		return t
	}
	for _, s := range p.Steps {
		t.Rows = append(t.Rows, []string{decimals(s.AskBySeconds, 0), decimals(s.AfterSeconds, 0), approx(s.LevelBytes), approx(s.MemoryBytes)})
	}
	return t
}

func phasesTable(p *api.TaskPhases) *Table {
	t := &Table{Header: []string{"phase", "next", "share %", "memory mean", "memory max", "CPU mean", "visits", "median s"}, TextColumns: 2}
	for _, ph := range p.Phases {
		cores, dwell := "", ""
		if ph.CPUMeanCores != nil {
			cores = decimals(*ph.CPUMeanCores, 2)
		}
		if ph.Dwell != nil {
			dwell = decimals(ph.Dwell.MedianSeconds, 0)
		}
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(ph.ID), nextPhases(ph.Next), decimals(100*ph.Share, 1), approx(int64(ph.MemoryMeanBytes)), approx(int64(ph.MemoryMaxBytes)), cores, strconv.Itoa(ph.Visits), dwell,
		})
	}
	return t
}

// nextPhases lists what follows a phase, such as "2 80 %, end 20 %".
func nextPhases(next []api.PhaseTransition) string {
	var all []string
	for _, n := range next {
		name := "end"
		if n.Phase != nil {
			name = strconv.Itoa(*n.Phase)
		}
		all = append(all, fmt.Sprintf("%s %.0f %%", name, 100*n.Probability))
	}
	return strings.Join(all, ", ")
}

func prototypesTable(p *api.TaskPhases) *Table {
	t := &Table{Header: []string{"prototype", "runs", "share %"}, TextColumns: 1}
	for _, prototype := range p.Prototypes {
		var ids []string
		for _, id := range prototype.Phases {
			ids = append(ids, strconv.Itoa(id))
		}
		t.Rows = append(t.Rows, []string{strings.Join(ids, " → "), strconv.Itoa(prototype.Runs), decimals(100*prototype.Share, 1)})
	}
	return t
}
