package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

const (
	maxStalenessError = 5 * time.Second // between the staleness that /readyz reports and the real one
	maxRecovery       = 5 * time.Second // until a promoted version answers, from the promotion or from the end of a cut
)

// trialStaleModel promotes versions at one replica while the network between the other replica and PostgreSQL is intact, and
// while it is cut. A cut drops the data on all connections, and no connection gets an error.
func trialStaleModel(ctx context.Context, tr *trialRun) error {
	cluster, tasks, err := tr.openCluster(ctx, testcluster.Config{Replicas: 2})
	if err != nil {
		return err
	}
	defer cluster.Close()
	proxy, err := newProxy(cluster.Postgres.Addr())
	if err != nil {
		return err
	}
	defer proxy.Stop()
	direct, viaProxy := cluster.Replicas[0], cluster.Replicas[1]
	viaProxy.Kill()
	viaProxy.Database = testcluster.DSN(proxy.Listen)
	if err := viaProxy.Start(ctx); err != nil {
		return err
	}
	if err := waitForModels(ctx, cluster, tasks); err != nil {
		return err
	}
	task := tasks[0]
	if err := train(ctx, direct, task); err != nil { // adds a second version
		return err
	}
	p := &promoter{direct: direct, viaProxy: viaProxy, task: task, version: 2}
	if err := tr.measurePropagation(ctx, p); err != nil {
		return err
	}
	lengths := []time.Duration{time.Second, 6 * time.Second}
	if tr.long {
		lengths = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 12 * time.Second, 30 * time.Second, 60 * time.Second, 120 * time.Second}
	}
	random := rand.New(rand.NewPCG(tr.seed, 10))
	for _, length := range lengths {
		for _, stream := range []string{"upstream", "downstream"} {
			cut, err := json.Marshal(map[string]any{"name": "cut", "type": "timeout", "stream": stream, "attributes": map[string]int{"timeout": 0}})
			if err != nil {
				return err
			}
			if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(string(cut))); err != nil {
				return err
			}
			if err := tr.runCut(ctx, p, length, time.Duration(random.Int64N(int64(length)/2)), stream); err != nil {
				return err
			}
			if err := proxy.Toxics.RemoveToxic(ctx, "cut"); err != nil {
				return err
			}
			took, err := p.waitPropagated(ctx, time.Minute)
			if err != nil {
				return err
			}
			untilFresh := p.waitFresh(ctx, time.Minute)
			tr.printf("cut for %v (%s): the replica has the promoted version %v after the end of the cut, and %v later /readyz reports a staleness below 2 s again",
				length, stream, took.Round(time.Millisecond), untilFresh.Round(time.Millisecond))
			tr.check(took <= maxRecovery, "cut for %v (%s): the replica had the promoted version only after %v", length, stream, took)
			tr.check(untilFresh <= maxStalenessError+maxRecovery, "cut for %v (%s): /readyz reported a staleness below 2 s only %v later", length, stream, untilFresh)
		}
	}
	return nil
}

// promoter alternately activates versions 1 and 2 at the replica `direct`.
type promoter struct {
	direct   *testcluster.Replica // connected to PostgreSQL directly
	viaProxy *testcluster.Replica // connected to PostgreSQL through the proxy that the trial cuts
	task     testcluster.Task
	version  int // active
}

// promote activates the other version.
func (p *promoter) promote(ctx context.Context) error {
	p.version = 3 - p.version
	code, err := activate(ctx, p.direct, p.task, p.version)
	return callError("promote a version", code, nil, err)
}

// waitPropagated returns the time until the replica `viaProxy` answers from the active version; it gives up after `timeout`.
func (p *promoter) waitPropagated(ctx context.Context, timeout time.Duration) (time.Duration, error) {
	start := time.Now()
	for {
		answering, err := answeringVersion(ctx, p.viaProxy, p.task)
		if took := time.Since(start); err != nil || answering == p.version || took > timeout {
			return took, err
		}
		time.Sleep(time.Millisecond)
	}
}

// waitFresh returns the time until the replica `viaProxy` reports a staleness below 2 s; it gives up after `timeout`. The
// replica may load a promoted version before it knows that it missed no other change.
func (p *promoter) waitFresh(ctx context.Context, timeout time.Duration) time.Duration {
	start := time.Now()
	for {
		stale, isKnown := staleness(ctx, p.viaProxy)
		if took := time.Since(start); isKnown && stale < 2*time.Second || took > timeout {
			return took
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// measurePropagation measures promotions without a fault.
func (tr *trialRun) measurePropagation(ctx context.Context, p *promoter) error {
	var lags []time.Duration
	for range tr.repetitions(30, 300) {
		if err := p.promote(ctx); err != nil {
			return err
		}
		lag, err := p.waitPropagated(ctx, time.Minute)
		if err != nil {
			return err
		}
		lags = append(lags, lag)
	}
	tr.printf("no fault: %d promotions, propagated within %v (median), %v at most", len(lags), quantile(lags, 0.5), quantile(lags, 1))
	tr.check(quantile(lags, 1) <= maxRecovery, "a promotion was propagated only after %v", quantile(lags, 1))
	return nil
}

const minProbing = 500 * time.Millisecond

// runCut waits for `delay`, promotes a version and probes the replica `viaProxy` until `length` has passed since its start, and
// at least for minProbing. The reported staleness must be at least the real one minus maxStalenessError, and at most the length
// of the cut plus maxStalenessError.
func (tr *trialRun) runCut(ctx context.Context, p *promoter, length, delay time.Duration, stream string) error {
	start := time.Now()
	time.Sleep(delay)
	if err := p.promote(ctx); err != nil {
		return err
	}
	promoted := time.Now()
	sent, old, failed := 0, 0, 0
	var reported, worst time.Duration
	duration := max(length, promoted.Sub(start)+minProbing) // the promotion may be late on a slow machine
	for ; sent == 0 || time.Since(start) < duration; time.Sleep(20 * time.Millisecond) {
		sent++
		real := time.Since(promoted)
		answering, err := answeringVersion(ctx, p.viaProxy, p.task)
		if err != nil || answering == 0 {
			failed++
			continue
		}
		reported, _ = staleness(ctx, p.viaProxy) // 0 if the replica reports none, as if its models were fresh
		if answering != p.version {
			old++
			worst = max(worst, real-reported)
		}
	}
	elapsed := time.Since(start)
	tr.printf("cut for %v (%s), promoted after %v: %d predictions, %d failed, %d from the old version; /readyz reports %.1f s of staleness at the end, and at worst %.1f s less than the real staleness",
		elapsed.Round(time.Millisecond), stream, delay.Round(time.Millisecond), sent, failed, old, reported.Seconds(), worst.Seconds())
	tr.check(sent > 0 && failed == 0, "%d of %d predictions failed during the cut", failed, sent)
	tr.check(old > 0, "no prediction was from the old version: the network was not cut")
	tr.check(worst <= maxStalenessError, "a model was older by %v than /readyz reported", worst)
	tr.check(reported <= elapsed+maxStalenessError, "/readyz reports a staleness of %v after a cut of %v", reported, elapsed)
	return nil
}

// staleness returns how old the models of a replica may be, as /readyz reports it. isKnown is false without an answer, or if
// the answer contains no staleness.
func staleness(ctx context.Context, r *testcluster.Replica) (stale time.Duration, isKnown bool) {
	var a struct {
		Stale *float64 `json:"stale_seconds"`
	}
	if _, text, err := r.Call(ctx, http.MethodGet, "/readyz", nil); err != nil || json.Unmarshal(text, &a) != nil || a.Stale == nil {
		return 0, false
	}
	return time.Duration(*a.Stale * float64(time.Second)), true
}
