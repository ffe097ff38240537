package httpapi

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// ListAudit returns one page of the audit trail.
func (s *server) ListAudit(ctx context.Context, r api.ListAuditRequestObject) (api.ListAuditResponseObject, error) {
	filter, limit, err := auditFilter(&r.Params)
	if err != nil {
		return nil, err
	}
	if filter.Task.Namespace, err = infoOf(ctx).grants.ListNamespace(filter.Task.Namespace); err != nil {
		return nil, err
	}
	entries, err := s.visibleAudit(ctx, filter, limit+1) // the extra one shows whether there is a next page
	if err != nil {
		return nil, err
	}
	page := api.AuditPage{Entries: []api.AuditEntry{}}
	if len(entries) > limit {
		entries = entries[:limit]
		next := strconv.FormatInt(entries[limit-1].ID, 10)
		page.NextCursor = &next
	}
	for i := range entries {
		entry, err := auditAnswer(&entries[i])
		if err != nil {
			return nil, err
		}
		page.Entries = append(page.Entries, entry)
	}
	return api.ListAudit200JSONResponse(page), nil
}

func auditFilter(p *api.ListAuditParams) (filter store.AuditFilter, limit int, err error) {
	var f fieldReader
	limit = f.pageLimit(p.Limit, defaultPageSize)
	for _, id := range []struct {
		name   string
		value  *string
		target *string
	}{
		{"namespace", p.Namespace, &filter.Task.Namespace}, {"dag_id", p.DagID, &filter.Task.DAG}, {"task_id", p.TaskID, &filter.Task.Task},
	} {
		if id.value == nil {
			continue
		}
		if detail := sizing.CheckID(*id.value); detail != "" {
			f.add(id.name, "%s", detail)
		}
		*id.target = *id.value
	}
	if p.Cursor != nil && *p.Cursor != "" {
		if filter.Before, err = strconv.ParseInt(*p.Cursor, 10, 64); err != nil || filter.Before < 1 {
			f.add("cursor", invalidCursor)
		}
	}
	if len(f.errors) > 0 {
		return filter, 0, invalidFields(f.errors)
	}
	return filter, limit, nil
}

func (s *server) visibleAudit(ctx context.Context, filter store.AuditFilter, limit int) (visible []store.AuditEntry, err error) {
	for {
		entries, err := s.svc.Audit(ctx, filter, limit)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			if infoOf(ctx).grants.Covers(entries[i].Task) && len(visible) < limit {
				visible = append(visible, entries[i])
			}
		}
		if len(entries) < limit || len(visible) == limit {
			return visible, nil
		}
		filter.Before = entries[len(entries)-1].ID
	}
}

// auditAnswer converts an entry of the audit trail. A policy in the entry gets the form in which GetPolicy returns it.
func auditAnswer(e *store.AuditEntry) (api.AuditEntry, error) {
	entry := api.AuditEntry{
		ID: e.ID, At: e.At, Who: e.Who, Action: string(e.Action), Before: e.Before, After: e.After, Reason: textOrNull(e.Reason),
		Namespace: e.Task.Namespace, DagID: e.Task.DAG, TaskID: e.Task.Task,
	}
	if e.Action != store.PolicyChanged {
		return entry, nil
	}
	for _, state := range []*json.RawMessage{&entry.Before, &entry.After} {
		if *state == nil {
			continue
		}
		var p sizing.Policy
		err := json.Unmarshal(*state, &p)
		if err == nil {
			*state, err = json.Marshal(policyAnswer(p))
		}
		if err != nil {
			return entry, err
		}
	}
	return entry, nil
}
