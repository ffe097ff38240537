package dashboard

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/insight/whatif"
	"github.com/loadaware/loadaware/internal/sizing"
)

// PolicyForm has the fields of a policy as a person types them. An empty field means the default.
type PolicyForm struct {
	Mode         string `json:"mode"`
	Floor        string `json:"floor"`
	Cap          string `json:"cap"`
	RiskPercent  string `json:"risk_percent"`
	MaxLifts     string `json:"max_lifts"`
	LimitRatio   string `json:"limit_ratio"`
	NeverAbove   bool   `json:"never_above_requested"`
	CPUUnmanaged bool   `json:"cpu_unmanaged"`
	Grid         string `json:"grid"`
	Edges        string `json:"bin_edges"`
	Phases       string `json:"phases"`
}

func newPolicyForm(p sizing.Policy) PolicyForm {
	edges := make([]string, len(p.Edges))
	for i, e := range p.Edges {
		edges[i] = e.String()
	}
	f := PolicyForm{Mode: string(p.WithDefaults().Mode), Floor: exact(p.Floor), Cap: exact(p.Cap), NeverAbove: p.NeverAbove, CPUUnmanaged: p.CPUUnmanaged,
		Grid: string(p.WithDefaults().Grid), Edges: strings.Join(edges, " "), Phases: string(p.WithDefaults().Phases)}
	if p.RiskTarget > 0 {
		f.RiskPercent = strconv.FormatFloat(p.RiskTarget*100, 'g', 6, 64)
	}
	if p.MaxLifts != nil {
		f.MaxLifts = strconv.Itoa(*p.MaxLifts)
	}
	if p.LimitRatio > 0 {
		f.LimitRatio = strconv.FormatFloat(p.LimitRatio, 'g', -1, 64)
	}
	return f
}

func readPolicyForm(q url.Values) PolicyForm {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return PolicyForm{Mode: get("mode"), Floor: get("floor"), Cap: get("cap"), RiskPercent: get("risk_percent"), MaxLifts: get("max_lifts"), LimitRatio: get("limit_ratio"),
		NeverAbove: get("never_above") != "", CPUUnmanaged: get("cpu_unmanaged") != "", Grid: get("grid"), Edges: get("edges"), Phases: get("phases")}
}

func (f *PolicyForm) params() []string {
	return []string{"mode", f.Mode, "floor", f.Floor, "cap", f.Cap, "risk_percent", f.RiskPercent, "max_lifts", f.MaxLifts, "limit_ratio", f.LimitRatio,
		"never_above", checkboxValue(f.NeverAbove), "cpu_unmanaged", checkboxValue(f.CPUUnmanaged), "grid", f.Grid, "edges", f.Edges, "phases", f.Phases}
}

func checkboxValue(on bool) string {
	if on {
		return "on"
	}
	return ""
}

// policy converts the form. Errors of the conversion use words of the form, such as "limit ratio"; errors of
// Policy.Validate name fields of the API.
func (f *PolicyForm) policy() (p sizing.Policy, bad []sizing.FieldError) {
	add := func(field, format string, args ...any) {
		bad = append(bad, sizing.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
	}
	amount := func(field, text string) (b sizing.Bytes) {
		if text == "" {
			return 0
		}
		b, err := sizing.ParseMemory(text)
		if err != nil {
			add(field, "%v", err)
		}
		return b
	}
	number := func(field, text string) float64 {
		n, err := strconv.ParseFloat(text, 64)
		if text != "" && (err != nil || !(n > 0)) {
			add(field, "must be a number above 0, not %q", text)
		}
		return n
	}
	p = sizing.Policy{Mode: sizing.Mode(f.Mode), Floor: amount("floor", f.Floor), Cap: amount("cap", f.Cap), RiskTarget: number("risk", f.RiskPercent) / 100,
		LimitRatio: number("limit ratio", f.LimitRatio), NeverAbove: f.NeverAbove, CPUUnmanaged: f.CPUUnmanaged, Grid: sizing.Grid(f.Grid), Phases: sizing.PhasesMode(f.Phases)}
	if p.Mode == sizing.Enforce {
		p.Mode = "" // the default; an unchanged form must give the unchanged policy
	}
	if p.Grid == sizing.Fine {
		p.Grid = ""
	}
	if p.Phases == sizing.NoPhases {
		p.Phases = ""
	}
	if f.MaxLifts != "" {
		n, err := strconv.Atoi(f.MaxLifts)
		if err != nil {
			add("lifts", "must be a whole number, not %q", f.MaxLifts)
		}
		p.MaxLifts = &n
	}
	for edge := range strings.FieldsSeq(f.Edges) {
		p.Edges = append(p.Edges, amount("bins", edge))
	}
	if len(bad) > 0 {
		return p, bad
	}
	return p, p.Validate()
}

// replaySettings returns the settings that replay the history with p in place of the policy in force.
func replaySettings(p sizing.Policy) whatif.Settings {
	target := p.WithDefaults().RiskTarget // the row of the result shows it
	return whatif.Settings{Policy: &p, RiskTarget: &target}
}

// PolicyPage is the page that previews a changed policy of a task.
type PolicyPage struct {
	Namespace string              `json:"namespace"`
	DagID     string              `json:"dag_id"`
	TaskID    string              `json:"task_id"`
	Form      PolicyForm          `json:"policy"`
	Changes   []PolicyChange      `json:"changes"`
	Errors    []sizing.FieldError `json:"errors,omitempty"`
	State     whatif.State        `json:"state,omitempty"`   // of the replay; empty if none was started
	Progress  float64             `json:"progress"`          // of the replay, 0 to 1
	Runs      int                 `json:"runs"`              // replayed runs
	Results   []ReplayRow         `json:"results,omitempty"` // with the policy in force and with the new one
	Problem   string              `json:"problem,omitempty"` // why the replay did not start, or failed
	IsAdmin   bool                `json:"-"`                 // the caller may save the policy
}

// Key returns the key of the task.
func (p *PolicyPage) Key() sizing.TaskKey {
	return sizing.TaskKey{Namespace: p.Namespace, DAG: p.DagID, Task: p.TaskID}
}

// NeverSucceeded returns the number of runs without a success with the new policy, if it is larger than with the policy
// in force; else 0.
func (p *PolicyPage) NeverSucceeded() int {
	if len(p.Results) < 2 || p.Results[1].GaveUp <= p.Results[0].GaveUp {
		return 0
	}
	return p.Results[1].GaveUp
}

// PolicyChange is a changed field of a policy or, in the audit trail, of any changed object.
type PolicyChange struct {
	Field  string `json:"field"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func (d *Dashboard) policy(req *pageRequest) (*view, error) {
	key, err := req.keyOf()
	if err != nil {
		return nil, err
	}
	ctx, cancel := req.withDeadline()
	defer cancel()
	profile, err := d.svc.Task(ctx, key)
	if err != nil {
		return nil, err
	}
	p := &PolicyPage{Namespace: key.Namespace, DagID: key.DAG, TaskID: key.Task, Form: readPolicyForm(req.query), IsAdmin: req.admin.Covers(key)}
	if req.query.Get("mode") == "" {
		p.Form = newPolicyForm(profile.Policy) // opened without a form
	}
	page := &view{Title: "Policy of " + key.String(), Nav: "Tasks", Template: "policy", Page: p, Table: func() ([]string, [][]string) { return policyTable(p) }}
	policy, bad := p.Form.policy()
	if p.Errors = bad; len(bad) > 0 {
		return page, nil
	}
	p.Changes = changesOf(newPolicyForm(profile.Policy), newPolicyForm(policy))
	if len(p.Changes) == 0 || profile.Observations == 0 {
		return page, nil
	}
	question := &whatif.Question{Task: key, Settings: []whatif.Settings{replaySettings(policy)}}
	job, err := d.replays.start(ctx, question, strconv.Itoa(profile.Observations)+fmt.Sprint(newPolicyForm(profile.Policy)))
	if err != nil {
		p.Problem = "The preview could not start: " + err.Error()
		return page, nil
	}
	job.Wait(ctx, replayWait)
	var result *whatif.Report
	if p.State, p.Progress, result, err = job.Status(); err != nil {
		p.Problem = err.Error()
	}
	if p.State == whatif.Running {
		page.Refresh = 2
	}
	if result != nil {
		p.Runs = result.Rows
		p.Results = []ReplayRow{newReplayRow("today's policy", &result.Current), newReplayRow("new policy", &result.Results[0])}
	}
	return page, nil
}

func changesOf(before, after PolicyForm) (changes []PolicyChange) {
	a, b := before.params(), after.params()
	for i := 0; i < len(a); i += 2 {
		if a[i+1] != b[i+1] {
			changes = append(changes, PolicyChange{Field: strings.ReplaceAll(a[i], "_", " "), Before: orDefault(a[i+1]), After: orDefault(b[i+1])})
		}
	}
	return changes
}

func policyTable(p *PolicyPage) (header []string, table [][]string) {
	for _, c := range p.Changes {
		table = append(table, []string{c.Field, c.Before, c.After})
	}
	if names, results := replayTable(p.Results); len(results) > 1 {
		for i := 1; i < len(names); i++ { // the first column is the name of the policy
			table = append(table, []string{names[i], results[0][i], results[1][i]})
		}
	}
	return []string{"field", "before", "after"}, table
}

func orDefault(text string) string {
	if text == "" {
		return "default"
	}
	return text
}

func (d *Dashboard) savePolicy(req *pageRequest) (string, error) {
	key, err := req.keyOf()
	if err != nil {
		return "", err
	}
	form := readPolicyForm(req.PostForm)
	policy, bad := form.policy()
	if len(bad) > 0 {
		return "", &sizing.Error{Kind: sizing.Invalid, Detail: "the policy is not valid", Fields: bad}
	}
	return d.taskURL("/task", key), d.svc.SetPolicy(req.Context(), key, policy)
}

// activate makes a stored version active and pins it.
func (d *Dashboard) activate(req *pageRequest) (string, error) {
	key, err := req.keyOf()
	if err != nil {
		return "", err
	}
	version, err := strconv.ParseInt(req.PostForm.Get("version"), 10, 32)
	if err != nil || version < 1 {
		return "", sizing.InvalidField("version", "must be the number of a stored version, not %q", req.PostForm.Get("version"))
	}
	return d.taskURL("/task", key), d.svc.Activate(req.Context(), key, int(version))
}

func (d *Dashboard) unpin(req *pageRequest) (string, error) {
	key, err := req.keyOf()
	if err != nil {
		return "", err
	}
	return d.taskURL("/task", key), d.svc.Unpin(req.Context(), key)
}

func (d *Dashboard) train(req *pageRequest) (string, error) {
	key, err := req.keyOf()
	if err != nil {
		return "", err
	}
	_, err = d.svc.Train(req.Context(), key)
	return d.taskURL("/task", key), err
}

// PolicyFields returns the fields of the policy form.
func (p *PolicyPage) PolicyFields() *PolicyForm { return &p.Form }
