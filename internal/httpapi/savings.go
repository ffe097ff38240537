package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/insight/savings"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// savingsAnswer is an answer of package savings. Its JSON has the form of openapi.yaml.
type savingsAnswer struct{ *savings.Answer }

// VisitGetSavingsResponse writes the answer.
func (a savingsAnswer) VisitGetSavingsResponse(w http.ResponseWriter) error {
	return writeJSON(w, a.Answer)
}

// reportAnswer is a report. Its JSON has the form of openapi.yaml.
type reportAnswer struct{ *report.Report }

// VisitGetReportResponse writes the report.
func (a reportAnswer) VisitGetReportResponse(w http.ResponseWriter) error {
	return writeJSON(w, a.Report)
}

func writeJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(append(body, '\n'))
	return err
}

// GetSavings returns the savings of the tasks in the scope of the caller.
func (s *server) GetSavings(ctx context.Context, r api.GetSavingsRequestObject) (api.GetSavingsResponseObject, error) {
	by := store.SavingsKey(valueOr(r.Params.By, api.GetSavingsParamsByDag))
	var f fieldReader
	if !slices.Contains([]store.SavingsKey{store.ByDay, store.ByDAG, store.ByTask, store.ByOwner}, by) {
		f.add("by", "must be day, dag, task or owner, not %q", string(by))
	}
	filter, err := savingsFilter(ctx, &f, windowParams{r.Params.From, r.Params.To, r.Params.Namespace, r.Params.DagID, r.Params.TaskID})
	if err != nil {
		return nil, err
	}
	answer, err := savings.Read(ctx, s.svc, filter, by, s.prices)
	if err != nil {
		return nil, err
	}
	return savingsAnswer{answer}, nil
}

// GetReport returns the report of the tasks in the scope of the caller.
func (s *server) GetReport(ctx context.Context, r api.GetReportRequestObject) (api.GetReportResponseObject, error) {
	filter, err := savingsFilter(ctx, &fieldReader{}, windowParams{r.Params.From, r.Params.To, r.Params.Namespace, r.Params.DagID, r.Params.TaskID})
	if err != nil {
		return nil, err
	}
	var profiles []sizing.Profile
	for after := (sizing.TaskKey{}); ; {
		page, err := s.visibleTasks(ctx, filter.Namespace, after, maxPageSize)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if key := page[i].Task; (filter.DAG == "" || key.DAG == filter.DAG) && (filter.Task == "" || key.Task == filter.Task) {
				profiles = append(profiles, page[i])
			}
		}
		if len(page) < maxPageSize {
			break
		}
		after = page[len(page)-1].Task
	}
	result, err := report.Read(ctx, s.svc, profiles, report.Options{Filter: filter, Prices: s.prices, Static: valueOr(r.Params.Static, false)})
	if err != nil {
		return nil, err
	}
	return reportAnswer{result}, nil
}

type windowParams struct{ from, to, namespace, dag, task *string }

func savingsFilter(ctx context.Context, f *fieldReader, p windowParams) (filter store.SavingsFilter, err error) {
	for _, id := range []struct {
		name   string
		value  *string
		target *string
	}{{"namespace", p.namespace, &filter.Namespace}, {"dag_id", p.dag, &filter.DAG}, {"task_id", p.task, &filter.Task}} {
		if id.value == nil {
			continue
		}
		if detail := sizing.CheckID(*id.value); detail != "" {
			f.add(id.name, "%s", detail)
		}
		*id.target = *id.value
	}
	filter.From = f.day("from", p.from, false)
	filter.To = f.day("to", p.to, true)
	if !filter.From.IsZero() && !filter.To.IsZero() && !filter.From.Before(filter.To) {
		f.add("to", "must be after from: the window %s to %s has no day", filter.From.Format(time.DateOnly), filter.To.Format(time.DateOnly))
	}
	if len(f.errors) > 0 {
		return filter, invalidFields(f.errors)
	}
	grants := infoOf(ctx).grants
	filter.Namespace, err = grants.ListNamespace(filter.Namespace)
	filter.Scopes = grants.Scopes()
	return filter, err
}

// day reads a UTC day from a date or a time. It rounds a time down to midnight, or up to midnight if `roundUp` is true.
func (f *fieldReader) day(field string, text *string, roundUp bool) time.Time {
	if text == nil || *text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.DateOnly, *text)
	if err != nil {
		at, err = time.Parse(time.RFC3339, *text)
	}
	if err != nil || at.Year() < 1 || at.Year() > 9999 {
		f.add(field, "must be a date such as 2020-01-31, or a time in RFC 3339, not %q", *text)
		return time.Time{}
	}
	day := at.UTC().Truncate(24 * time.Hour)
	if roundUp && day.Before(at) {
		day = day.Add(24 * time.Hour)
	}
	if roundUp && day.IsZero() { // the zero time means that there is no bound
		f.add(field, "must be after 0001-01-01")
	}
	return day
}
