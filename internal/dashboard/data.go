package dashboard

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/insight/savings"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const profilesPerQuery = 1000

// TaskRow is one task of a list: its row in the report of all tasks, and what the report lacks.
type TaskRow struct {
	report.Task
	Mode     sizing.Mode `json:"mode"`
	LastSeen *time.Time  `json:"last_seen"`     // nil without a report
	Version  int         `json:"model_version"` // 0 without a model
	Owner    string      `json:"owner,omitempty"`
}

// Key returns the key of the task.
func (t *TaskRow) Key() sizing.TaskKey {
	return sizing.TaskKey{Namespace: t.Namespace, DAG: t.DagID, Task: t.TaskID}
}

type taskList struct {
	report.Report
	rows     []TaskRow // in the order of the report, by wastage; then the tasks without tries
	profiles []sizing.Profile
}

// taskDays returns the number of tasks times the number of days of their history.
func (l *taskList) taskDays() int {
	if l.FirstDay == nil || l.LastDay == nil {
		return 0
	}
	return len(l.rows) * (1 + int(l.LastDay.Sub(l.FirstDay.Time)/(24*time.Hour)))
}

func scopeKey(g auth.Grants) string {
	var key strings.Builder
	for _, s := range g.Scopes() {
		fmt.Fprintf(&key, "%q %q;", s.Namespace, s.DAGPrefix)
	}
	return key.String()
}

func (d *Dashboard) taskList(ctx context.Context, grants auth.Grants) (*taskList, error) {
	return cached(ctx, d.cache, "tasks "+scopeKey(grants), func(ctx context.Context) (*taskList, error) {
		profiles, err := d.profiles(ctx, grants)
		if err != nil {
			return nil, err
		}
		source := &riskSource{&pageSavings{Source: d.svc}, d.risks}
		if err := d.risks.read(ctx, source.Source, profiles, maxRisks); err != nil {
			return nil, err
		}
		result, err := report.Read(ctx, source, profiles, report.Options{Filter: store.SavingsFilter{Scopes: grants.Scopes()}, Prices: d.cfg.Prices})
		if err != nil {
			return nil, err
		}
		owners, err := d.owners(ctx, grants)
		if err != nil {
			return nil, err
		}
		return newTaskList(result, profiles, owners), nil
	})
}

// owners returns the owners of tasks; it may include tasks outside the scope of the caller.
func (d *Dashboard) owners(ctx context.Context, grants auth.Grants) (map[sizing.TaskKey]string, error) {
	namespace, err := grants.ListNamespace("")
	if err != nil {
		return nil, err
	}
	return d.ownersOf(ctx, namespace)
}

// ownersOf returns the owners of the tasks of a namespace; of all namespaces if it is empty.
func (d *Dashboard) ownersOf(ctx context.Context, namespace string) (map[sizing.TaskKey]string, error) {
	return cached(ctx, d.cache, fmt.Sprintf("owners %q", namespace), func(ctx context.Context) (map[sizing.TaskKey]string, error) {
		return d.svc.Owners(ctx, namespace)
	})
}

// newTaskList joins a report with the profiles of the tasks, and adds the tasks that the report omits.
func newTaskList(r *report.Report, profiles []sizing.Profile, owners map[sizing.TaskKey]string) *taskList {
	list := &taskList{Report: *r, profiles: profiles}
	known := map[sizing.TaskKey]*sizing.Profile{}
	for i := range profiles {
		known[profiles[i].Task] = &profiles[i]
	}
	for i := range r.Tasks {
		row := TaskRow{Task: r.Tasks[i]}
		row.complete(known[row.Key()], owners[row.Key()])
		delete(known, row.Key())
		list.rows = append(list.rows, row)
	}
	for i := range profiles {
		p := &profiles[i]
		if known[p.Task] == nil {
			continue
		}
		why := "no try reported"
		row := TaskRow{Task: report.Task{Namespace: p.Task.Namespace, DagID: p.Task.DAG, TaskID: p.Task.Task, Group: string(p.Group),
			Severity: report.Unknown, RiskTarget: p.Policy.WithDefaults().RiskTarget, WhyNot: &why}}
		row.complete(p, owners[p.Task])
		list.rows = append(list.rows, row)
	}
	return list
}

func (t *TaskRow) complete(p *sizing.Profile, owner string) {
	t.Owner = owner
	if p == nil {
		return
	}
	t.Mode = p.Policy.WithDefaults().Mode
	if !p.LastSeen.IsZero() {
		t.LastSeen = &p.LastSeen
	}
	if p.Champion != nil {
		t.Version = p.Champion.Version
	}
}

func (d *Dashboard) profiles(ctx context.Context, grants auth.Grants) ([]sizing.Profile, error) {
	namespace, err := grants.ListNamespace("")
	if err != nil {
		return nil, err
	}
	var all []sizing.Profile
	for after := (sizing.TaskKey{}); ; {
		page, err := grants.Visible(namespace, after, profilesPerQuery, func(from sizing.TaskKey) ([]sizing.Profile, error) {
			return d.svc.TasksBrief(ctx, namespace, from, profilesPerQuery)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < profilesPerQuery {
			return all, nil
		}
		after = page[len(page)-1].Task
	}
}

func (d *Dashboard) sums(ctx context.Context, f store.SavingsFilter, by store.SavingsKey) (*savings.Answer, error) {
	return cached(ctx, d.cache, "sums "+sumsKey(&f, by), d.readSums(f, by))
}

// sumsIfRead returns the sums, or nil while it reads them in the background; see cachedIfRead.
func (d *Dashboard) sumsIfRead(ctx context.Context, f store.SavingsFilter, by store.SavingsKey) (*savings.Answer, error) {
	sums, _, err := cachedIfRead(ctx, d.cache, "sums "+sumsKey(&f, by), d.readSums(f, by))
	return sums, err
}

func (d *Dashboard) readSums(f store.SavingsFilter, by store.SavingsKey) func(context.Context) (*savings.Answer, error) {
	return func(ctx context.Context) (*savings.Answer, error) {
		return savings.Read(ctx, &pageSavings{Source: d.svc}, f, by, d.cfg.Prices)
	}
}

func sumsKey(f *store.SavingsFilter, by store.SavingsKey) string {
	return fmt.Sprintf("%s %q %q", by, f.Scopes, []any{f.Namespace, f.DAG, f.Task, f.From, f.To})
}
