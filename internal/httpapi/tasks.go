package httpapi

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// pathKey is the task that a path names, where the caller may name it.
func pathKey(ctx context.Context, namespace *string, dag, task string) (sizing.TaskKey, error) {
	key := taskKey(namespace, dag, task)
	if bad := key.Validate(); len(bad) > 0 {
		return key, failed(bad)
	}
	return key, checkScope(ctx, key)
}

// known fails with NotFound for a task that was never heard of. It is asked where
// nothing was found, to tell "none" from "no such task".
func (s *server) known(ctx context.Context, key sizing.TaskKey) error {
	_, err := s.svc.Task(ctx, key)
	return err
}

// GetTask is one profile.
func (s *server) GetTask(ctx context.Context, r api.GetTaskRequestObject) (api.GetTaskResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	p, err := s.svc.Task(ctx, key)
	if err != nil {
		return nil, err
	}
	return api.GetTask200JSONResponse(profile(&p)), nil
}

// DeleteTask forgets a task.
func (s *server) DeleteTask(ctx context.Context, r api.DeleteTaskRequestObject) (api.DeleteTaskResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	return api.DeleteTask204Response{}, s.svc.DeleteTask(ctx, key)
}

// RenameTask moves a task; both names must be the caller's to name.
func (s *server) RenameTask(ctx context.Context, r api.RenameTaskRequestObject) (api.RenameTaskResponseObject, error) {
	from, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	to, err := pathKey(ctx, r.Body.Namespace, r.Body.DagID, r.Body.TaskID)
	if err != nil {
		return nil, err
	}
	if err := s.svc.Rename(ctx, from, to); err != nil {
		return nil, err
	}
	return api.RenameTask200JSONResponse{Namespace: &to.Namespace, DagID: to.DAG, TaskID: to.Task}, nil
}

// Most and usual sizes of a page.
const (
	maxPage   = 1000
	usualPage = 100
)

// ListTasks is one page of summaries.
func (s *server) ListTasks(ctx context.Context, r api.ListTasksRequestObject) (api.ListTasksResponseObject, error) {
	var f form
	limit := or(r.Params.Limit, usualPage)
	if limit < 1 || limit > maxPage {
		f.add("limit", "must be 1 to %d", maxPage)
	}
	if ns := r.Params.Namespace; ns != nil && sizing.CheckID(*ns) != "" {
		f.add("namespace", "%s", sizing.CheckID(*ns))
	}
	after, ok := parseCursor(or(r.Params.Cursor, ""))
	if !ok {
		f.add("cursor", "is not the next_cursor of a page")
	}
	if len(f.bad) > 0 {
		return nil, failed(f.bad)
	}
	namespace, err := listScope(ctx, or(r.Params.Namespace, ""))
	if err != nil {
		return nil, err
	}
	// One more than is shown tells whether there is a next page.
	profiles, err := s.visible(ctx, namespace, after, limit+1)
	if err != nil {
		return nil, err
	}
	page := api.TaskPage{Tasks: []api.TaskSummary{}}
	if len(profiles) > limit {
		profiles = profiles[:limit]
		next := cursor(profiles[limit-1].Task)
		page.NextCursor = &next
	}
	for i := range profiles {
		page.Tasks = append(page.Tasks, summary(&profiles[i]))
	}
	return api.ListTasks200JSONResponse(page), nil
}

// cursor writes the key of the last task of a page. Ids hold no '/'.
func cursor(k sizing.TaskKey) string {
	return base64.RawURLEncoding.EncodeToString([]byte(k.Namespace + "/" + k.DAG + "/" + k.Task))
}

// parseCursor reads one; the empty cursor stands before the first task.
func parseCursor(text string) (k sizing.TaskKey, ok bool) {
	if text == "" {
		return k, true
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(plain), "/")
	if err != nil || len(parts) != 3 {
		return k, false
	}
	k = sizing.TaskKey{Namespace: parts[0], DAG: parts[1], Task: parts[2]}
	return k, len(k.Validate()) == 0
}
