package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// request is one request as it goes over the wire.
type request struct {
	op      *operation
	method  string
	routed  bool // to its operation: neither path nor method was changed
	illegal bool // not HTTP, so that the HTTP library may answer ahead of the service
	body    []byte
	wire    []byte
}

// maker makes the requests of a run. Request n of a seed is always the same.
type maker struct {
	seed       uint64
	token      string
	operations []operation
	drawn      []int // indexes of operations, as often as their weight
	swollen    bool  // every body is as large as its operation takes, or larger
}

// newMaker makes requests of the operations with that end of a path; all if empty.
func newMaker(seed uint64, token, end string) (*maker, error) {
	all, err := operations()
	if err != nil {
		return nil, err
	}
	m := &maker{seed: seed, token: token, operations: all}
	for i := range all {
		if strings.HasSuffix(all[i].path, end) {
			m.drawn = append(m.drawn, slices.Repeat([]int{i}, all[i].weight)...)
		}
	}
	return m, nil
}

// head is a request's first lines, still to be spoiled.
type head struct {
	method, target, version string
	headers                 []string // "Name: value"
}

// request makes request n: a valid one, of which usually one thing is disturbed.
func (m *maker) request(n uint64) *request {
	dice := rand.New(rand.NewPCG(m.seed, n))
	op := &m.operations[m.drawn[dice.IntN(len(m.drawn))]]
	r := &request{op: op, method: op.method, routed: true}
	h := head{method: op.method, target: m.target(dice, op), version: "HTTP/1.1"}
	h.headers = []string{"Host: loadaware", "Authorization: Bearer " + m.token}
	if op.body != nil {
		r.body = m.body(dice, op)
		h.headers = append(h.headers, "Content-Type: application/json")
	}
	switch what := dice.IntN(100); {
	case what < 5:
		h.method = strangeMethods[dice.IntN(len(strangeMethods))]
		r.routed = false
	case what < 10:
		h.target = strangeTarget(dice, h.target)
		r.routed = false
	case what < 18:
		h.headers = strangeHeaders(dice, h.headers)
	case what == 18: // not HTTP any more
		r.illegal, r.routed = true, false
		h = illegalHead(dice, h)
	case what == 19 && op.body == nil: // a body where none is read
		r.body = []byte(`{"a": 1}`)
	}
	r.method = h.method
	r.wire = h.write(dice, r)
	// A head above the server's bound is refused by the HTTP library, too.
	r.illegal = r.illegal || bytes.Index(r.wire, []byte("\r\n\r\n")) > 60<<10
	return r
}

// write joins head and body; one in ten bodies comes in chunks.
func (h head) write(dice *rand.Rand, r *request) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s\r\n", h.method, h.target, h.version)
	for _, line := range h.headers {
		b.WriteString(line + "\r\n")
	}
	switch {
	case r.body == nil:
		b.WriteString("\r\n")
	case dice.IntN(10) == 0:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		for at := 0; at < len(r.body); {
			piece := r.body[at:min(len(r.body), at+1+dice.IntN(1+len(r.body)/3))]
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(piece), piece)
			at += len(piece)
		}
		b.WriteString("0\r\n\r\n")
	default:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(r.body))
		b.Write(r.body)
	}
	return b.Bytes()
}

// names are few, so that requests meet each other's tasks and runs.
var names = []string{"fuzz_a", "fuzz_b", "fuzz c é", "fuzz%d"}

func someTask(dice *rand.Rand) (dag, task string) {
	if dice.IntN(3) == 0 {
		return "dag_000", fmt.Sprintf("task_%05d", dice.IntN(modelled))
	}
	return names[dice.IntN(len(names))], names[dice.IntN(len(names))]
}

// target fills the path and draws a query.
func (m *maker) target(dice *rand.Rand, op *operation) string {
	dag, task := someTask(dice)
	if op.method == "DELETE" || strings.HasSuffix(op.path, "/rename") {
		dag = names[dice.IntN(len(names))] // models stay
	}
	params := map[string]string{"dag_id": dag, "task_id": task, "version": strconv.Itoa(1 + dice.IntN(5)), "prediction_id": "0b9f4c52d1a94d0c8f3a7be0c6c1f7aa"}
	if dice.IntN(5) == 0 {
		name := []string{"dag_id", "task_id", "version", "prediction_id"}[dice.IntN(4)]
		params[name] = strangeTexts[dice.IntN(len(strangeTexts))]
	}
	path := op.path
	for name, value := range params {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	if query := m.query(dice, op, dag, task); query != "" {
		path += "?" + query
	}
	return path
}

// query draws parameters: those of the contract, and for GET /predict features.
func (m *maker) query(dice *rand.Rand, op *operation, dag, task string) string {
	values := url.Values{}
	if op.spec.OperationID == "PredictByQuery" {
		values = url.Values{"dag_id": {dag}, "task_id": {task}, "memory": {"1Gi"}, "rows": {strconv.Itoa(dice.IntN(1e6))}, "region": {"emea"}}
	}
	for _, p := range op.spec.Parameters {
		if p.Value.In == "query" && dice.IntN(6) == 0 {
			values[p.Value.Name] = []string{fmt.Sprint(textOf(strange(dice)))}
		}
	}
	if dice.IntN(10) == 0 {
		values.Add(strangeTexts[dice.IntN(len(strangeTexts))], strangeTexts[dice.IntN(len(strangeTexts))])
	}
	return values.Encode()
}

// textOf writes a value as a parameter, of a bounded length.
func textOf(v any) string {
	var b bytes.Buffer
	write(&b, v)
	return string(b.Bytes()[:min(b.Len(), 4000)])
}

// body draws a valid body of an operation, and disturbs two in three.
func (m *maker) body(dice *rand.Rand, op *operation) []byte {
	tree := clone(op.valid[dice.IntN(len(op.valid))])
	address(dice, tree)
	if m.swollen || dice.IntN(3000) == 0 {
		return huge(dice, op, tree)
	}
	what := dice.IntN(6)
	for range []int{0, 0, 1, 1, 2, 3}[what] {
		tree = disturb(dice, tree)
	}
	var b bytes.Buffer
	write(&b, tree)
	if what == 1 {
		return spoil(dice, b.Bytes())
	}
	return b.Bytes()
}

// address gives every item of a body a task and a run of ours.
func address(dice *rand.Rand, tree any) {
	switch v := tree.(type) {
	case []any:
		for _, item := range v {
			address(dice, item)
		}
	case map[string]any:
		if _, ok := v["dag_id"]; ok {
			v["dag_id"], v["task_id"] = someTask(dice)
		}
		if _, ok := v["run_id"]; ok {
			v["run_id"] = fmt.Sprintf("run-%d", dice.IntN(2000))
		}
		for _, list := range []string{"tasks", "observations"} {
			address(dice, v[list])
		}
	}
}

// huge is a body about as large as its operation takes, or larger.
func huge(dice *rand.Rand, op *operation, tree any) []byte {
	size := 1 << 20
	if strings.HasSuffix(op.path, "/batch") {
		size = 32 << 20
	}
	size = size/2 + dice.IntN(size)
	var one bytes.Buffer
	write(&one, tree)
	var b bytes.Buffer
	switch dice.IntN(4) {
	case 0: // one long text
		fmt.Fprintf(&b, `{"dag_id": %q}`, strings.Repeat("x", size))
	case 1: // levels
		b.WriteString(`{"features": ` + strings.Repeat("[", size))
	case 2: // white space
		b.WriteString(strings.Repeat(" ", size) + one.String())
	default: // items by the ten thousand
		list := "tasks"
		if strings.HasPrefix(op.path, "/observe") {
			list = "observations"
		}
		b.WriteString(`{"` + list + `": [{}`)
		for b.Len() < size {
			b.WriteString("," + strings.Repeat(" ", 1<<10) + one.String())
		}
		b.WriteString("]}")
	}
	return b.Bytes()
}
