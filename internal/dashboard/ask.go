package dashboard

import (
	"cmp"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Ask is the page that explains the grant that a run with some inputs would get now. It records
// nothing.
type Ask struct {
	Fields  []AskField          `json:"features"`
	Request string              `json:"memory"`            // the static request
	Errors  []sizing.FieldError `json:"errors,omitempty"`  // of the form
	Missing string              `json:"missing,omitempty"` // why there is no answer
	Answer  *Try                `json:"answer,omitempty"`

	Namespace string `json:"namespace"`
	DagID     string `json:"dag_id"`
	TaskID    string `json:"task_id"`
}

// Key returns the key of the task.
func (a *Ask) Key() sizing.TaskKey {
	return sizing.TaskKey{Namespace: a.Namespace, DAG: a.DagID, Task: a.TaskID}
}

// AskField is a feature of the form.
type AskField struct {
	Name    string   `json:"name"`
	Value   string   `json:"value"`
	Choices []string `json:"choices,omitempty"` // known categories
	IsText  bool     `json:"-"`                 // the feature is a category
}

const (
	featurePrefix = "f." // of the parameters of features
	maxChoices    = 100  // known categories of a feature that the form offers
)

// ask explains the answer for the form if it was submitted (the query has the parameter memory), and otherwise the answer
// for the features and the request of the newest try.
func (d *Dashboard) ask(req *pageRequest) (*view, error) {
	key, err := req.keyOf()
	if err != nil {
		return nil, err
	}
	ctx, cancel := req.withDeadline()
	defer cancel()
	recent, err := d.svc.RecentTries(ctx, key, 1)
	if err != nil {
		return nil, err
	}
	a := &Ask{Namespace: key.Namespace, DagID: key.DAG, TaskID: key.Task, Request: strings.TrimSpace(req.query.Get("memory")), Fields: []AskField{}}
	page := &view{Title: "Ask " + key.String(), Nav: "Tasks", Template: "ask", Page: a, Table: func() ([]string, [][]string) {
		return stepsTable(cmp.Or(a.Answer, &Try{}))
	}}
	newest := sizing.Features{}
	isSubmitted := req.query.Has("memory")
	if n := len(recent.Rows); n > 0 && !isSubmitted {
		newest, a.Request = recent.Schema.Features(recent.Rows[n-1].Features), exact(recent.Rows[n-1].Requested.Memory)
	}
	question := &sizing.Ask{Try: sizing.TryKey{TaskKey: key, MapIndex: sizing.NoMap, Number: 1}, Features: sizing.Features{}}
	for i := range recent.Schema.Fields {
		a.addField(req, &recent.Schema.Fields[i], newest, question.Features)
	}
	if a.Request != "" {
		if question.Requested.Memory, err = sizing.ParseMemory(a.Request); err != nil {
			a.Errors = append(a.Errors, sizing.FieldError{Field: "request", Detail: err.Error()})
		}
	}
	if a.Errors = append(a.Errors, question.Features.Validate()...); len(a.Errors) > 0 {
		return page, nil
	}
	explained, err := d.explainer.Ask(ctx, question)
	switch {
	case sizing.KindOf(err) == sizing.NotFound:
		a.Missing = "No report, model or request can size a run yet: enter the static request, or wait for the first report."
		return page, nil
	case err != nil:
		return nil, err
	}
	a.Answer = newTry(question)
	a.Answer.Granted = explained.Chain.Granted
	d.explain(a.Answer, explained)
	return page, nil
}

// addField adds a field of the schema to the form and, if it has a value, to the features. A schema may
// have a name twice, with values of two kinds; the form has the first of them. `newest` has the values of
// the newest try, and no value for a submitted form.
func (a *Ask) addField(req *pageRequest, field *sizing.Field, newest, features sizing.Features) {
	if slices.ContainsFunc(a.Fields, func(f AskField) bool { return f.Name == field.Name }) {
		return
	}
	f := AskField{Name: field.Name, Value: req.query.Get(featurePrefix + field.Name)}
	if !slices.Contains(field.Categories, f.Value) { // a known category may begin or end with a space
		f.Value = strings.TrimSpace(f.Value)
	}
	if known, ok := newest[field.Name]; ok {
		f.Value = featureText(known)
	}
	switch {
	case field.Kind == sizing.Category:
		f.IsText, f.Choices = true, field.Categories[:min(len(field.Categories), maxChoices)]
		if f.Value != "" {
			features[f.Name] = sizing.TextValue(f.Value)
		}
	case f.Value != "":
		features[f.Name] = sizing.UntypedValue(f.Value)
	}
	a.Fields = append(a.Fields, f)
}
