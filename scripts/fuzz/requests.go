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

type request struct {
	op      *operation
	method  string
	routed  bool   // path and method lead to the operation
	illegal bool   // the HTTP library may answer instead of the service, usually because the request is not valid HTTP
	body    []byte // before chunking; nil without a body
	encoded []byte // all bytes of the request
}

// generator draws a request that depends only on the seed and the number of the request.
type generator struct {
	seed       uint64
	token      string
	operations []operation
	drawn      []int // indexes of operations; the weight of an operation is the number of its occurrences
	oversized  bool  // generate only huge bodies
}

// newGenerator returns a generator for the operations whose path has the suffix, or for all operations if the suffix is empty.
func newGenerator(seed uint64, token, suffix string) (*generator, error) {
	all, err := operations()
	if err != nil {
		return nil, err
	}
	m := &generator{seed: seed, token: token, operations: all}
	for i := range all {
		for _, name := range all[i].pathParameters() {
			if pathValue(rand.New(rand.NewPCG(seed, 0)), name, "dag", "task") == "" {
				return nil, fmt.Errorf("%s: the path parameter %s has no value; add it to pathValue", all[i].name, name)
			}
		}
		if strings.HasSuffix(all[i].path, suffix) {
			m.drawn = append(m.drawn, slices.Repeat([]int{i}, all[i].weight)...)
		}
	}
	return m, nil
}

type requestHead struct {
	method, target, version string
	headers                 []string // "Name: value"
}

// request generates request n from a valid request, often with mutations of its body or of its head.
func (m *generator) request(n uint64) *request {
	random := rand.New(rand.NewPCG(m.seed, n))
	op := &m.operations[m.drawn[random.IntN(len(m.drawn))]]
	r := &request{op: op, method: op.method, routed: true}
	h := requestHead{method: op.method, target: m.target(random, op), version: "HTTP/1.1"}
	h.headers = []string{"Host: loadaware", "Authorization: Bearer " + m.token}
	if op.body != nil {
		r.body = m.body(random, op)
		h.headers = append(h.headers, "Content-Type: application/json")
	}
	switch choice := random.IntN(100); {
	case choice < 5:
		h.method = unusualMethods[random.IntN(len(unusualMethods))]
		r.routed = false
	case choice < 10:
		h.target = mutateTarget(random, h.target)
		r.routed = false
	case choice < 18:
		h.headers = mutateHeaders(random, h.headers)
	case choice == 18: // usually not valid HTTP
		r.illegal, r.routed = true, false
		h = breakHead(random, h)
	case choice == 19 && op.body == nil: // a body for an operation without one
		r.body = []byte(`{"a": 1}`)
	}
	r.method = h.method
	r.encoded = h.encode(random, r)
	// The HTTP library also rejects a head above the server's limit (MaxHeaderBytes, 64 KiB). From 60 KiB on, both answers
	// are right.
	r.illegal = r.illegal || bytes.Index(r.encoded, []byte("\r\n\r\n")) > 60<<10
	return r
}

// encode returns all bytes of a request with this head. One in ten bodies is chunked.
func (h requestHead) encode(random *rand.Rand, r *request) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s\r\n", h.method, h.target, h.version)
	for _, line := range h.headers {
		b.WriteString(line + "\r\n")
	}
	switch {
	case r.body == nil:
		b.WriteString("\r\n")
	case random.IntN(10) == 0:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		for at := 0; at < len(r.body); {
			piece := r.body[at:min(len(r.body), at+1+random.IntN(1+len(r.body)/3))]
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

// names are names of DAGs and tasks. There are only four, so that many requests are about the same tasks.
var names = []string{"fuzz_a", "fuzz_b", "fuzz c é", "fuzz%d"}

// drawTask draws a task with a model with probability 1/3, otherwise one of names.
func drawTask(random *rand.Rand) (dag, task string) {
	if random.IntN(3) == 0 {
		return "dag_000", fmt.Sprintf("task_%05d", random.IntN(modelTasks))
	}
	return names[random.IntN(len(names))], names[random.IntN(len(names))]
}

// target returns a path of an operation with drawn parameters and a drawn query. One in five paths with parameters has an
// unusual text as one of the parameters.
func (m *generator) target(random *rand.Rand, op *operation) string {
	dag, task := drawTask(random)
	if op.method == "DELETE" || strings.HasSuffix(op.path, "/rename") {
		dag = names[random.IntN(len(names))] // so that the tasks with models stay
	}
	path, parameters := op.path, op.pathParameters()
	unusual := random.IntN(5 * max(1, len(parameters)))
	for i, name := range parameters {
		value := pathValue(random, name, dag, task)
		if i == unusual {
			value = unusualTexts[random.IntN(len(unusualTexts))]
		}
		path = strings.Replace(path, "{"+name+"}", url.PathEscape(value), 1)
	}
	if query := m.query(random, op, dag, task); query != "" {
		path += "?" + query
	}
	return path
}

// pathValue returns a value for a path parameter, or an empty text for an unknown parameter.
func pathValue(random *rand.Rand, name, dag, task string) string {
	switch name {
	case "dag_id":
		return dag
	case "task_id":
		return task
	case "version", "campaign", "n", "experiment":
		return strconv.Itoa(1 + random.IntN(5))
	case "profile_id":
		return strconv.Itoa(random.IntN(5))
	case "prediction_id":
		return "0b9f4c52d1a94d0c8f3a7be0c6c1f7aa"
	case "whatif_id":
		return "F6ZW2L5RQR7YRVP7QE7ZDXG2ME"
	}
	return ""
}

// query returns a query with drawn parameters. One in ten queries has an unknown parameter; every query of GET /predict
// has features.
func (m *generator) query(random *rand.Rand, op *operation, dag, task string) string {
	values := url.Values{}
	if op.spec.OperationID == "PredictByQuery" {
		values = url.Values{"dag_id": {dag}, "task_id": {task}, "memory": {"1Gi"}, "rows": {strconv.Itoa(random.IntN(1e6))}, "region": {"emea"}}
	}
	for _, p := range op.spec.Parameters {
		if p.Value.In == "query" && random.IntN(6) == 0 {
			values[p.Value.Name] = []string{fmt.Sprint(parameterText(unexpectedValue(random)))}
		}
	}
	if random.IntN(10) == 0 {
		values.Add(unusualTexts[random.IntN(len(unusualTexts))], unusualTexts[random.IntN(len(unusualTexts))])
	}
	return values.Encode()
}

func parameterText(v any) string {
	var b bytes.Buffer
	encode(&b, v)
	return string(b.Bytes()[:min(b.Len(), 4000)])
}

// body returns a body that it makes from a valid one. One in 3,000 bodies is huge. Of six other bodies, one stays valid, one
// gets changed bytes, and four get one to three changes of the decoded JSON.
func (m *generator) body(random *rand.Rand, op *operation) []byte {
	tree := clone(op.valid[random.IntN(len(op.valid))])
	assignTasks(random, tree)
	if m.oversized || random.IntN(3000) == 0 {
		return hugeBody(random, op, tree)
	}
	choice := random.IntN(6)
	for range []int{0, 0, 1, 1, 2, 3}[choice] {
		tree = mutateTree(random, tree)
	}
	var b bytes.Buffer
	encode(&b, tree)
	if choice == 1 {
		return mutateBytes(random, b.Bytes())
	}
	return b.Bytes()
}

func assignTasks(random *rand.Rand, tree any) {
	switch v := tree.(type) {
	case []any:
		for _, item := range v {
			assignTasks(random, item)
		}
	case map[string]any:
		if _, ok := v["dag_id"]; ok {
			dag, task := drawTask(random)
			v["dag_id"] = dag
			if _, ok := v["task_id"]; ok { // a campaign has none
				v["task_id"] = task
			}
		}
		if _, ok := v["run_id"]; ok {
			v["run_id"] = fmt.Sprintf("run-%d", random.IntN(2000))
		}
		for _, list := range []string{"tasks", "observations"} {
			assignTasks(random, v[list])
		}
	}
}

// hugeBody returns a body of half to one and a half times the size limit of most operations. The limit is 32 MiB for a path
// that ends with /batch, otherwise 1 MiB.
func hugeBody(random *rand.Rand, op *operation, tree any) []byte {
	size := 1 << 20
	if strings.HasSuffix(op.path, "/batch") {
		size = 32 << 20
	}
	size = size/2 + random.IntN(size)
	var one bytes.Buffer
	encode(&one, tree)
	var b bytes.Buffer
	switch random.IntN(4) {
	case 0: // one long text
		fmt.Fprintf(&b, `{"dag_id": %q}`, strings.Repeat("x", size))
	case 1: // nesting
		b.WriteString(`{"features": ` + strings.Repeat("[", size))
	case 2: // white space
		b.WriteString(strings.Repeat(" ", size) + one.String())
	default: // many items
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
