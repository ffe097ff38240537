// Command modelmemory measures the service while its models need more memory than LOADAWARE_MODEL_MEMORY allows. It reports
// runs of many tasks, trains each task, and asks questions (requests for predictions) about tasks that it draws at random:
//
//	go run ./scripts/modelmemory                      # 500 tasks of 200 runs with 15 features, 64MiB
//	go run ./scripts/modelmemory -tasks 50 -memory 8MiB
//	go run ./scripts/modelmemory -replicas 3 -route by-task   # with nginx, which must be in PATH
//	go run ./scripts/modelmemory -tasks 100 -copies 10000 -registered 100000 -memory 512MiB   # growth: see growth.go
//	go run ./scripts/modelmemory -tasks 100 -copies 10000 -memory 512MiB -for 30m           # soak: see soak.go
//
// It prints the resident memory, the sources of the answers, and separate latencies for questions whose
// model was in memory and for those whose model had to be decoded. The exit code is 1 after an error or a missed goal.
// Without -copies, the goals are -max-resident and -max-requested. With -copies, the goals are the constants in
// growth.go and, with -for, maxSoakGrowth in soak.go.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

type options struct {
	tasks        int
	runs         int // per task
	features     int // per run
	questions    int
	copies       int           // number of tasks, copies included; 0: no copies, and no measurement of growth
	registered   int           // number of tasks at the final restart of the replica; measureGrowth measures the duration of that start
	length       time.Duration // of the soak (soak.go); 0: no soak
	replicas     int
	route        string  // how the proxy before several replicas distributes questions
	memory       string  // LOADAWARE_MODEL_MEMORY
	maxResident  float64 // MiB
	maxRequested float64 // percent of the answers
	seed         uint64
}

func main() {
	var o options
	flag.IntVar(&o.tasks, "tasks", 500, "number of tasks whose runs are reported and trained")
	flag.IntVar(&o.runs, "runs", 200, "runs per task")
	flag.IntVar(&o.features, "features", 15, "features per run, at least 12")
	flag.IntVar(&o.questions, "questions", 3000, "number of questions")
	flag.IntVar(&o.copies, "copies", 0, "copy the trained tasks until there are this many tasks, and measure starts and predictions (goals: growth.go); 0: no copies")
	flag.IntVar(&o.registered, "registered", 100_000, "with -copies, number of tasks in the database when the replica is restarted at the end, to measure that start")
	flag.DurationVar(&o.length, "for", 0, "with -copies, duration of a soak: ask about tasks drawn at random, and check that the resident memory does not grow; 0: no soak")
	flag.IntVar(&o.replicas, "replicas", 1, "number of replicas; nginx balances several")
	flag.StringVar(&o.route, "route", roundRobin, "how nginx distributes questions: "+roundRobin+" or "+byTask)
	flag.StringVar(&o.memory, "memory", "64MiB", "LOADAWARE_MODEL_MEMORY")
	flag.Float64Var(&o.maxResident, "max-resident", 256, "goal: largest resident memory of a replica in MiB, without -copies")
	flag.Float64Var(&o.maxRequested, "max-requested", 2, "goal: largest share of the answers that come from the static request, in percent, without -copies")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the runs and of the choice of tasks")
	flag.Parse()
	if o.route != roundRobin && o.route != byTask {
		fmt.Fprintf(os.Stderr, "modelmemory: -route %q: must be %s or %s\n", o.route, roundRobin, byTask)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "modelmemory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	cluster, err := testcluster.Open(ctx, testcluster.Config{Replicas: o.replicas, Env: []string{
		"LOADAWARE_MODEL_MEMORY=" + o.memory, "LOADAWARE_SEARCH_EVERY=0", "LOADAWARE_LOG_LEVEL=warn",
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	m := measurement{options: o, replicas: cluster.Replicas, url: cluster.Replicas[0].URL, random: rand.New(rand.NewPCG(o.seed, 1))}
	start := time.Now()
	for task := range o.tasks {
		if err := m.fill(ctx, task); err != nil {
			return err
		}
	}
	fmt.Printf("%d tasks of %d runs × %d features reported and trained in %.0f s; models in at most %s\n", o.tasks, o.runs, o.features, time.Since(start).Seconds(), o.memory)
	if err := m.print("after the trainings"); err != nil {
		return err
	}
	if o.copies > 0 {
		return m.measureGrowth(ctx, cluster)
	}
	if len(m.replicas) > 1 {
		front, err := startProxy(ctx, m.replicas, o.route)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, front.close()) }()
		m.url = front.url
		fmt.Printf("%d replicas with nginx, %s\n", len(m.replicas), o.route)
	}
	for range o.questions {
		if err := m.ask(ctx, m.random.IntN(m.tasks)); err != nil {
			return err
		}
	}
	return m.printResult()
}

type measurement struct {
	options
	replicas []*testcluster.Replica // the first receives the reports
	url      string                 // of the replica or the proxy that receives the questions
	random   *rand.Rand

	sources      map[string]int
	hits, misses []time.Duration // latencies of questions whose model was in memory, and of the other questions
	laterHits    int             // hits in the second half of the questions
	decoded      float64         // sum of the misses that the replicas have counted since their start
	peak         float64         // largest resident memory of a replica seen, in MiB
}

// taskOf returns task i. Ten tasks share a DAG.
func taskOf(i int) testcluster.Task {
	return testcluster.Task{DAG: fmt.Sprintf("dag_%d", i/10), Task: fmt.Sprintf("task_%d", i)}
}

// drawRun draws a run of a task. It adds features without influence on the peak, until there are m.features.
func (m *measurement) drawRun(task int, runID string) testcluster.Observation {
	o := testcluster.DrawRun(m.random, taskOf(task), runID)
	for i := len(o.Features); i < m.features; i++ {
		o.Features[fmt.Sprintf("y%d", i)] = math.Round(m.random.Float64()*1e4) / 1e2
	}
	return o
}

func (m *measurement) fill(ctx context.Context, task int) error {
	batch := make([]testcluster.Observation, m.runs)
	for i := range batch {
		batch[i] = m.drawRun(task, fmt.Sprintf("past-%05d", i))
	}
	status, answer, err := m.replicas[0].Call(ctx, http.MethodPost, "/observe/batch", map[string]any{"observations": batch})
	if err != nil {
		return fmt.Errorf("report runs of task %d: %w", task, err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("report runs of task %d: status %d %.200s", task, status, answer)
	}
	key := taskOf(task)
	status, answer, err = m.replicas[0].Call(ctx, http.MethodPost, "/tasks/"+key.DAG+"/"+key.Task+"/train", nil)
	if err != nil {
		return fmt.Errorf("train task %d: %w", task, err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("train task %d: status %d %.200s", task, status, answer)
	}
	return nil
}

// ask requests a prediction, and records its latency and whether the model was in memory.
func (m *measurement) ask(ctx context.Context, task int) error {
	o := m.drawRun(task, "")
	body, err := json.Marshal(map[string]any{"dag_id": o.DAG, "task_id": o.Task.Task, "features": o.Features, "requested": o.Requested})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/predict", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Loadaware-Task", o.DAG+"/"+o.Task.Task)
	start := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("predict: status %d", response.StatusCode)
	}
	var answer struct{ Source string }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("predict: decode the answer: %w", err)
	}
	took := time.Since(start)
	return m.count(answer.Source, took)
}

// count adds one answer. The question waited for the decoding of a model if a replica has counted a new miss.
func (m *measurement) count(source string, took time.Duration) error {
	decoded := 0.0
	for _, replica := range m.replicas {
		v, err := scrape(replica.Admin)
		if err != nil {
			return err
		}
		m.peak = max(m.peak, v["process_resident_memory_bytes"]/(1<<20))
		decoded += v["loadaware_model_misses_total"]
	}
	if m.sources == nil {
		m.sources = map[string]int{}
	}
	m.sources[source]++
	if decoded > m.decoded {
		m.decoded = decoded
		m.misses = append(m.misses, took)
		return nil
	}
	m.hits = append(m.hits, took)
	if len(m.hits)+len(m.misses) > m.questions/2 {
		m.laterHits++
	}
	return nil
}

func (m *measurement) printResult() error {
	if err := m.print("after the questions"); err != nil {
		return err
	}
	requested := 100 * float64(m.sources["requested"]) / float64(m.questions)
	fmt.Printf("answers by source: %v; %.1f %% from the static request (goal %.0f)\n", m.sources, requested, m.maxRequested)
	fmt.Printf("model in memory for %.1f %% of the second half of the questions\n", 100*float64(m.laterHits)/float64(m.questions-m.questions/2))
	fmt.Printf("resident at most %.0f MiB while asking (goal %.0f)\n", m.peak, m.maxResident)
	fmt.Printf("model in memory: %s\nmodel decoded:   %s\n", quantiles(m.hits), quantiles(m.misses))
	if requested > m.maxRequested || m.peak > m.maxResident {
		return errors.New("a goal is missed; see the lines above")
	}
	return nil
}
