// Command questions asks random questions (requests for predictions) about the runs of traces, and checks the
// explanation of each answer: the base times all factors equals the granted bytes up to a relative error of 1e-9, the
// amount after the last factor equals the granted bytes, and the granted bytes equal the limit of the answer.
//
//	go run ./scripts/questions [-n 10000] [-rows 1500] [-seed 1] [-http] TRACE.csv.gz …
//
// The command reports the first rows of each trace in time order and asks questions between them. It asks half of
// the questions within the first quarter of these rows, while tasks have few runs. Questions omit and change features,
// name tasks without any report, and set floors, caps, bins and risk targets. By default the models in this process
// answer. With -http the command starts a server with an empty store, also sets modes, and sends OOM kills to
// /retry-lift. An interrupt ends the questions and prints the result so far. The exit code is 1 if an explanation
// is wrong, if nothing was explained, or after another error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/taskmodel"
	"github.com/loadaware/loadaware/internal/testcluster"
)

func main() {
	n := flag.Int("n", 10_000, "number of questions, divided among the traces")
	rows := flag.Int("rows", 1500, "number of rows of each trace, in order of start, that are reported")
	seed := flag.Uint64("seed", 1, "seed of the questions")
	http := flag.Bool("http", false, "ask a server, which this command starts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, flag.Args(), *n, *rows, *seed, *http); err != nil {
		fmt.Fprintln(os.Stderr, "questions:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, traces []string, n, rows int, seed uint64, http bool) (err error) {
	if len(traces) == 0 {
		return errors.New("no trace given; name at least one file")
	}
	q := &questions{
		ctx: ctx, random: rand.New(rand.NewPCG(seed, 1)), sources: map[string]int{}, kinds: map[string]int{}, took: map[string][]time.Duration{},
	}
	var to target = q
	if http {
		cluster, err := testcluster.Open(ctx, testcluster.Config{Env: []string{"LOADAWARE_SEARCH_EVERY=0", "LOADAWARE_LOG_LEVEL=warn"}})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, cluster.Close()) }()
		q.server = client.New(cluster.Replicas[0].URL, "")
	} else {
		to = &models{q: q, tasks: map[sizing.TaskKey]*learner{}, pools: map[string]*taskmodel.Pool{}}
	}
	for _, name := range traces {
		if err := q.askAbout(to, name, n/len(traces), rows); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return q.printResult()
}

// target is a server, or models in this process.
type target interface {
	report(rows []sizing.Observation) error
	// ask asks about one of the next runs after the first `reported` rows; at the end of the trace, about the last run.
	ask(reported int) error
}

// readTrace returns the observations of a file in order of start.
func readTrace(name string) ([]sizing.Observation, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	reader, err := file.Open(f)
	if err != nil {
		return nil, err
	}
	var trace []sizing.Observation
	for row, err := range reader.All() {
		if err != nil {
			return nil, err
		}
		trace = append(trace, row.Observation)
	}
	slices.SortStableFunc(trace, func(a, b sizing.Observation) int { return a.StartedAt.Compare(b.StartedAt) })
	return trace, nil
}

// askAbout reports the first rows of a trace and asks n questions between them.
func (q *questions) askAbout(to target, name string, n, rows int) error {
	trace, err := readTrace(name)
	if err != nil {
		return err
	}
	prefix, _, _ := strings.Cut(filepath.Base(name), ".")
	for i := range trace {
		o := &trace[i]
		o.Try.DAG = prefix + "-" + o.Try.DAG
	}
	q.trace, q.prefix = trace, prefix
	rows = min(rows, len(trace))
	at := make([]int, n) // number of reported rows before each question
	for i := range at {
		u := q.random.Float64() // squared below, so that half of the questions come within the first quarter of the rows
		at[i] = int(u * u * float64(rows))
	}
	slices.Sort(at)
	reported := 0
	for _, until := range at {
		if until > reported {
			if err := to.report(trace[reported:until]); err != nil {
				return err
			}
			reported = until
		}
		if q.ctx.Err() != nil {
			return q.ctx.Err()
		}
		if err := to.ask(until); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d questions, %d runs reported\n", prefix, n, reported)
	return nil
}

func (q *questions) report(rows []sizing.Observation) error {
	results, err := q.server.Record(q.ctx, rows)
	if err != nil {
		return err
	}
	for i := range results {
		if results[i].Err != nil {
			return fmt.Errorf("report %v: %w", rows[i].Try, results[i].Err)
		}
	}
	return nil
}

// printResult prints the counts. It returns an error if an explanation was wrong or nothing was explained.
func (q *questions) printResult() error {
	if q.explained == 0 {
		return errors.New("ask questions: nothing was explained; use a trace with measured runs or requests")
	}
	fmt.Printf("%d questions, %d explanations: %d wrong, largest error of the product %.1e, %d questions asked again because the answer had changed, %d with a note\n",
		q.total, q.explained, q.wrong, q.worst, q.changed, q.noted)
	fmt.Printf("sources: %s\nfactors: %s\n", counts(q.sources), counts(q.kinds))
	for _, name := range slices.Sorted(maps.Keys(q.took)) {
		took := q.took[name]
		slices.Sort(took)
		ms := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() * 1e3 }
		fmt.Printf("%-28s median %.3g ms, p90 %.3g ms, p99 %.3g ms of %d\n", name, ms(0.5), ms(0.9), ms(0.99), len(took))
	}
	if q.wrong > 0 {
		return fmt.Errorf("%d explanations do not lead to the answer; see the lines above", q.wrong)
	}
	return nil
}

func counts(byName map[string]int) string {
	var s []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		s = append(s, fmt.Sprintf("%s %d", name, byName[name]))
	}
	return strings.Join(s, ", ")
}
