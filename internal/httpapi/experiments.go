package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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
	usualExperiments  = 20
	maxExperimentName = 250
	maxModelText      = 500
	maxModels         = 1000
)

// checkUnlimited refuses a token that is limited to some tasks: an experiment compares
// models over tasks of any DAG.
func checkUnlimited(ctx context.Context) error {
	held := callOf(ctx).held
	if slices.ContainsFunc(held, func(t *Token) bool { return t.Namespace == "" && t.DAGPrefix == "" }) {
		return nil
	}
	return outOfScope(held, "experiments cover tasks of any namespace and DAG")
}

// ListExperiments is one page of summaries.
func (s *server) ListExperiments(ctx context.Context, r api.ListExperimentsRequestObject) (api.ListExperimentsResponseObject, error) {
	var f form
	var before int64
	limit := or(r.Params.Limit, usualExperiments)
	if limit < 1 || limit > maxPage {
		f.add("limit", "must be 1 to %d", maxPage)
	}
	if cursor := or(r.Params.Cursor, ""); cursor != "" {
		var err error
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			f.add("cursor", "is not the next_cursor of a page")
		}
	}
	if len(f.bad) > 0 {
		return nil, failed(f.bad)
	}
	if err := checkUnlimited(ctx); err != nil {
		return nil, err
	}
	// One more than is shown tells whether there is a next page.
	runs, err := s.svc.Experiments(ctx, before, limit+1)
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

// experimentSummary lists what the rows are about. Rows of another version, which do
// not name tasks, count none.
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

// GetExperiment is one experiment with descriptions of its models, or their bytes.
func (s *server) GetExperiment(ctx context.Context, r api.GetExperimentRequestObject) (api.GetExperimentResponseObject, error) {
	if detail := checkText(r.Experiment, maxExperimentName); detail != "" {
		return nil, sizing.InvalidField("experiment", "%s", detail)
	}
	if err := checkUnlimited(ctx); err != nil {
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
		described := api.ExperimentModel{Task: m.Task, Family: m.Family, Bytes: len(m.Blob), Sha256: hex.EncodeToString(sum[:])}
		if or(r.Params.Blobs, false) {
			described.Blob = &m.Blob
		}
		answer.Models = append(answer.Models, described)
	}
	return answer, nil
}

// SaveExperiment stores one, or checks that it could be stored.
func (s *server) SaveExperiment(ctx context.Context, r api.SaveExperimentRequestObject) (api.SaveExperimentResponseObject, error) {
	run, models, err := experimentRun(r.Body)
	if err != nil {
		return nil, err
	}
	if err := checkUnlimited(ctx); err != nil {
		return nil, err
	}
	if or(r.Params.DryRun, false) {
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
	return sizing.Errorf(sizing.Conflict, "an experiment named %q is stored already: choose another name", name)
}

// decodeExperiment reads the body of SaveExperiment. It refuses null, which the decoder
// takes for a field that is left out.
func (s *server) decodeExperiment(r *http.Request, body *api.ExperimentRequest) error {
	raw, err := wholeBody(r)
	if err != nil {
		return readFailure(err)
	}
	if err := readFailure(strictjson.Unmarshal(raw, body, s.strict)); err != nil {
		return err
	}
	var members map[string]jsontext.Value
	if err := strictjson.Unmarshal(raw, &members); err != nil {
		return readFailure(err)
	}
	if members == nil {
		return &failure{class: malformed, detail: "the body is null: send a JSON object"}
	}
	var f form
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if members[name].Kind() == 'n' {
			f.add(name, "must not be null: leave it out where it is not known")
		}
	}
	if len(f.bad) > 0 {
		return failed(f.bad)
	}
	return nil
}

// experimentRun reads what is to be stored.
func experimentRun(b *api.ExperimentRequest) (store.Run, []store.RunModel, error) {
	var f form
	run := store.Run{
		Name: or(b.Name, ""), CreatedAt: time.Now(), Fingerprint: or(b.Fingerprint, ""),
		Parameters: f.document("parameters", b.Parameters, '{'), Rows: f.document("rows", b.Rows, '['), Report: f.document("report", b.Report, '{'),
	}
	if b.Name != nil {
		if detail := checkText(run.Name, maxExperimentName); detail != "" {
			f.add("name", "%s", detail)
		} else if _, err := strconv.ParseInt(run.Name, 10, 64); err == nil {
			f.add("name", "%q must not be a whole number, which stands for an id", run.Name)
		}
	}
	if run.Fingerprint != "" {
		if detail := checkText(run.Fingerprint, 128); detail != "" {
			f.add("fingerprint", "%s", detail)
		}
	}
	f.objects("rows", run.Rows)
	if n := len(or(b.Models, nil)); n > maxModels {
		f.add("models", "must have at most %d entries, not %d", maxModels, n)
	}
	var models []store.RunModel
	for i, m := range or(b.Models, nil) {
		item := "models[" + strconv.Itoa(i) + "]."
		for field, text := range map[string]string{"task": m.Task, "family": m.Family} {
			if detail := checkText(text, maxModelText); detail != "" {
				f.add(item+field, "%s", detail)
			}
		}
		if len(m.Blob) == 0 {
			f.add(item+"blob", "must not be empty")
		}
		models = append(models, store.RunModel{Task: m.Task, Family: m.Family, Blob: m.Blob})
	}
	if len(f.bad) > 0 {
		return run, nil, failed(f.bad)
	}
	return run, models, nil
}

// checkText returns what is wrong with a text that the database stores, or "".
func checkText(text string, most int) string {
	if text == "" || utf8.RuneCountInString(text) > most {
		return "must have 1 to " + strconv.Itoa(most) + " characters"
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "must not hold control characters"
	}
	return ""
}

// document returns a copy of JSON that begins with open: the body's buffer is reused.
// Null, or nothing, is nil.
func (f *form) document(field string, text json.RawMessage, open byte) []byte {
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

// objects refuses entries of a list that are no JSON objects.
func (f *form) objects(field string, list []byte) {
	var entries []json.RawMessage
	if list == nil || json.Unmarshal(list, &entries) != nil {
		return // document has named what is no list
	}
	for i, entry := range entries {
		if entry[0] != '{' {
			f.add(fmt.Sprintf("%s[%d]", field, i), "must be a JSON object, not %.40q", entry)
			return // one is enough: there may be a million
		}
	}
}
