package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// stormConnections is far above the number of calls that the service admits at a time.
const stormConnections = 600

// trialOverload finds the peak by a ramp. Then it alternates the connections of the peak with
// three times as many, and with a storm, so that other load on the machine affects both.
func trialOverload(ctx context.Context, tr *trialRun) error {
	if _, err := exec.LookPath("taskset"); err != nil || runtime.NumCPU() < 2 {
		return fmt.Errorf("%w: the load generator and the server need taskset and one core each", errSkip)
	}
	cluster, tasks, err := tr.openCluster(ctx, testcluster.Config{Wrap: pinned("0"), Postgres: testcluster.PostgresConfig{Wrap: pinned("1")}})
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err := pinSelf(ctx, "1"); err != nil {
		return err
	}
	defer func() { _ = pinSelf(context.WithoutCancel(ctx), fmt.Sprintf("0-%d", runtime.NumCPU()-1)) }()
	c := newCallers(cluster, tasks, tr.seed)
	peak := c.ramp(ctx, tr)

	threefold := c.compare(ctx, tr, "three", peak, 3*peak, tr.repetitions(2, 20), tr.repetitions(3, 6))
	threefold.judge(tr, "three times the peak's connections", tr.long)
	storm := c.compare(ctx, tr, "storm", peak, stormConnections, tr.repetitions(2, 6), tr.repetitions(3, 6))
	storm.judge(tr, "storm", tr.long)
	total := storm.total()
	tr.check(total.predicts.rejected+total.reports.rejected > 0, "storm: no call was rejected: there was no overload")
	tr.check(total.predicts.rejectedRatio() < total.reports.rejectedRatio(), "storm: predictions were rejected more often than reports")
	tr.checkLedger(ctx, "overload", cluster)
	return nil
}

// ramp returns the smallest number of connections with the highest goodput: twice the
// connections must give at least 3 % more.
func (c *callers) ramp(ctx context.Context, tr *trialRun) (peak int) {
	c.run(ctx, "warm", 8, time.Second)
	sizes := []int{4, 8, 16, 32, 64, 128}
	goodput := make([][]float64, len(sizes))
	for round := range tr.repetitions(1, 4) {
		for i, n := range sizes {
			g := c.run(ctx, fmt.Sprintf("ramp%d.%d", round, n), n, 1500*time.Millisecond)
			goodput[i] = append(goodput[i], g.goodput())
		}
	}
	highest := 0.0
	for i, n := range sizes {
		middle := median(goodput[i])
		tr.printf("ramp: %3d connections: %.0f/s", n, middle)
		if middle > 1.03*highest {
			peak, highest = n, middle
		}
	}
	return peak
}

// comparison alternates load runs at the peak with load runs above it. Each of the latter has
// a run at the peak before and after it.
type comparison struct {
	atPeak, abovePeak []*loadRun
}

// extraRounds is the number of rounds that the short form adds if its two rounds miss the
// goal. It judges the median of all: to stop at the first good round would pass a bad build.
const extraRounds = 4

func (c *callers) compare(ctx context.Context, tr *trialRun, label string, peak, above, rounds, seconds int) *comparison {
	k, length := &comparison{}, time.Duration(seconds)*time.Second
	k.atPeak = append(k.atPeak, c.run(ctx, label+"-first", peak, length))
	planned := rounds
	for round := 0; round < rounds; round++ {
		k.abovePeak = append(k.abovePeak, c.run(ctx, fmt.Sprintf("%s-beyond%d", label, round), above, length))
		k.atPeak = append(k.atPeak, c.run(ctx, fmt.Sprintf("%s-right%d", label, round), peak, length))
		if round == planned-1 && !tr.long && !k.isSufficient(tr) {
			rounds += extraRounds
		}
	}
	return k
}

// ratio returns the median, minimum and maximum ratio of a figure above the peak to the mean of
// the runs at the peak before and after.
func (k *comparison) ratio(figure func(*loadRun) float64) (middle, low, high float64) {
	var ratios []float64
	for i, above := range k.abovePeak {
		ratios = append(ratios, 2*figure(above)/(figure(k.atPeak[i])+figure(k.atPeak[i+1])))
	}
	return median(ratios), slices.Min(ratios), slices.Max(ratios)
}

// peakGoodput returns the median goodput of the runs at the peak.
func (k *comparison) peakGoodput() float64 {
	var goodput []float64
	for _, g := range k.atPeak {
		goodput = append(goodput, g.goodput())
	}
	return median(goodput)
}

// total returns the sum of the runs above the peak.
func (k *comparison) total() *loadRun {
	total := &loadRun{}
	for _, g := range k.abovePeak {
		total.length += g.length
		total.connections = g.connections
		total.buckets = make([]int, len(g.buckets))
		total.add(g)
	}
	return total
}

// minGoodput returns the ratio to the peak goodput that must remain under overload. The short
// form runs for seconds on a shared machine and is lenient.
func (tr *trialRun) minGoodput() float64 {
	if tr.long {
		return 0.8
	}
	return 0.6
}

func (k *comparison) isSufficient(tr *trialRun) bool {
	all, _, _ := k.ratio((*loadRun).goodput)
	predicts, _, _ := k.ratio((*loadRun).predictGoodput)
	return min(all, predicts) >= tr.minGoodput()
}

// judge checks a comparison. The goodput is bounded only if boundGoodput is set: few short rounds
// measure the other load on the machine as much as the service.
func (k *comparison) judge(tr *trialRun, name string, boundGoodput bool) {
	peakGoodput, total := k.peakGoodput(), k.total()
	tr.printf("%s: beside %.0f/s at the peak (%d connections): %v", name, peakGoodput, k.atPeak[0].connections, total)
	all, low, high := k.ratio((*loadRun).goodput)
	predicts, predictsLow, predictsHigh := k.ratio((*loadRun).predictGoodput)
	work, workLow, workHigh := k.ratio((*loadRun).perCPU)
	var slowest time.Duration
	failed := total.failed
	for _, g := range k.atPeak[1:] {
		slowest = max(slowest, g.recoveryTime(0.8*peakGoodput))
		failed += g.failed
	}
	tr.printf("%s: goodput %.2f [%.2f .. %.2f] of the peak, predictions %.2f [%.2f .. %.2f], %d rounds; back at 80 %% of the peak within %v at worst",
		name, all, low, high, predicts, predictsLow, predictsHigh, len(k.abovePeak), slowest)
	tr.printf("%s: answers per second of the server's CPU time %.2f [%.2f .. %.2f] of those at the peak", name, work, workLow, workHigh)
	// The short form does not bound the time of a rejection, which includes delays of the load
	// generator.
	maxRejection := time.Hour
	if tr.long {
		maxRejection = 50 * time.Millisecond
	}
	rejection := quantile(total.rejectionTimes(), 0.99)
	tr.check(!boundGoodput || all >= tr.minGoodput(), "%s: goodput is %.2f of the peak", name, all)
	tr.check(!boundGoodput || predicts >= tr.minGoodput(), "%s: predictions are %.2f of those at the peak", name, predicts)
	tr.check(failed == 0, "%s: %d calls failed: %s", name, failed, total.firstFault)
	tr.check(total.noRetryAfter == 0, "%s: %d rejections without Retry-After", name, total.noRetryAfter)
	tr.check(rejection < maxRejection, "%s: rejections took %v (p99)", name, rejection)
	tr.check(slowest <= 5*time.Second, "%s: not recovered within 5 s", name)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// pinned returns the start of a command that runs on the given cores only.
func pinned(cores string) []string { return []string{"taskset", "-c", cores} }

// pinSelf pins every thread of this process to the given cores.
func pinSelf(ctx context.Context, cores string) error {
	return runCommand(ctx, "taskset", "-acp", cores, strconv.Itoa(os.Getpid()))
}
