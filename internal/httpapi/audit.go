package httpapi

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// ListAudit is one page of who changed what.
func (s *server) ListAudit(ctx context.Context, r api.ListAuditRequestObject) (api.ListAuditResponseObject, error) {
	filter, limit, err := auditFilter(&r.Params)
	if err != nil {
		return nil, err
	}
	if filter.Task.Namespace, err = listScope(ctx, filter.Task.Namespace); err != nil {
		return nil, err
	}
	// One more than is shown tells whether there is a next page.
	entries, err := s.visibleAudit(ctx, filter, limit+1)
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
		entry, err := auditEntry(&entries[i])
		if err != nil {
			return nil, err
		}
		page.Entries = append(page.Entries, entry)
	}
	return api.ListAudit200JSONResponse(page), nil
}

func auditFilter(p *api.ListAuditParams) (filter store.AuditFilter, limit int, err error) {
	var f form
	if limit = or(p.Limit, usualPage); limit < 1 || limit > maxPage {
		f.add("limit", "must be 1 to %d", maxPage)
	}
	for _, id := range []struct {
		name string
		sent *string
		to   *string
	}{
		{"namespace", p.Namespace, &filter.Task.Namespace}, {"dag_id", p.DagID, &filter.Task.DAG}, {"task_id", p.TaskID, &filter.Task.Task},
	} {
		if id.sent == nil {
			continue
		}
		if wrong := sizing.CheckID(*id.sent); wrong != "" {
			f.add(id.name, "%s", wrong)
		}
		*id.to = *id.sent
	}
	if p.Cursor != nil && *p.Cursor != "" {
		if filter.Before, err = strconv.ParseInt(*p.Cursor, 10, 64); err != nil || filter.Before < 1 {
			f.add("cursor", "is not the next_cursor of a page")
		}
	}
	if len(f.bad) > 0 {
		return filter, 0, failed(f.bad)
	}
	return filter, limit, nil
}

// visibleAudit reads entries of the caller's tasks, at most limit.
func (s *server) visibleAudit(ctx context.Context, filter store.AuditFilter, limit int) (seen []store.AuditEntry, err error) {
	for {
		read, err := s.svc.Audit(ctx, filter, limit)
		if err != nil {
			return nil, err
		}
		for i := range read {
			if mayName(ctx, read[i].Task) && len(seen) < limit {
				seen = append(seen, read[i])
			}
		}
		if len(read) < limit || len(seen) == limit {
			return seen, nil
		}
		filter.Before = read[len(read)-1].ID
	}
}

// auditEntry writes an entry. A policy is written as it is answered elsewhere.
func auditEntry(e *store.AuditEntry) (api.AuditEntry, error) {
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
