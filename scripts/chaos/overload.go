package main

import (
	"cmp"
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

// stormConnections is far above the number of calls that the service admits at the same time.
const stormConnections = 600

// trialOverload first finds the number of connections with the highest goodput (the best number). It compares runs at this
// number with runs at three times as many connections, and then at stormConnections. The compared runs alternate, so that
// other load on the machine affects both alike.
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
	best := c.ramp(ctx, tr)

	threefold := c.compare(ctx, tr, "three", best, 3*best, tr.repetitions(2, 20), tr.repetitions(3, 6))
	threefold.check(tr, "three times the best number of connections")
	storm := c.compare(ctx, tr, "storm", best, stormConnections, tr.repetitions(2, 6), tr.repetitions(3, 6))
	storm.check(tr, "storm")
	total := storm.total()
	tr.check(total.predicts.rejected+total.reports.rejected > 0, "storm: no call was rejected: there was no overload")
	tr.check(total.predicts.rejectedRatio() < total.reports.rejectedRatio(), "storm: predictions were rejected at least as often as reports")
	tr.checkReports(ctx, "overload", cluster)
	return nil
}

// ramp returns the best of 4 to 128 connections. A larger number is better only if its goodput is more than 3 % higher: with
// a smaller threshold, noise would more often select a larger number.
func (c *callers) ramp(ctx context.Context, tr *trialRun) (best int) {
	c.run(ctx, "warm-up", 8, time.Second)
	sizes := []int{4, 8, 16, 32, 64, 128}
	goodput := make([][]float64, len(sizes))
	for round := range tr.repetitions(1, 4) {
		for i, n := range sizes {
			l := c.run(ctx, fmt.Sprintf("ramp%d.%d", round, n), n, 1500*time.Millisecond)
			goodput[i] = append(goodput[i], l.goodput())
		}
	}
	highest := 0.0
	for i, n := range sizes {
		middle := median(goodput[i])
		tr.printf("ramp: %3d connections: %.0f/s", n, middle)
		if middle > 1.03*highest {
			best, highest = n, middle
		}
	}
	return best
}

// comparison alternates between the best number of connections and a larger one. The run aboveBest[i] took place between
// atBest[i] and atBest[i+1].
type comparison struct {
	atBest, aboveBest []*loadRun
}

// compare runs the best number of connections and a larger one in turn. The run ids begin with `label`.
func (c *callers) compare(ctx context.Context, tr *trialRun, label string, best, above, rounds, seconds int) *comparison {
	k, length := &comparison{}, time.Duration(seconds)*time.Second
	k.atBest = append(k.atBest, c.run(ctx, label+"-first", best, length))
	for round := range rounds {
		k.aboveBest = append(k.aboveBest, c.run(ctx, fmt.Sprintf("%s-above%d", label, round), above, length))
		k.atBest = append(k.atBest, c.run(ctx, fmt.Sprintf("%s-best%d", label, round), best, length))
	}
	return k
}

// ratio divides a figure of each run in aboveBest by the mean of this figure over the runs in atBest before and after it. It
// returns the median, minimum and maximum of these quotients.
func (k *comparison) ratio(figure func(*loadRun) float64) (middle, low, high float64) {
	var ratios []float64
	for i, above := range k.aboveBest {
		ratios = append(ratios, 2*figure(above)/(figure(k.atBest[i])+figure(k.atBest[i+1])))
	}
	return median(ratios), slices.Min(ratios), slices.Max(ratios)
}

func (k *comparison) bestGoodput() float64 {
	var goodput []float64
	for _, l := range k.atBest {
		goodput = append(goodput, l.goodput())
	}
	return median(goodput)
}

// total sums the runs in aboveBest, which have the same length. It omits the CPU time.
func (k *comparison) total() *loadRun {
	first := k.aboveBest[0]
	total := &loadRun{connections: first.connections, buckets: make([]int, len(first.buckets))}
	for _, l := range k.aboveBest {
		total.length += l.length
		total.add(l)
	}
	return total
}

// minGoodput is the fraction of the highest goodput that must remain under overload.
const minGoodput = 0.8

// check prints the comparison and checks its figures. It bounds the goodput and the time of a rejection only in the long form:
// in a few short rounds, other load on the machine and the load generator affect these figures as much as the service does.
func (k *comparison) check(tr *trialRun, name string) {
	bestGoodput, total := k.bestGoodput(), k.total()
	tr.printf("%s: compared with %.0f/s at the best number of connections (%d): %v", name, bestGoodput, k.atBest[0].connections, total)
	all, low, high := k.ratio((*loadRun).goodput)
	predicts, predictsLow, predictsHigh := k.ratio((*loadRun).predictGoodput)
	perCPU, perCPULow, perCPUHigh := k.ratio((*loadRun).perCPU)
	var slowest time.Duration
	failed, firstFailure := total.failed, total.firstFailure
	for _, l := range k.atBest[1:] {
		slowest = max(slowest, l.recoveryTime(0.8*bestGoodput))
		failed, firstFailure = failed+l.failed, cmp.Or(firstFailure, l.firstFailure)
	}
	tr.printf("%s: goodput %.2f [%.2f .. %.2f] of the highest, predictions %.2f [%.2f .. %.2f], %d rounds; recovered to 80 %% of the highest goodput within %v at worst",
		name, all, low, high, predicts, predictsLow, predictsHigh, len(k.aboveBest), slowest)
	tr.printf("%s: answers per second of the server's CPU time %.2f [%.2f .. %.2f] of those at the best number of connections", name, perCPU, perCPULow, perCPUHigh)
	if tr.long {
		rejection := quantile(total.rejectionTimes(), 0.99)
		tr.check(all >= minGoodput, "%s: goodput is %.2f of the highest", name, all)
		tr.check(predicts >= minGoodput, "%s: the goodput of predictions is %.2f of the highest", name, predicts)
		tr.check(rejection < 50*time.Millisecond, "%s: rejections took %v (p99)", name, rejection)
	}
	tr.check(failed == 0, "%s: %d calls failed: %s", name, failed, firstFailure)
	tr.check(total.noRetryAfter == 0, "%s: %d rejections without Retry-After", name, total.noRetryAfter)
	tr.check(slowest <= 5*time.Second, "%s: not recovered within 5 s", name)
}

// median returns the upper median of a non-empty slice.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func pinned(cores string) []string { return []string{"taskset", "-c", cores} }

func pinSelf(ctx context.Context, cores string) error {
	return runCommand(ctx, "taskset", "-acp", cores, strconv.Itoa(os.Getpid()))
}
