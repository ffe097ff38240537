package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	strictjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const (
	defaultExperiments = 20  // page size
	maxExperimentName  = 250 // characters
	maxModelText       = 500 // characters of a task or family
	maxModels          = 1000
)

// checkExperimentAccess rejects tokens with a limited scope, because an experiment compares
// models over tasks of all DAGs.
func checkExperimentAccess(ctx context.Context) error {
	return infoOf(ctx).grants.CheckUnlimited("experiments cover tasks of all namespaces and DAGs")
}

// ListExperiments returns one page of experiment summaries.
func (s *server) ListExperiments(ctx context.Context, r api.ListExperimentsRequestObject) (api.ListExperimentsResponseObject, error) {
	var f fieldReader
	var before int64
	limit := f.pageLimit(r.Params.Limit, defaultExperiments)
	if cursor := valueOr(r.Params.Cursor, ""); cursor != "" {
		var err error
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			f.add("cursor", invalidCursor)
		}
	}
	if len(f.errors) > 0 {
		return nil, invalidFields(f.errors)
	}
	if err := checkExperimentAccess(ctx); err != nil {
		return nil, err
	}
	runs, err := s.svc.Experiments(ctx, before, limit+1) // the extra one shows whether there is a next page
	if err != nil {
		return nil, err
	}
	page := api.ExperimentPage{Experiments: []api.ExperimentSummary{}}
	if len(runs) > limit {
		runs = runs[:limit]
		next := strconv.FormatInt(runs[limit-1].ID, 10)
		page.NextCursor = &next
	}
	for i := range runs {
		page.Experiments = append(page.Experiments, experimentSummary(&runs[i]))
	}
	return api.ListExperiments200JSONResponse(page), nil
}

// experimentSummary describes an experiment (store.Run, a run of the command experiment) by the tasks and families
// of its rows. The summary has 0 rows, no tasks and no families if the experiment has no rows, or if the task or the
// family of one of them is not a text: a row may be any JSON object.
func experimentSummary(r *store.Run) api.ExperimentSummary {
	summary := api.ExperimentSummary{
		ID: r.ID, Name: textOrNull(r.Name), CreatedAt: r.CreatedAt, Fingerprint: r.Fingerprint, Parameters: r.Parameters,
		Tasks: []string{}, Families: []string{},
	}
	var rows []struct{ Task, Family string }
	if json.Unmarshal(r.Rows, &rows) != nil {
		return summary
	}
	summary.Rows = len(rows)
	for _, row := range rows {
		if !slices.Contains(summary.Tasks, row.Task) {
			summary.Tasks = append(summary.Tasks, row.Task)
		}
		if !slices.Contains(summary.Families, row.Family) {
			summary.Families = append(summary.Families, row.Family)
		}
	}
	return summary
}

// GetExperiment returns one experiment with descriptions of its models, and optionally their bytes.
func (s *server) GetExperiment(ctx context.Context, r api.GetExperimentRequestObject) (api.GetExperimentResponseObject, error) {
	if detail := checkText(r.Experiment, maxExperimentName); detail != "" {
		return nil, sizing.InvalidField("experiment", "%s", detail)
	}
	if err := checkExperimentAccess(ctx); err != nil {
		return nil, err
	}
	run, err := s.svc.Experiment(ctx, r.Experiment)
	if err != nil {
		return nil, err
	}
	models, err := s.svc.ExperimentModels(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	answer := api.GetExperiment200JSONResponse{
		ID: run.ID, Name: textOrNull(run.Name), CreatedAt: run.CreatedAt, Fingerprint: run.Fingerprint,
		Parameters: run.Parameters, Rows: run.Rows, Report: run.Report, Models: []api.ExperimentModel{},
	}
	for i := range models {
		m := &models[i]
		sum := sha256.Sum256(m.Blob)
		description := api.ExperimentModel{Task: m.Task, Family: m.Family, Bytes: len(m.Blob), Sha256: hex.EncodeToString(sum[:])}
		if valueOr(r.Params.Blobs, false) {
			description.Blob = &m.Blob
		}
		answer.Models = append(answer.Models, description)
	}
	return answer, nil
}

// SaveExperiment stores an experiment; a dry run only validates it.
func (s *server) SaveExperiment(ctx context.Context, r api.SaveExperimentRequestObject) (api.SaveExperimentResponseObject, error) {
	run, models, err := readExperiment(r.Body)
	if err != nil {
		return nil, err
	}
	if err := checkExperimentAccess(ctx); err != nil {
		return nil, err
	}
	if valueOr(r.Params.DryRun, false) {
		return api.SaveExperiment200JSONResponse{}, s.checkNameIsFree(ctx, run.Name)
	}
	id, err := s.svc.SaveExperiment(ctx, run, models)
	if err != nil {
		return nil, err
	}
	return api.SaveExperiment200JSONResponse{Saved: true, ID: &id}, nil
}

func (s *server) checkNameIsFree(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	_, err := s.svc.Experiment(ctx, name)
	if sizing.KindOf(err) == sizing.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return sizing.Errorf(sizing.Conflict, "an experiment named %q exists; choose another name", name)
}

// rejectNullFields returns an error if a field of an object is null. The decoder does not
// distinguish null from a missing field.
func rejectNullFields(raw []byte) error {
	var members map[string]jsontext.Value
	if err := strictjson.Unmarshal(raw, &members); err != nil {
		return readFailure(err)
	}
	var f fieldReader
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if members[name].Kind() == 'n' {
			f.add(name, "must not be null; omit it if it is unknown")
		}
	}
	if len(f.errors) > 0 {
		return invalidFields(f.errors)
	}
	return nil
}

func readExperiment(b *api.ExperimentRequest) (store.Run, []store.RunModel, error) {
	var f fieldReader
	run := store.Run{
		Name: valueOr(b.Name, ""), CreatedAt: time.Now(), Fingerprint: valueOr(b.Fingerprint, ""),
		Parameters: f.document("parameters", b.Parameters, '{'), Rows: f.document("rows", b.Rows, '['), Report: f.document("report", b.Report, '{'),
	}
	if b.Name != nil {
		if detail := checkText(run.Name, maxExperimentName); detail != "" {
			f.add("name", "%s", detail)
		} else if _, err := strconv.ParseInt(run.Name, 10, 64); err == nil {
			f.add("name", "%q must not be an integer, because integers are ids", run.Name)
		}
	}
	if run.Fingerprint != "" {
		if detail := checkText(run.Fingerprint, 128); detail != "" {
			f.add("fingerprint", "%s", detail)
		}
	}
	f.objects("rows", run.Rows)
	if n := len(valueOr(b.Models, nil)); n > maxModels {
		f.add("models", "must have at most %d entries, but has %d", maxModels, n)
	}
	var models []store.RunModel
	for i, m := range valueOr(b.Models, nil) {
		item := "models[" + strconv.Itoa(i) + "]."
		if detail := checkText(m.Task, maxModelText); detail != "" {
			f.add(item+"task", "%s", detail)
		}
		if detail := checkText(m.Family, maxModelText); detail != "" {
			f.add(item+"family", "%s", detail)
		}
		if len(m.Blob) == 0 {
			f.add(item+"blob", "must not be empty")
		}
		models = append(models, store.RunModel{Task: m.Task, Family: m.Family, Blob: m.Blob})
	}
	if len(f.errors) > 0 {
		return run, nil, invalidFields(f.errors)
	}
	return run, models, nil
}

func checkText(text string, maxRunes int) string {
	if text == "" || utf8.RuneCountInString(text) > maxRunes {
		return "must have 1 to " + strconv.Itoa(maxRunes) + " characters"
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "must not contain control characters"
	}
	return ""
}

// document returns a copy of a JSON object (`open` is '{') or array (`open` is '['), or nil if the value is null or missing. A
// value of another type is an error. document copies the value because the buffer of the body is reused.
func (f *fieldReader) document(field string, text json.RawMessage, open byte) []byte {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	if text[0] != open {
		f.add(field, "must be a JSON %s", map[byte]string{'{': "object", '[': "array"}[open])
		return nil
	}
	return bytes.Clone(text)
}

func (f *fieldReader) objects(field string, list []byte) {
	var entries []json.RawMessage
	if list == nil || json.Unmarshal(list, &entries) != nil {
		return // the value is missing, or document has reported that it is not an array
	}
	for i, entry := range entries {
		if entry[0] != '{' {
			f.add(fmt.Sprintf("%s[%d]", field, i), "must be a JSON object, but is %.40q", entry)
			return // report only the first: there may be a million
		}
	}
}
