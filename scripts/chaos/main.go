// Command chaos injects faults into a loadaware cluster under load and counts the result of
// every request.
//
//	go run ./scripts/chaos [-form short|long] [-seed 1] [-only kill-replica,toxics] [-binary bin/loadaware]
//
// Each trial runs a cluster of its own (internal/testcluster): the built binary and a private
// PostgreSQL. The seed determines the traffic. A trial prints its figures, then PASS, FAIL or, if
// the machine does not allow the trial, SKIP with the reason. The exit code is 1 if a trial failed, if the command
// was interrupted, or if -form or -only has a wrong value.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

type trial struct {
	name string
	goal string
	run  func(context.Context, *trialRun) error
}

var trials = []trial{
	{"idempotency", "concurrent duplicates over 3 replicas have one effect; another body for the same try gets a 409", trialIdempotency},
	{"kill-replica", "kill -9 of a replica under load: nothing acknowledged is lost or stored twice", trialKillReplica},
	{"kill-postgres", "kill -9 of PostgreSQL: nothing lost or stored twice, predictions continue, ready within 10 s", trialKillPostgres},
	{"toxics", "every toxic (network fault) between service and PostgreSQL: no call beyond its deadline, nothing lost or stored twice, recovered within 5 s", trialToxics},
	{"partition", "the network to PostgreSQL is cut: nothing lost or stored twice, recovered within 5 s", trialPartition},
	{"scarcity", "read-only PostgreSQL, disk full, read-only folder, no memory: reports get a 503, never a false acknowledgement; predictions continue", trialScarcity},
	{"rolling", "upgrade and downgrade with a live migration under load: no failed request", trialRolling},
	{"overload", "three times as many connections as the number with the highest goodput: recovered within 5 s; in the long form also 80 % of the highest goodput, the rest rejected within 50 ms", trialOverload},
	{"stale-model", "a promotion during a network cut: staleness is bounded and reported", trialStaleModel},
	{"damaged-model", "a model with a flipped byte or truncated: rejected, and the last good version answers", trialDamagedModel},
	{"bad-model", "a model that allocates 30 % of the right amount: rolled back automatically within 200 outcomes; good models stay", trialBadModel},
}

// errSkip means that a trial cannot run on this machine.
var errSkip = errors.New("skipped")

func main() {
	form := flag.String("form", "short", "short: few repetitions, as CI runs them; long: all repetitions")
	seed := flag.Uint64("seed", 1, "seed of the traffic and of the times of the faults")
	only := flag.String("only", "", "names of the trials, separated by commas; all if empty")
	binary := flag.String("binary", "", "path of the loadaware binary; if empty, bin/loadaware, which is built when it is missing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !run(ctx, trialRun{long: *form == "long", seed: *seed, binary: *binary}, *form, *only) {
		stop()
		os.Exit(1)
	}
}

// run reports whether all selected trials ran and none failed.
func run(ctx context.Context, base trialRun, form, only string) (passed bool) {
	if form != "short" && form != "long" {
		fmt.Fprintf(os.Stderr, "chaos: -form %q: must be short or long\n", form)
		return false
	}
	wanted := strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	for _, name := range wanted {
		if !slices.ContainsFunc(trials, func(t trial) bool { return t.name == name }) {
			fmt.Fprintf(os.Stderr, "chaos: -only %q: no such trial; use the names that chaos prints after ===\n", name)
			return false
		}
	}
	start, failed, ran := time.Now(), 0, 0
	fmt.Printf("chaos: form %s, seed %d, %d cores, load before %s\n", form, base.seed, runtime.NumCPU(), loadAverage())
	for _, t := range trials {
		if len(wanted) > 0 && !slices.Contains(wanted, t.name) {
			continue
		}
		if ctx.Err() != nil {
			fmt.Println("chaos: interrupted")
			return false
		}
		ran++
		tr := base
		if !t.execute(ctx, &tr) {
			failed++
		}
	}
	fmt.Printf("chaos: %d trials, %d failed, %.0f s, form %s, seed %d, load after %s\n",
		ran, failed, time.Since(start).Seconds(), form, base.seed, loadAverage())
	return failed == 0
}

// execute runs the trial, prints its result, and reports whether the trial passed or was skipped.
func (t *trial) execute(ctx context.Context, tr *trialRun) bool {
	fmt.Printf("=== %s: %s\n", t.name, t.goal)
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute) // a trial that hangs has failed
	defer cancel()
	err := t.run(ctx, tr)
	took := time.Since(start).Seconds()
	switch {
	case errors.Is(err, errSkip):
		fmt.Printf("SKIP %s: %v\n", t.name, err)
		return true
	case err != nil:
		fmt.Printf("FAIL %s (%.1f s, seed %d): the trial ended with an error: %v\n", t.name, took, tr.seed, err)
		return false
	case len(tr.failures) > 0:
		fmt.Printf("FAIL %s (%.1f s, seed %d): %s\n", t.name, took, tr.seed, strings.Join(tr.failures, "; "))
		return false
	}
	fmt.Printf("PASS %s (%.1f s, seed %d)\n", t.name, took, tr.seed)
	return true
}

type trialRun struct {
	long     bool
	seed     uint64
	binary   string // path of the loadaware binary; bin/loadaware if empty
	failures []string
}

func (tr *trialRun) repetitions(short, long int) int {
	if tr.long {
		return long
	}
	return short
}

func (tr *trialRun) printf(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }

func (tr *trialRun) check(ok bool, format string, args ...any) {
	if !ok {
		failure := fmt.Sprintf(format, args...)
		fmt.Printf("  FAILURE: %s\n", failure)
		tr.failures = append(tr.failures, failure)
	}
}

// loadAverage returns the load average of the last minute, on which absolute figures depend.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
