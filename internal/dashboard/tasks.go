package dashboard

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Tasks is the list of tasks.
type Tasks struct {
	Filter  TaskFilter `json:"filter"`
	Rows    []TaskRow  `json:"tasks"`   // in HTML only those of one page of the list
	Matches int        `json:"matches"` // number of tasks that match the filter
	Known   int        `json:"known"`   // number of tasks without the filter
	Choices Choices    `json:"choices"`

	Columns        []Column `json:"-"`
	Next, Previous string   `json:"-"` // addresses of the next and the previous rows
	CSV, JSON      string   `json:"-"` // addresses
}

// TaskFilter selects and orders tasks.
type TaskFilter struct {
	Text      string `json:"q,omitempty"` // part of a name
	Namespace string `json:"namespace,omitempty"`
	DAG       string `json:"dag_id,omitempty"`
	Group     string `json:"group,omitempty"`
	Source    string `json:"source,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Severity  string `json:"severity,omitempty"`
	Owner     string `json:"owner,omitempty"`
	Sort      string `json:"sort"` // key of a column; a hyphen before the key means descending order
	Offset    int    `json:"offset"`
}

// Choices are the values of each filter that occur in the list.
type Choices struct {
	Namespaces []string `json:"namespaces"`
	DAGs       []string `json:"dag_ids"`
	Groups     []string `json:"groups"`
	Sources    []string `json:"sources"`
	Modes      []string `json:"modes"`
	Severities []string `json:"severities"`
	Owners     []string `json:"owners"`
}

// Column is a column by which the list can be sorted.
type Column struct {
	Name, URL string
	Sorted    string // ascending, descending or none
	IsNumber  bool
	Hint      string
}

const rowsPerPage = 100

// taskColumn is a column of the list. hint is its tooltip, or "".
type taskColumn struct {
	key, name, hint string
	number          func(*TaskRow) *float64 // value of a row; nil for a column of texts
	text            func(*TaskRow) string   // value of a row; nil for a column of numbers
}

func fromBytes(b *int64) *float64 {
	if b == nil {
		return nil
	}
	f := float64(*b)
	return &f
}

func fromInt(n int) *float64 {
	f := float64(n)
	return &f
}

// taskColumns are the columns of the list in order. templates/tasks.html has the cells in the same
// order. The CSV has the columns of tasksTable instead.
var taskColumns = []taskColumn{
	{key: "task", name: "task", text: func(t *TaskRow) string { return t.Key().String() }},
	{key: "owner", name: "owner", hint: "owner in the metadata of the newest report", text: func(t *TaskRow) string { return t.Owner }},
	{key: "severity", name: "state", hint: "critical: killed clearly more often than the risk target, or costs more than its request; warning: uses less than half of its grants, and causes at least 1 % of all waste", text: func(t *TaskRow) string { return string(t.Severity) }},
	{key: "requested", name: "requested", hint: "the static request when it was first seen", number: func(t *TaskRow) *float64 { return fromBytes(t.RequestedBytes) }},
	{key: "granted", name: "granted", hint: "mean over running time", number: func(t *TaskRow) *float64 { return fromBytes(t.GrantedBytes) }},
	{key: "used", name: "used", hint: "mean peak over running time", number: func(t *TaskRow) *float64 { return fromBytes(t.UsedBytes) }},
	{key: "saved", name: "saved GB·h", hint: "requested − granted − killed", number: func(t *TaskRow) *float64 { return t.SavedGBH }},
	{key: "wasted", name: "wasted GB·h", hint: "granted and not used, and killed tries", number: func(t *TaskRow) *float64 { return t.WastedGBH }},
	{key: "killed", name: "killed", hint: "OOM kills as a share of the successes and OOM kills", number: func(t *TaskRow) *float64 { return t.KilledPercent }},
	{key: "tries", name: "tries", number: func(t *TaskRow) *float64 { return fromInt(t.Tries) }},
	{key: "why", name: "why not better", hint: "what prevents a better size", text: func(t *TaskRow) string { return orEmpty(t.WhyNot) }},
}

func (d *Dashboard) tasks(req *pageRequest) (*view, error) {
	ctx, cancel := req.withDeadline()
	defer cancel()
	f, err := readTaskFilter(req.query)
	if err != nil {
		return nil, err
	}
	list, err := d.taskList(ctx, req.grants)
	if err != nil {
		return nil, err
	}
	t := &Tasks{Filter: f, Known: len(list.rows), Choices: choicesOf(list.rows)}
	t.Columns = d.taskColumns(req.query, f.Sort, len(t.Choices.Owners) > 0)
	rows := f.apply(list.rows)
	t.Matches = len(rows)
	all := rows
	if formatOf(req.query) == asHTML {
		from := min(f.Offset, len(rows))
		rows = rows[from:min(from+rowsPerPage, len(rows))]
		if from+len(rows) < t.Matches {
			t.Next = d.addressWith(req.query, "/tasks", "offset", strconv.Itoa(from+rowsPerPage))
		}
		if from > 0 {
			t.Previous = d.addressWith(req.query, "/tasks", "offset", strconv.Itoa(max(0, from-rowsPerPage)))
		}
	}
	t.Rows = rows
	t.CSV, t.JSON = d.addressWith(req.query, "/tasks", "format", asCSV), d.addressWith(req.query, "/tasks", "format", asJSON)
	return &view{Title: "Tasks", Nav: "Tasks", Template: "tasks", Page: t, Table: func() ([]string, [][]string) { return tasksTable(all) }}, nil
}

func readTaskFilter(q url.Values) (f TaskFilter, err error) {
	f = TaskFilter{
		Text: strings.TrimSpace(q.Get("q")), Namespace: q.Get("namespace"), DAG: q.Get("dag_id"), Group: q.Get("group"), Source: q.Get("source"),
		Mode: q.Get("mode"), Severity: q.Get("severity"), Owner: q.Get("owner"), Sort: cmp.Or(q.Get("sort"), "-wasted"),
	}
	if f.Offset, err = strconv.Atoi(cmp.Or(q.Get("offset"), "0")); err != nil || f.Offset < 0 {
		return f, sizing.InvalidField("offset", "must be 0 or a positive integer, not %.50q", q.Get("offset"))
	}
	if columnOf(f.Sort) == nil {
		var keys []string
		for i := range taskColumns {
			keys = append(keys, taskColumns[i].key)
		}
		return f, sizing.InvalidField("sort", "must be one of %s, or one of them after a hyphen, for descending order; not %.50q", strings.Join(keys, ", "), f.Sort)
	}
	return f, nil
}

func columnOf(sort string) *taskColumn {
	key := strings.TrimPrefix(sort, "-")
	for i := range taskColumns {
		if taskColumns[i].key == key {
			return &taskColumns[i]
		}
	}
	return nil
}

func (f *TaskFilter) apply(rows []TaskRow) []TaskRow {
	text := strings.ToLower(f.Text)
	selected := []TaskRow{}
	for i := range rows {
		t := &rows[i]
		if text != "" && !strings.Contains(strings.ToLower(t.Key().String()), text) {
			continue
		}
		matches := true
		for _, c := range [][2]string{{f.Namespace, t.Namespace}, {f.DAG, t.DagID}, {f.Group, t.Group}, {f.Source, orEmpty(t.Source)}, {f.Mode, string(t.Mode)}, {f.Severity, string(t.Severity)}, {f.Owner, t.Owner}} {
			matches = matches && (c[0] == "" || c[0] == c[1])
		}
		if matches {
			selected = append(selected, *t)
		}
	}
	column, isDescending := columnOf(f.Sort), strings.HasPrefix(f.Sort, "-")
	slices.SortStableFunc(selected, func(a, b TaskRow) int { return column.compare(&a, &b, isDescending) })
	return selected
}

// compare orders two rows by the column. Unknown numbers are last in both orders.
func (c *taskColumn) compare(a, b *TaskRow, isDescending bool) int {
	order := 0
	if c.number != nil {
		x, y := c.number(a), c.number(b)
		switch {
		case x == nil && y == nil:
		case x == nil:
			return 1
		case y == nil:
			return -1
		default:
			order = cmp.Compare(*x, *y)
		}
	} else {
		order = cmp.Compare(c.text(a), c.text(b))
	}
	if isDescending {
		order = -order
	}
	return order
}

// taskColumns returns the columns of the page. It omits the column of owners while no report names an owner.
func (d *Dashboard) taskColumns(q url.Values, sort string, hasOwners bool) (columns []Column) {
	for _, c := range taskColumns {
		if c.key == "owner" && !hasOwners {
			continue
		}
		next, state := c.key, "none"
		if c.number != nil {
			next = "-" + c.key // the largest first
		}
		switch sort {
		case c.key:
			next, state = "-"+c.key, "ascending"
		case "-" + c.key:
			next, state = c.key, "descending"
		}
		columns = append(columns, Column{Name: c.name, URL: d.addressWith(q, "/tasks", "sort", next, "offset", ""), Sorted: state, IsNumber: c.number != nil, Hint: c.hint})
	}
	return columns
}

// addressWith returns an address with the parameters of a query, without its format. params replace
// or add parameters: name, value, name, value.
func (d *Dashboard) addressWith(q url.Values, path string, params ...string) string {
	values := map[string]string{}
	for name := range q {
		values[name] = q.Get(name)
	}
	delete(values, "format")
	for i := 0; i+1 < len(params); i += 2 {
		values[params[i]] = params[i+1]
	}
	var all []string
	for name, value := range values {
		all = append(all, name, value)
	}
	return d.url(path, all...)
}

func choicesOf(rows []TaskRow) Choices {
	distinct := func(valueOf func(*TaskRow) string) []string {
		values := []string{}
		for i := range rows {
			if value := valueOf(&rows[i]); value != "" {
				values = append(values, value)
			}
		}
		slices.Sort(values)
		return slices.Compact(values)
	}
	return Choices{
		Namespaces: distinct(func(t *TaskRow) string { return t.Namespace }), DAGs: distinct(func(t *TaskRow) string { return t.DagID }),
		Groups: distinct(func(t *TaskRow) string { return t.Group }), Sources: distinct(func(t *TaskRow) string { return orEmpty(t.Source) }),
		Modes: distinct(func(t *TaskRow) string { return string(t.Mode) }), Severities: distinct(func(t *TaskRow) string { return string(t.Severity) }),
		Owners: distinct(func(t *TaskRow) string { return t.Owner }),
	}
}

// tasksTable returns the CSV of the list. A column that is also in `loadaware report -o csv` has the same name there.
func tasksTable(rows []TaskRow) (header []string, table [][]string) {
	header = []string{"namespace", "dag_id", "task_id", "group", "severity", "mode", "tries", "kills", "requested_bytes", "granted_bytes", "used_bytes",
		"requested_gbh", "granted_gbh", "used_gbh", "killed_gbh", "wasted_gbh", "saved_gbh", "saved_money", "killed_percent", "risk", "risk_target", "source", "why_not", "owner"}
	for i := range rows {
		t := &rows[i]
		table = append(table, []string{t.Namespace, t.DagID, t.TaskID, t.Group, string(t.Severity), string(t.Mode), strconv.Itoa(t.Tries), strconv.Itoa(t.Kills),
			csvBytes(t.RequestedBytes), csvBytes(t.GrantedBytes), csvBytes(t.UsedBytes), csvNumber(t.RequestedGBH), csvNumber(t.GrantedGBH), csvNumber(t.UsedGBH),
			csvNumber(t.KilledGBH), csvNumber(t.WastedGBH), csvNumber(t.SavedGBH), csvNumber(t.SavedMoney), csvNumber(t.KilledPercent), csvNumber(t.Risk),
			csvNumber(&t.RiskTarget), orEmpty(t.Source), orEmpty(t.WhyNot), t.Owner})
	}
	return header, table
}

// keyOf reads the key of a page's task and checks that the caller may see the task.
func (req *pageRequest) keyOf() (sizing.TaskKey, error) {
	get := req.query.Get
	if req.Method != "GET" && req.Method != "HEAD" {
		get = req.PostForm.Get
	}
	key := sizing.TaskKey{Namespace: cmp.Or(get("namespace"), sizing.DefaultNamespace), DAG: get("dag_id"), Task: get("task_id")}
	if bad := key.Validate(); len(bad) > 0 {
		return key, &sizing.Error{Kind: sizing.Invalid, Detail: "some fields are not valid", Fields: bad}
	}
	return key, req.grants.CheckTask(key)
}
