// Command fuzz sends what nobody should send, and holds every answer to openapi.yaml.
//
//	go run ./scripts/fuzz [-form short|long] [-seed 1] [-only requests,slow,schema,native]
//
// requests: valid requests of every operation of which something is disturbed, as
// bytes over many connections. slow: bodies that come byte by byte, or never.
// schema: schemathesis, which draws requests and sequences of them from openapi.yaml.
// native: every Fuzz function of the module, for a bounded time each.
//
// The server is the built binary with tokens on and a private PostgreSQL
// (internal/testcluster). The exit code is 1 if any trial found a fault. `-n 1 -first N`
// sends request N of a seed alone.
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

// plan is how much of what.
type plan struct {
	seed     uint64
	requests int           // 0: as the form says
	first    uint64        // number of the first request
	callers  int           // connections of the requests
	stalled  bool          // wait for the server to give up on bodies that never end
	examples int           // of schemathesis for each operation
	each     time.Duration // for each Fuzz function
}

var forms = map[string]plan{
	"short": {requests: 40_000, examples: 8, each: 2 * time.Second},
	"long":  {requests: 1_100_000, examples: 1300, each: 30 * time.Second, stalled: true},
}

// trial is one way to look for faults.
type trial struct {
	name string
	run  func(context.Context, *testcluster.Cluster, plan) error
}

var trials = []trial{{"requests", requests}, {"slow", slow}, {"schema", schema}, {"native", fuzzNative}}

// modelled is how many tasks have models.
const modelled = 4

// secret is the admin's token. Nothing but the server of this run knows it.
const secret = "fuzz"

func main() {
	form := flag.String("form", "short", "short: for every change, about two minutes; long: a million requests")
	seed := flag.Uint64("seed", 1, "of everything that is drawn")
	only := flag.String("only", "", "names of trials, separated by commas; all if empty")
	n := flag.Int("n", 0, "requests; as the form says if 0")
	first := flag.Uint64("first", 0, "number of the first request")
	callers := flag.Int("callers", 8, "connections at once")
	flag.Parse()
	p, ok := forms[*form]
	if !ok {
		fmt.Fprintf(os.Stderr, "fuzz: -form is short or long, not %q\n", *form)
		os.Exit(2)
	}
	p.seed, p.first, p.callers = *seed, *first, *callers
	if *n > 0 {
		p.requests = *n
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	good := run(ctx, p, *only)
	stop()
	if !good {
		os.Exit(1)
	}
}

func run(ctx context.Context, p plan, only string) bool {
	dir, err := os.MkdirTemp("", "loadaware-fuzz-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		return false
	}
	defer os.RemoveAll(dir) // what is left is in the folder for temporary files
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
		tellOf(faults, cluster.Replicas[0].Log)
	}
	if err := cluster.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		return false
	}
	return len(faults) == 0
}

// telling are lines of a server that failed, or ended by itself.
var telling = regexp.MustCompile(`request failed|panic|fatal error`)

// tellOf says last what was found, where whoever looks at the end of a log sees it.
func tellOf(faults []string, log string) {
	text, err := os.ReadFile(log)
	if err != nil {
		fmt.Println("the server's log is gone:", err)
	}
	fmt.Println("what the server says of it:")
	printed := 0
	for line := range strings.Lines(string(text)) {
		if printed < 20 && telling.MatchString(line) {
			fmt.Printf("  %.2000s\n", strings.TrimSpace(line))
			printed++
		}
	}
	for _, fault := range faults {
		fmt.Println("FAIL:", fault)
	}
}

// open starts a server with tokens on and a few tasks that have models. What it
// stores may be lost with the machine: nobody asks for it later.
func open(ctx context.Context, seed uint64, dir string) (*testcluster.Cluster, error) {
	cfg := testcluster.Config{
		Dir: dir, Env: []string{"LOADAWARE_LOG_LEVEL=error"},
		Postgres: testcluster.PostgresConfig{Settings: []string{"fsync=off", "synchronous_commit=off"}},
	}
	cluster, err := testcluster.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	_, err = cluster.Fill(ctx, testcluster.History{Tasks: modelled, Seed: seed})
	if err := errors.Join(err, cluster.Close()); err != nil {
		return nil, err
	}
	// The history was told to a server without tokens.
	cfg.Env = append(cfg.Env, fmt.Sprintf("LOADAWARE_TOKENS=admin:%x", sha256.Sum256([]byte(secret))))
	return testcluster.Open(ctx, cfg)
}
