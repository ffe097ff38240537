// Command soak simulates runs against replicas of the built binary for a long time, at a fixed
// rate, while models are trained repeatedly. It checks that memory, goroutines and file
// descriptors do not grow and that every call gets a valid answer with status 200:
//
//	go run ./scripts/soak                # 30 minutes at 60 % of the measured throughput
//	go run ./scripts/soak -for 90s       # the short form
//	go run ./scripts/soak -rate 60       # at a given rate
//
// By default each task starts with as many runs as a training may read, so that all trainings cost the same.
// During the test each replica searches about six times for better parameters. The gauges come from /metrics of each replica. The
// first third of the time is warm-up. The exit code is 1 if a gauge grew, if a call failed, or if the test could not run
// or was interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

type options struct {
	length   time.Duration
	rate     float64 // requests per second; 60 % of the measured throughput if zero
	replicas int
	tasks    int
	history  int // runs per task before the start
	seed     uint64
}

func main() {
	var p options
	flag.DurationVar(&p.length, "for", 30*time.Minute, "length; the first third is warm-up")
	flag.Float64Var(&p.rate, "rate", 0, "requests per second; 60 % of the measured throughput if 0")
	flag.IntVar(&p.replicas, "replicas", 2, "number of replicas")
	flag.IntVar(&p.tasks, "tasks", 3, "number of tasks with models")
	flag.IntVar(&p.history, "past", 20_000, "runs per task before the start; a training reads at most 20,000")
	flag.Uint64Var(&p.seed, "seed", 1, "seed of the traffic")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, p); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, p options) (err error) {
	cluster, err := testcluster.Open(ctx, testcluster.Config{Replicas: p.replicas, Env: []string{
		"LOADAWARE_SEARCH_EVERY=" + (p.length / 6).String(), "LOADAWARE_LOG_LEVEL=warn",
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	tasks, err := cluster.Fill(ctx, testcluster.History{Tasks: p.tasks, Runs: p.history, Seed: p.seed})
	if err != nil {
		return err
	}
	if p.rate == 0 {
		p.rate = 0.6 * measureThroughput(ctx, cluster, tasks, p.seed)
	}
	fmt.Printf("seed %d: %d replicas, %d tasks of %d runs, %.0f requests/s for %v; the first third is warm-up\n",
		p.seed, p.replicas, p.tasks, p.history, p.rate, p.length)
	t := &traffic{replicas: cluster.Replicas, tasks: tasks, seed: p.seed, callers: callers, rate: p.rate}
	return soak(ctx, t, p.length)
}

// measureThroughput returns the requests per second that the replicas answer to callers without pauses.
func measureThroughput(ctx context.Context, cluster *testcluster.Cluster, tasks []testcluster.Task, seed uint64) float64 {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	t := &traffic{replicas: cluster.Replicas, tasks: tasks, seed: ^seed, callers: callers}
	rate := t.run(ctx)
	fmt.Printf("throughput: %.0f requests/s with %d callers\n", rate, t.callers)
	return rate
}

// errNotFlat means that the test found a fault. The function soak has printed the reasons.
var errNotFlat = errors.New("a gauge grew or a call failed; see the lines above")

var errInterrupted = errors.New("interrupted before the end of the test")

// soak runs the traffic for the time `length`, samples the gauges meanwhile, and checks calls and gauges.
func soak(ctx context.Context, t *traffic, length time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	sampled := make([]*series, len(t.replicas))
	errs := make([]error, len(t.replicas))
	var sampling sync.WaitGroup
	for i, replica := range t.replicas {
		sampled[i] = newSeries(replica.Admin)
		sampling.Go(func() { errs[i] = sampled[i].sample(bounded, max(length/300, 100*time.Millisecond)) })
	}
	rate := t.run(bounded)
	sampling.Wait()
	interrupted := ctx.Err() != nil

	fmt.Printf("%d requests, %.0f/s; by path and status:\n", t.counts.answered(), rate)
	for _, path := range slices.Sorted(maps.Keys(t.counts.calls)) {
		fmt.Printf("  %-12s %v\n", path, t.counts.calls[path])
	}
	for _, fault := range t.counts.faults {
		fmt.Println("  fault:", fault)
	}
	flat := true
	for i, s := range sampled {
		for _, g := range gauges {
			ok, description := g.allowed.flat(g.name, g.unit, g.scale, s.trend(g.metric, length/3))
			fmt.Printf("replica %d: %s\n           by tenths of the time: %.0f\n", i+1, description, s.tenths(g))
			flat = flat && ok
		}
	}
	fmt.Printf("faults: %d\n", t.counts.faulty)
	if interrupted {
		return errInterrupted
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if !flat || t.counts.faulty > 0 {
		return errNotFlat
	}
	return nil
}
