// Command fuzz sends malformed requests to loadaware and checks every answer against openapi.yaml.
//
//	go run ./scripts/fuzz [-form short|long] [-seed 1] [-only requests,slow,schema,native]
//
// There are four trials:
//
//	requests   sends mutations of valid requests of every operation, as bytes over several connections
//	slow       sends bodies that arrive byte by byte and, with -form long, bodies that never end
//	schema     runs schemathesis, which draws requests and sequences of requests from openapi.yaml
//	native     runs every Fuzz function of the module, each for a bounded time
//
// The server is the built binary with authentication and a private PostgreSQL
// (internal/testcluster). The exit code is 1 after a fault or another error, and 2 if a flag is wrong. To repeat
// request N of a seed alone, use -only requests -seed SEED -n 1 -first N. The bodies of tens of MiB, which follow the other
// requests, have numbers of their own and cannot be repeated alone.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

type options struct {
	seed        uint64
	requests    int
	first       uint64
	callers     int           // concurrent connections of the requests
	neverEnding bool          // the trial slow also sends bodies that never end
	examples    int           // requests of schemathesis per operation and phase of schemathesis
	fuzzTime    time.Duration // of each Fuzz function
}

var forms = map[string]options{
	"short": {requests: 40_000, examples: 8, fuzzTime: 2 * time.Second},
	"long":  {requests: 1_100_000, examples: 1300, fuzzTime: 30 * time.Second, neverEnding: true},
}

type trial struct {
	name string
	run  func(context.Context, *testcluster.Cluster, options) error
}

var trials = []trial{{"requests", fuzzRequests}, {"slow", fuzzSlowBodies}, {"schema", fuzzSchema}, {"native", fuzzNative}}

const modelTasks = 4

// secret is the admin token. Only the server of this run accepts it.
const secret = "fuzz"

func main() {
	form := flag.String("form", "short", "short: about five minutes; long: 1.1 million requests and longer trials")
	seed := flag.Uint64("seed", 1, "seed of the random numbers; the trials slow and native ignore it")
	only := flag.String("only", "", "names of the trials, separated by commas; all if empty")
	n := flag.Int("n", 0, "number of requests; if 0, the number that -form sets")
	first := flag.Uint64("first", 0, "number of the first request")
	callers := flag.Int("callers", 8, "concurrent connections")
	flag.Parse()
	p, ok := forms[*form]
	if !ok {
		fmt.Fprintf(os.Stderr, "fuzz: -form %q: must be short or long\n", *form)
		os.Exit(2)
	}
	for name := range strings.SplitSeq(*only, ",") {
		if *only != "" && !slices.ContainsFunc(trials, func(t trial) bool { return t.name == name }) {
			fmt.Fprintf(os.Stderr, "fuzz: -only: unknown trial %q; use requests, slow, schema or native\n", name)
			os.Exit(2)
		}
	}
	p.seed, p.first, p.callers = *seed, *first, *callers
	if *n > 0 {
		p.requests = *n
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	passed := run(ctx, p, *only)
	stop()
	if !passed {
		os.Exit(1)
	}
}

// run runs the selected trials, and reports whether there was neither an error nor a fault.
func run(ctx context.Context, p options, only string) bool {
	dir, err := os.MkdirTemp("", "loadaware-fuzz-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		return false
	}
	defer os.RemoveAll(dir) // an error would leave only temporary files
	cluster, err := open(ctx, p.seed, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		return false
	}
	var faults []string
	for _, t := range trials {
		if only != "" && !slices.Contains(strings.Split(only, ","), t.name) {
			continue
		}
		fmt.Printf("== %s (seed %d)\n", t.name, p.seed)
		started := time.Now()
		verdict := "PASS"
		if err := t.run(ctx, cluster, p); err != nil {
			verdict = "FAIL"
			faults = append(faults, fmt.Sprintf("%s: %v", t.name, err))
		}
		fmt.Printf("%s: %s (%.0f s)\n\n", t.name, verdict, time.Since(started).Seconds())
	}
	if len(faults) > 0 {
		printFaults(faults, cluster.Replicas[0].Log)
	}
	if err := cluster.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		return false
	}
	return len(faults) == 0
}

// serverFault matches the log lines of a request that failed or of a server that crashed.
var serverFault = regexp.MustCompile(`request failed|panic|fatal error`)

// printFaults prints the first 20 error lines of the server's log and then the faults, because CI systems often show only
// the end of the output.
func printFaults(faults []string, log string) {
	text, err := os.ReadFile(log)
	if err != nil {
		fmt.Println("read the server's log:", err)
	}
	fmt.Println("error lines of the server:")
	printed := 0
	for line := range strings.Lines(string(text)) {
		if printed < 20 && serverFault.MatchString(line) {
			fmt.Printf("  %.2000s\n", strings.TrimSpace(line))
			printed++
		}
	}
	for _, fault := range faults {
		fmt.Println("FAIL:", fault)
	}
}

// open starts a server with authentication and a few tasks that have models. PostgreSQL does not sync to disk, because the
// data is temporary.
func open(ctx context.Context, seed uint64, dir string) (*testcluster.Cluster, error) {
	cfg := testcluster.Config{
		Dir: dir, Env: []string{"LOADAWARE_LOG_LEVEL=error"},
		Postgres: testcluster.PostgresConfig{Settings: []string{"fsync=off", "synchronous_commit=off"}},
	}
	cluster, err := testcluster.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	_, err = cluster.Fill(ctx, testcluster.History{Tasks: modelTasks, Seed: seed})
	if err := errors.Join(err, cluster.Close()); err != nil {
		return nil, err
	}
	// The history was sent without authentication, so the server starts again with tokens.
	cfg.Env = append(cfg.Env, fmt.Sprintf("LOADAWARE_TOKENS=admin:%x", sha256.Sum256([]byte(secret))))
	return testcluster.Open(ctx, cfg)
}
