package httpapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// pathKey returns the key of a task, if the caller may access the task.
func pathKey(ctx context.Context, namespace *string, dag, task string) (sizing.TaskKey, error) {
	key := taskKey(namespace, dag, task)
	if invalid := key.Validate(); len(invalid) > 0 {
		return key, invalidFields(invalid)
	}
	return key, infoOf(ctx).grants.CheckTask(key)
}

// checkExists fails with NotFound for an unknown task. Handlers call it after an empty result,
// because an unknown task and a task without data have the same result.
func (s *server) checkExists(ctx context.Context, key sizing.TaskKey) error {
	_, err := s.svc.Task(ctx, key)
	return err
}

// GetTask returns the statistics of one task, and its usage profile if there is one.
func (s *server) GetTask(ctx context.Context, r api.GetTaskRequestObject) (api.GetTaskResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	p, err := s.svc.Task(ctx, key)
	if err != nil {
		return nil, err
	}
	answer := profileAnswer(&p)
	usage, err := s.svc.TaskUsage(ctx, key)
	if err != nil && sizing.KindOf(err) != sizing.NotFound {
		return nil, err
	}
	addTaskUsage(&answer, usage)
	return api.GetTask200JSONResponse(answer), nil
}

// DeleteTask deletes a task and its data.
func (s *server) DeleteTask(ctx context.Context, r api.DeleteTaskRequestObject) (api.DeleteTaskResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	return api.DeleteTask204Response{}, s.svc.DeleteTask(ctx, key)
}

// RenameTask renames a task. The caller needs access to both names. A new name without a namespace keeps that of the task.
func (s *server) RenameTask(ctx context.Context, r api.RenameTaskRequestObject) (api.RenameTaskResponseObject, error) {
	from, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	namespace := cmp.Or(r.Body.Namespace, &from.Namespace)
	to, err := pathKey(ctx, namespace, r.Body.DagID, r.Body.TaskID)
	if err != nil {
		return nil, err
	}
	if err := s.svc.Rename(ctx, from, to); err != nil {
		return nil, err
	}
	return api.RenameTask200JSONResponse{Namespace: &to.Namespace, DagID: to.DAG, TaskID: to.Task}, nil
}

const (
	maxPageSize     = 1000
	defaultPageSize = 100
)

func (f *fieldReader) pageLimit(limit *int, fallback int) int {
	n := valueOr(limit, fallback)
	if n < 1 || n > maxPageSize {
		f.add("limit", "must be 1 to %d", maxPageSize)
	}
	return n
}

const invalidCursor = "is not the next_cursor of a page"

// ListTasks returns one page of task summaries.
func (s *server) ListTasks(ctx context.Context, r api.ListTasksRequestObject) (api.ListTasksResponseObject, error) {
	var f fieldReader
	limit := f.pageLimit(r.Params.Limit, defaultPageSize)
	if ns := r.Params.Namespace; ns != nil && sizing.CheckID(*ns) != "" {
		f.add("namespace", "%s", sizing.CheckID(*ns))
	}
	after, ok := parseCursor(valueOr(r.Params.Cursor, ""))
	if !ok {
		f.add("cursor", invalidCursor)
	}
	if len(f.errors) > 0 {
		return nil, invalidFields(f.errors)
	}
	namespace, err := infoOf(ctx).grants.ListNamespace(valueOr(r.Params.Namespace, ""))
	if err != nil {
		return nil, err
	}
	profiles, err := s.visibleTasks(ctx, namespace, after, limit+1) // the extra one shows whether there is a next page
	if err != nil {
		return nil, err
	}
	page := api.TaskPage{Tasks: []api.TaskSummary{}}
	if len(profiles) > limit {
		profiles = profiles[:limit]
		next := formatCursor(profiles[limit-1].Task)
		page.NextCursor = &next
	}
	for i := range profiles {
		page.Tasks = append(page.Tasks, summaryAnswer(&profiles[i]))
	}
	return api.ListTasks200JSONResponse(page), nil
}

// visibleTasks returns tasks that the caller may access, in the order of their keys: at most `limit`, whose keys are
// greater than `after`.
func (s *server) visibleTasks(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error) {
	return infoOf(ctx).grants.Visible(namespace, after, limit, func(from sizing.TaskKey) ([]sizing.Profile, error) {
		return s.svc.Tasks(ctx, namespace, from, limit)
	})
}

// formatCursor encodes the key of the last task of a page. Ids contain no '/'.
func formatCursor(k sizing.TaskKey) string {
	return base64.RawURLEncoding.EncodeToString([]byte(k.Namespace + "/" + k.DAG + "/" + k.Task))
}

// parseCursor decodes a cursor. The empty cursor returns the zero key, which precedes every task.
func parseCursor(text string) (k sizing.TaskKey, ok bool) {
	if text == "" {
		return k, true
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(decoded), "/")
	if err != nil || len(parts) != 3 {
		return k, false
	}
	k = sizing.TaskKey{Namespace: parts[0], DAG: parts[1], Task: parts[2]}
	return k, len(k.Validate()) == 0
}

func summaryAnswer(p *sizing.Profile) api.TaskSummary {
	bytes, text := amountAnswer(p.LargestPeak)
	return api.TaskSummary{
		Namespace: p.Task.Namespace, DagID: p.Task.DAG, TaskID: p.Task.Task,
		Observations: p.Observations, Kills: p.Kills, LastSeen: timeOrNull(p.LastSeen), Group: api.Group(p.Group),
		LargestPeakBytes: bytes, LargestPeak: text, Champion: modelAnswer(p.Champion),
	}
}

func profileAnswer(p *sizing.Profile) api.TaskProfile {
	s := summaryAnswer(p)
	t := api.TaskProfile{
		Namespace: s.Namespace, DagID: s.DagID, TaskID: s.TaskID, Observations: s.Observations, Kills: s.Kills,
		LastSeen: s.LastSeen, Group: s.Group, LargestPeakBytes: s.LargestPeakBytes, LargestPeak: s.LargestPeak, Champion: s.Champion,
		MemoryBytes: quantilesAnswer(p.Memory), DurationSeconds: quantilesAnswer(p.Seconds), Requested: resourcesAnswer(p.Requested),
		Features: schemaAnswer(&p.Schema), Ambiguous: p.Ambiguous != "", Policy: policyAnswer(p.Policy), Exam: p.Evaluation, Risk: riskAnswer(p),
	}
	for _, edge := range p.Bins {
		t.BinsBytes = append(t.BinsBytes, int64(edge))
	}
	if p.Ambiguous != "" {
		t.Ambiguity = &p.Ambiguous
	}
	for _, q := range p.Quarantined {
		t.Quarantined = append(t.Quarantined, api.Quarantined{MemoryMaxBytes: int64(q.Memory), Detail: q.Detail})
	}
	return t
}

func riskAnswer(p *sizing.Profile) api.RiskRecord {
	r := api.RiskRecord{Target: p.Policy.WithDefaults().RiskTarget, Tries: p.Realised.Tries, Killed: p.Realised.Killed}
	if n := float64(p.Realised.Tries); n > 0 {
		promised, realised := p.Realised.Promised/n, float64(p.Realised.Killed)/n
		r.Promised, r.Realised = &promised, &realised
		r.Interval = []float64{p.Realised.Low, p.Realised.High}
	}
	return r
}

func schemaAnswer(s *sizing.Schema) []api.FeatureField {
	out := make([]api.FeatureField, len(s.Fields))
	for i, f := range s.Fields {
		out[i] = api.FeatureField{Name: f.Name, Kind: api.FeatureFieldKind(f.Kind.String())}
		if f.Kind == sizing.Category {
			n := len(f.Categories)
			out[i].Categories = &n
		}
	}
	return out
}

func quantilesAnswer(q sizing.Quantiles) *api.Quantiles {
	if q == (sizing.Quantiles{}) {
		return nil
	}
	return &api.Quantiles{Min: q.Min, P50: q.P50, P90: q.P90, P99: q.P99, Max: q.Max}
}

func resourcesAnswer(r sizing.Resources) *api.Resources {
	if r == (sizing.Resources{}) {
		return nil
	}
	var out api.Resources
	out.MemoryBytes, out.Memory = amountAnswer(r.Memory)
	if r.CPU > 0 {
		cores, text := float64(r.CPU), r.CPU.String()
		out.CPUCores, out.CPU = &cores, &text
	}
	return &out
}

// amountAnswer returns b as a number and as a quantity; nil if it is unknown.
func amountAnswer(b sizing.Bytes) (*int64, *string) {
	if b == 0 {
		return nil, nil
	}
	bytes, text := int64(b), b.String()
	return &bytes, &text
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
