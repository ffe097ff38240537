package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Audit is the page of the audit trail.
type Audit struct {
	Namespace string       `json:"namespace,omitempty"`
	DagID     string       `json:"dag_id,omitempty"`
	TaskID    string       `json:"task_id,omitempty"`
	Entries   []AuditEntry `json:"entries"` // newest first

	Next string `json:"-"` // address of the older entries; "" if there are none
}

// AuditEntry is one change of a task or a campaign.
type AuditEntry struct {
	ID        int64          `json:"id"`
	At        time.Time      `json:"at"`
	Who       string         `json:"who"` // the caller, or the part of the service that made the change
	Action    string         `json:"action"`
	Namespace string         `json:"namespace"`
	DagID     string         `json:"dag_id"`
	TaskID    string         `json:"task_id"` // empty for a campaign
	Changes   []PolicyChange `json:"changes"`
	Reason    string         `json:"reason,omitempty"`
}

// Key returns the key of the task; for a campaign that of its DAG, without a task id.
func (e *AuditEntry) Key() sizing.TaskKey {
	return sizing.TaskKey{Namespace: e.Namespace, DAG: e.DagID, Task: e.TaskID}
}

const auditRows = 100

func (d *Dashboard) audit(req *pageRequest) (*view, error) {
	ctx, cancel := req.withDeadline()
	defer cancel()
	a := &Audit{Namespace: req.query.Get("namespace"), DagID: req.query.Get("dag_id"), TaskID: req.query.Get("task_id"), Entries: []AuditEntry{}}
	filter := store.AuditFilter{Task: sizing.TaskKey{DAG: a.DagID, Task: a.TaskID}}
	for _, field := range []string{"namespace", "dag_id", "task_id"} {
		value := req.query.Get(field)
		if detail := sizing.CheckID(value); value != "" && detail != "" {
			return nil, sizing.InvalidField(field, "%s", detail)
		}
	}
	if text := req.query.Get("before"); text != "" {
		before, err := strconv.ParseInt(text, 10, 64)
		if err != nil || before < 1 {
			return nil, sizing.InvalidField("before", "must be the id of an entry, not %.50q", text)
		}
		filter.Before = before
	}
	var err error
	if filter.Task.Namespace, err = req.grants.ListNamespace(a.Namespace); err != nil {
		return nil, err
	}
	entries, err := d.auditEntries(ctx, req, filter)
	if err != nil {
		return nil, err
	}
	if len(entries) > auditRows {
		entries = entries[:auditRows]
		a.Next = d.addressWith(req.query, "/audit", "before", strconv.FormatInt(entries[auditRows-1].ID, 10))
	}
	for i := range entries {
		e := &entries[i]
		a.Entries = append(a.Entries, AuditEntry{ID: e.ID, At: e.At, Who: e.Who, Action: string(e.Action), Namespace: e.Task.Namespace, DagID: e.Task.DAG, TaskID: e.Task.Task,
			Changes: changesOfEntry(e), Reason: e.Reason})
	}
	return &view{Title: "Audit", Nav: "Audit", Template: "audit", Page: a, Table: func() ([]string, [][]string) { return auditTable(a.Entries) }}, nil
}

// auditEntries returns the newest entries that match a filter and that the caller may see: auditRows+1 if there is a next
// page, and at most auditRows otherwise.
func (d *Dashboard) auditEntries(ctx context.Context, req *pageRequest, filter store.AuditFilter) (visible []store.AuditEntry, err error) {
	for {
		entries, err := d.svc.Audit(ctx, filter, auditRows+1)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			if req.grants.Covers(entries[i].Task) && len(visible) <= auditRows {
				visible = append(visible, entries[i])
			}
		}
		if len(entries) <= auditRows || len(visible) > auditRows {
			return visible, nil
		}
		filter.Before = entries[len(entries)-1].ID
	}
}

func changesOfEntry(e *store.AuditEntry) []PolicyChange {
	if e.Action == store.PolicyChanged {
		if changes, ok := policyChanges(e.Before, e.After); ok {
			return changes
		}
	}
	return jsonChanges(e.Before, e.After)
}

// policyChanges returns the fields in which two stored policies differ; ok is false if one cannot be decoded. A policy that
// was never set has no JSON.
func policyChanges(before, after []byte) (changes []PolicyChange, ok bool) {
	var a, b sizing.Policy
	for _, stored := range []struct {
		text   []byte
		policy *sizing.Policy
	}{{before, &a}, {after, &b}} {
		if len(stored.text) > 0 && json.Unmarshal(stored.text, stored.policy) != nil {
			return nil, false
		}
	}
	changes = []PolicyChange{}
	from, to := policyFields(&a), policyFields(&b)
	for i := range from {
		if from[i].value != to[i].value {
			changes = append(changes, PolicyChange{from[i].name, from[i].value, to[i].value})
		}
	}
	return changes, true
}

// policyField is a field of a policy: its name in the API, and its value as a person types it.
type policyField struct{ name, value string }

// policyFields returns all fields of a policy. The value of a field that is not set is "none" or "default"; that of a bool is
// "false".
func policyFields(p *sizing.Policy) []policyField {
	number := func(v float64) string {
		if v == 0 {
			return ""
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	lifts := ""
	if p.MaxLifts != nil {
		lifts = strconv.Itoa(*p.MaxLifts)
	}
	edges := make([]string, len(p.Edges))
	for i, edge := range p.Edges {
		edges[i] = edge.String()
	}
	return []policyField{
		{"mode", orDefault(string(p.Mode))}, {"floor", cmp.Or(exact(p.Floor), "none")}, {"cap", cmp.Or(exact(p.Cap), "none")},
		{"risk_target", orDefault(number(p.RiskTarget))}, {"max_lifts", orDefault(lifts)}, {"limit_ratio", orDefault(number(p.LimitRatio))},
		{"never_above_requested", strconv.FormatBool(p.NeverAbove)}, {"cpu_unmanaged", strconv.FormatBool(p.CPUUnmanaged)},
		{"grid", orDefault(string(p.Grid))}, {"bin_edges", orDefault(strings.Join(edges, ", "))}, {"phases", orDefault(string(p.Phases))},
	}
}

func jsonChanges(before, after []byte) []PolicyChange {
	a, b := fieldsOf(before), fieldsOf(after)
	changes := []PolicyChange{}
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, inBoth := a[name]; !inBoth {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if string(a[name]) != string(b[name]) {
			changes = append(changes, PolicyChange{name, jsonText(a[name]), jsonText(b[name])})
		}
	}
	return changes
}

// fieldsOf returns the fields of a JSON object. Any other value is one field without a name.
func fieldsOf(text []byte) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if len(text) > 0 && json.Unmarshal(text, &fields) != nil {
		fields = map[string]json.RawMessage{"": text}
	}
	return fields
}

func jsonText(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0:
		return "–"
	case json.Unmarshal(raw, &text) == nil:
		return orDefault(text)
	}
	return string(raw)
}

func auditTable(entries []AuditEntry) (header []string, table [][]string) {
	header = []string{"id", "at", "who", "action", "namespace", "dag_id", "task_id", "changes", "reason"}
	for i := range entries {
		e := &entries[i]
		changes, _ := json.Marshal(e.Changes) // encoding texts cannot fail
		table = append(table, []string{strconv.FormatInt(e.ID, 10), e.At.UTC().Format(time.RFC3339Nano), e.Who, e.Action, e.Namespace, e.DagID, e.TaskID, string(changes), e.Reason})
	}
	return header, table
}
