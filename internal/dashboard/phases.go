package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// PhasedTasks is the page that lists the tasks of a namespace with at least one run whose usage series was learned. The
// phases of a task are found only once it has a plan.
type PhasedTasks struct {
	Namespace  string      `json:"namespace"`
	Namespaces []string    `json:"-"` // to choose from
	Rows       []PhasedRow `json:"tasks"`
	IsCut      bool        `json:"-"` // the HTML table omits later tasks
}

// PhasedRow is one task of the list.
type PhasedRow struct {
	DagID     string            `json:"dag_id"`
	TaskID    string            `json:"task_id"`
	Mode      sizing.PhasesMode `json:"mode"`
	Version   int               `json:"version"` // of the learned phases and plan
	LearnedAt time.Time         `json:"learned_at"`
	URL       string            `json:"-"`
}

const shownPhased = 300

func (d *Dashboard) phases(req *pageRequest) (*view, error) {
	if req.query.Get("dag_id") != "" || req.query.Get("task_id") != "" {
		return d.taskPhases(req)
	}
	ctx, cancel := req.withDeadline()
	defer cancel()
	namespace, err := req.namespace()
	if err != nil {
		return nil, err
	}
	page := &PhasedTasks{Namespace: namespace, Rows: []PhasedRow{}}
	if bad := sizing.CheckID(page.Namespace); bad != "" {
		return nil, sizing.InvalidField("namespace", "%s", bad)
	}
	list, err := d.taskList(ctx, req.grants)
	if err != nil {
		return nil, err
	}
	page.Namespaces = choicesOf(list.rows).Namespaces
	page.Namespaces = page.Namespaces[:min(len(page.Namespaces), listedNames)]
	plans, err := d.svc.PlannedTasks(ctx, page.Namespace)
	if err != nil {
		return nil, err
	}
	modes, err := d.phasesModes(ctx, req.grants)
	if err != nil {
		return nil, err
	}
	d.fillPhased(page, plans, modes, formatOf(req.query) == asHTML)
	return &view{Title: "Phases", Nav: "Phases", Template: "phases", Page: page, Table: func() ([]string, [][]string) { return phasedTable(page.Rows) }}, nil
}

func (d *Dashboard) phasesModes(ctx context.Context, grants auth.Grants) (map[sizing.TaskKey]sizing.PhasesMode, error) {
	return cached(ctx, d.cache, "phases "+scopeKey(grants), func(ctx context.Context) (map[sizing.TaskKey]sizing.PhasesMode, error) {
		profiles, err := d.profiles(ctx, grants)
		modes := make(map[sizing.TaskKey]sizing.PhasesMode, len(profiles))
		for i := range profiles {
			modes[profiles[i].Task] = profiles[i].Policy.WithDefaults().Phases
		}
		return modes, err
	})
}

func (d *Dashboard) fillPhased(page *PhasedTasks, plans []store.TaskPlan, modes map[sizing.TaskKey]sizing.PhasesMode, isHTML bool) {
	for i := range plans {
		p := &plans[i]
		mode, isVisible := modes[p.Task]
		switch {
		case !isVisible:
		case isHTML && len(page.Rows) == shownPhased:
			page.IsCut = true
		default:
			page.Rows = append(page.Rows, PhasedRow{p.Task.DAG, p.Task.Task, mode, p.Version, p.LearnedAt, d.taskURL("/phases", p.Task)})
		}
	}
}

func phasedTable(rows []PhasedRow) (header []string, table [][]string) {
	header = []string{"dag_id", "task_id", "mode", "version", "learned_at"}
	for _, r := range rows {
		table = append(table, []string{r.DagID, r.TaskID, string(r.Mode), strconv.Itoa(r.Version), r.LearnedAt.Format(time.RFC3339)})
	}
	return header, table
}

func (d *Dashboard) taskPhases(req *pageRequest) (*view, error) {
	key, err := req.keyOf()
	if err != nil {
		return nil, err
	}
	ctx, cancel := req.withDeadline()
	defer cancel()
	runs := defaultPhasedRuns
	if text := req.query.Get("runs"); text != "" {
		if runs, err = strconv.Atoi(text); err != nil {
			return nil, sizing.InvalidField("runs", "must be a number, not %.50q", text)
		}
	}
	page := &TaskPhases{Namespace: key.Namespace, DagID: key.DAG, TaskID: key.Task, Phases: []PhaseRow{}, Prototypes: []PrototypeRow{}, Steps: []PlanStepRow{}, Runs: []PhasedRun{}}
	shown := &view{Title: "Phases of " + key.String(), Nav: "Phases", Template: "taskphases", Page: page,
		Table: func() ([]string, [][]string) { return phasedRunsTable(page.Runs) }}
	p, err := d.svc.TaskPhases(ctx, key, runs)
	switch {
	case sizing.KindOf(err) == sizing.NotFound:
		if _, taskErr := d.svc.Task(ctx, key); taskErr != nil {
			return nil, taskErr // the task is not known
		}
		page.Missing = err.Error()
		return shown, nil
	case err != nil:
		return nil, err
	}
	page.fill(p)
	return shown, nil
}

func phasedRunsTable(runs []PhasedRun) (header []string, table [][]string) {
	header = []string{"run_id", "map_index", "try_number", "seconds", "memory_bytes", "cpu_cores", "phase", "limit_bytes"}
	for i := range runs {
		r := &runs[i]
		for step, memory := range r.Memory {
			seconds, cores, phase, limit := float64(step)*r.StepSeconds, "", "", ""
			if step < len(r.CPU) {
				cores = csvNumber(&r.CPU[step])
			}
			if step < len(r.Phases) {
				phase = strconv.Itoa(r.Phases[step])
			}
			if at := slices.IndexFunc(r.Limits, func(l LimitRow) bool { return l.Seconds > seconds }); at != 0 && len(r.Limits) > 0 {
				if at < 0 {
					at = len(r.Limits)
				}
				limit = strconv.FormatInt(int64(r.Limits[at-1].Memory), 10)
			}
			table = append(table, []string{r.RunID, strconv.Itoa(r.MapIndex), strconv.Itoa(r.Try), csvNumber(&seconds), strconv.FormatInt(memory, 10), cores, phase, limit})
		}
	}
	return header, table
}

func sequence(phases []int) string {
	const maxShown = 20
	names := make([]string, 0, maxShown+1)
	for _, p := range phases[:min(len(phases), maxShown)] {
		names = append(names, strconv.Itoa(p))
	}
	if len(phases) > maxShown {
		names = append(names, fmt.Sprintf("… (%d in all)", len(phases)))
	}
	return strings.Join(names, " → ")
}
