// Command chaos takes things away from loadaware while it is under load, and counts
// what became of the requests.
//
//	go run ./scripts/chaos [-form short|long] [-seed 1] [-only kill-replica,toxics] [-binary bin/loadaware]
//
// Each trial opens a cluster of its own (internal/testcluster): the built binary, a private
// PostgreSQL, loopback. Traffic is drawn from the seed. A trial prints its figures and
// its seed, and says PASS, FAIL or, where the machine does not allow it, SKIP with the
// reason. The exit code is 1 if any failed.
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

// trial is one fault and what must hold under it.
type trial struct {
	name string
	goal string
	run  func(context.Context, *sheet) error
}

var trials = []trial{
	{"idempotency", "concurrent duplicates over 3 replicas have one effect; another body is a 409", idempotency},
	{"kill-replica", "kill -9 of a replica under load: nothing acknowledged is lost or doubled", killReplica},
	{"kill-postgres", "kill -9 of PostgreSQL: nothing lost or doubled, predictions go on, ready within 10 s", killPostgres},
	{"toxics", "every toxic between service and PostgreSQL: no call beyond its deadline, nothing lost or doubled, healed within 5 s", toxics},
	{"partition", "the network to PostgreSQL cut: the same", partition},
	{"scarcity", "disk full, read-only folder, no memory for PostgreSQL: an explicit 503, never a false ack; predictions go on", scarcity},
	{"rolling", "upgrade and downgrade with a live migration under load: no failed request", rolling},
	{"overload", "three times the connections of the peak: 80 % of its goodput, the rest refused within 50 ms, recovered within 5 s", overload},
	{"stale-model", "a network cut while a model is promoted: staleness is bounded and said", stale},
	{"damaged-model", "every byte flipped, cut at every length: refused, and the last good one answers", damaged},
	{"bad-model", "allocations of three tenths: rolled back by itself within 200 outcomes, and nothing else is", badModel},
}

// errSkip is wrapped by a trial that this machine does not allow.
var errSkip = errors.New("skipped")

func main() {
	form := flag.String("form", "short", "short: few repetitions, for every change; long: those of the goals")
	seed := flag.Uint64("seed", 1, "of the traffic and of when faults strike")
	only := flag.String("only", "", "names of trials, separated by commas; all if empty")
	binary := flag.String("binary", "", "loadaware as it was built; bin/loadaware if empty, built when missing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !run(ctx, sheet{long: *form == "long", seed: *seed, binary: *binary}, *form, *only) {
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, sheet sheet, form, only string) (good bool) {
	if form != "short" && form != "long" {
		fmt.Fprintf(os.Stderr, "-form must be short or long, not %q\n", form)
		return false
	}
	wanted := strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	for _, name := range wanted {
		if !slices.ContainsFunc(trials, func(t trial) bool { return t.name == name }) {
			fmt.Fprintf(os.Stderr, "there is no trial %q\n", name)
			return false
		}
	}
	begun, failed, ran := time.Now(), 0, 0
	fmt.Printf("chaos: form %s, seed %d, %d cores, load before %s\n", form, sheet.seed, runtime.NumCPU(), loadAverage())
	for _, t := range trials {
		if len(wanted) > 0 && !slices.Contains(wanted, t.name) {
			continue
		}
		if ctx.Err() != nil {
			fmt.Println("chaos: interrupted")
			return false
		}
		ran++
		blank := sheet
		if !t.judge(ctx, &blank) {
			failed++
		}
	}
	fmt.Printf("chaos: %d trials, %d failed, %.0f s, form %s, seed %d, load after %s\n",
		ran, failed, time.Since(begun).Seconds(), form, sheet.seed, loadAverage())
	return failed == 0
}

// judge runs one trial and says how it went.
func (t *trial) judge(ctx context.Context, s *sheet) bool {
	fmt.Printf("=== %s: %s\n", t.name, t.goal)
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute) // a trial that hangs has failed
	defer cancel()
	err := t.run(ctx, s)
	took := time.Since(begun).Seconds()
	switch {
	case errors.Is(err, errSkip):
		fmt.Printf("SKIP %s: %v\n", t.name, err)
		return true
	case err != nil:
		fmt.Printf("FAIL %s (%.1f s, seed %d): the trial could not be held: %v\n", t.name, took, s.seed, err)
		return false
	case len(s.faults) > 0:
		fmt.Printf("FAIL %s (%.1f s, seed %d): %s\n", t.name, took, s.seed, strings.Join(s.faults, "; "))
		return false
	}
	fmt.Printf("PASS %s (%.1f s, seed %d)\n", t.name, took, s.seed)
	return true
}

// sheet is what a trial is told, and where it writes its figures and faults.
type sheet struct {
	long   bool
	seed   uint64
	binary string // of loadaware; empty: the one in bin
	faults []string
}

// reps chooses the repetitions of the form.
func (s *sheet) reps(short, long int) int {
	if s.long {
		return long
	}
	return short
}

// tell prints a figure.
func (s *sheet) tell(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }

// hold notes a fault unless what was claimed is so.
func (s *sheet) hold(so bool, format string, args ...any) {
	if !so {
		fault := fmt.Sprintf(format, args...)
		fmt.Printf("  FAULT: %s\n", fault)
		s.faults = append(s.faults, fault)
	}
}

// loadAverage is that of the last minute, for whoever reads absolute figures.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
