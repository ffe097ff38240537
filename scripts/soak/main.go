// Command soak plays tries against replicas of the built binary for a long time,
// at a fixed rate, while models are trained again and again, and says whether
// memory, goroutines and file descriptors stay flat and every answer is a good one:
//
//	go run ./scripts/soak                # 30 minutes at 60 % of the rate that it finds
//	go run ./scripts/soak -for 90s       # the short form
//	go run ./scripts/soak -rate 60       # at a rate of one's own
//
// Each task starts with as many runs as a training ever reads, so that its cost is
// at its height from the start; better parameters are searched for six times. The
// gauges are read from /metrics of each replica, and the first third is warm-up. It
// exits with 1 where something grew or an answer was not 200.
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

// plan is what to do.
type plan struct {
	length   time.Duration
	rate     float64 // requests a second; 60 % of the greatest found if zero
	replicas int
	tasks    int
	past     int // runs of each task before the start
	seed     uint64
}

func main() {
	var p plan
	flag.DurationVar(&p.length, "for", 30*time.Minute, "length; the first third is warm-up")
	flag.Float64Var(&p.rate, "rate", 0, "requests a second; 60 % of the greatest rate found if 0")
	flag.IntVar(&p.replicas, "replicas", 2, "of the server")
	flag.IntVar(&p.tasks, "tasks", 3, "with models")
	flag.IntVar(&p.past, "past", 20_000, "runs of each task told before the start; a training reads so many at most")
	flag.Uint64Var(&p.seed, "seed", 1, "of the traffic")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, p); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, p plan) (err error) {
	cluster, err := testcluster.Open(ctx, testcluster.Config{Replicas: p.replicas, Env: []string{
		"LOADAWARE_SEARCH_EVERY=" + (p.length / 6).String(), "LOADAWARE_LOG_LEVEL=warn",
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	tasks, err := cluster.Fill(ctx, testcluster.History{Tasks: p.tasks, Runs: p.past, Seed: p.seed})
	if err != nil {
		return err
	}
	if p.rate == 0 {
		p.rate = 0.6 * greatest(ctx, cluster, tasks, p.seed)
	}
	fmt.Printf("seed %d: %d replicas, %d tasks of %d runs, %.0f requests/s for %v, of which the first third is warm-up\n",
		p.seed, p.replicas, p.tasks, p.past, p.rate, p.length)
	t := &traffic{replicas: cluster.Replicas, tasks: tasks, seed: p.seed, callers: callers, rate: p.rate}
	return soak(ctx, t, p.length)
}

// greatest is the rate at which as many callers are answered without a pause.
func greatest(ctx context.Context, cluster *testcluster.Cluster, tasks []testcluster.Task, seed uint64) float64 {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	t := &traffic{replicas: cluster.Replicas, tasks: tasks, seed: ^seed, callers: callers}
	rate := t.run(ctx)
	fmt.Printf("greatest rate: %.0f requests/s by %d callers\n", rate, t.callers)
	return rate
}

// errNotFlat is what a soak fails with; the lines before it say why.
var errNotFlat = errors.New("the soak found faults")

// soak plays the traffic while it watches the gauges, then judges both.
func soak(ctx context.Context, t *traffic, length time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	watched := make([]*series, len(t.replicas))
	died := make([]error, len(t.replicas))
	var watching sync.WaitGroup
	for i, replica := range t.replicas {
		watched[i] = newSeries(replica.Admin)
		watching.Go(func() { died[i] = watched[i].watch(ctx, max(length/300, 100*time.Millisecond)) })
	}
	rate := t.run(ctx)
	watching.Wait()

	fmt.Printf("%d requests, %.0f/s; by path and status:\n", t.tally.answered(), rate)
	for _, path := range slices.Sorted(maps.Keys(t.tally.calls)) {
		fmt.Printf("  %-12s %v\n", path, t.tally.calls[path])
	}
	for _, fault := range t.tally.faults {
		fmt.Println("  fault:", fault)
	}
	flat := true
	for i, s := range watched {
		for _, g := range gauges {
			ok, says := g.may.flat(g.name, g.unit, g.scale, s.trend(g.metric, length/3))
			fmt.Printf("replica %d: %s\n           by tenths of the time: %.0f\n", i+1, says, s.tenths(g))
			flat = flat && ok
		}
	}
	fmt.Printf("faults: %d\n", t.tally.bad())
	if err := errors.Join(died...); err != nil {
		return err
	}
	if !flat || t.tally.bad() > 0 {
		return errNotFlat
	}
	return nil
}
