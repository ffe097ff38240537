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

// What is promised of staleness: how much older than /readyz says a replica's models may
// be, and for how long after the network is back.
const (
	unnoticed = 5 * time.Second
	healed    = 5 * time.Second
)

// stale promotes versions at one replica while the network between the other and
// PostgreSQL is whole, and while it is cut: data vanish, and no connection is told.
func stale(ctx context.Context, s *sheet) error {
	cluster, tasks, err := s.open(ctx, testcluster.Config{Replicas: 2})
	if err != nil {
		return err
	}
	defer cluster.Close()
	proxy, err := newProxy(cluster.Postgres.Addr())
	if err != nil {
		return err
	}
	defer proxy.Stop()
	near, far := cluster.Replicas[0], cluster.Replicas[1]
	far.Kill()
	far.Database = testcluster.DSN(proxy.Listen)
	if err := far.Start(ctx); err != nil {
		return err
	}
	if err := modelsAt(ctx, cluster, tasks); err != nil {
		return err
	}
	task := tasks[0]
	if err := train(ctx, near, task); err != nil { // a second version to choose from
		return err
	}
	p := &promoter{near: near, far: far, task: task, version: 2}
	if err := s.whileWhole(ctx, p); err != nil {
		return err
	}
	lengths := []time.Duration{time.Second, 6 * time.Second}
	if s.long {
		lengths = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 12 * time.Second, 30 * time.Second, 60 * time.Second, 120 * time.Second}
	}
	random := rand.New(rand.NewPCG(s.seed, 10))
	for _, length := range lengths {
		for _, stream := range []string{"upstream", "downstream"} {
			cut, err := json.Marshal(map[string]any{"name": "cut", "type": "timeout", "stream": stream, "attributes": map[string]int{"timeout": 0}})
			if err != nil {
				return err
			}
			if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(string(cut))); err != nil {
				return err
			}
			if err := s.whileCut(ctx, p, length, time.Duration(random.Int64N(int64(length)/2)), stream); err != nil {
				return err
			}
			if err := proxy.Toxics.RemoveToxic(ctx, "cut"); err != nil {
				return err
			}
			took, err := p.follows(ctx, time.Minute)
			if err != nil {
				return err
			}
			sure := p.sure(ctx, time.Minute)
			s.tell("cut for %v (%s): the promotion is followed %v after the network is back, and %v later /readyz says below 2 s again",
				length, stream, took.Round(time.Millisecond), sure.Round(time.Millisecond))
			s.hold(took <= healed, "cut for %v (%s): followed only after %v", length, stream, took)
			s.hold(sure <= unnoticed+healed, "cut for %v (%s): /readyz says below 2 s only after another %v", length, stream, sure)
		}
	}
	return nil
}

// promoter activates versions 1 and 2 in turn at the near replica.
type promoter struct {
	near, far *testcluster.Replica
	task      testcluster.Task
	version   int // active
}

func (p *promoter) promote(ctx context.Context) error {
	p.version = 3 - p.version
	_, err := activate(ctx, p.near, p.task, p.version)
	return err
}

// follows waits until the far replica answers by the active version.
func (p *promoter) follows(ctx context.Context, atMost time.Duration) (time.Duration, error) {
	begun := time.Now()
	for {
		now, err := answering(ctx, p.far, p.task)
		if took := time.Since(begun); err != nil || now == p.version || took > atMost {
			return took, err
		}
		time.Sleep(time.Millisecond)
	}
}

// sure waits until the far replica knows again what is stored: it may follow a promotion
// before it can tell that it missed no other.
func (p *promoter) sure(ctx context.Context, atMost time.Duration) time.Duration {
	begun := time.Now()
	for staleness(ctx, p.far) >= 2*time.Second && time.Since(begun) < atMost {
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begun)
}

// whileWhole says how soon a promotion is followed.
func (s *sheet) whileWhole(ctx context.Context, p *promoter) error {
	var took []time.Duration
	for range s.reps(30, 300) {
		if err := p.promote(ctx); err != nil {
			return err
		}
		lag, err := p.follows(ctx, time.Minute)
		if err != nil {
			return err
		}
		took = append(took, lag)
	}
	s.tell("network whole: %d promotions, followed within %v in half of them, %v at most", len(took), quantile(took, 0.5), quantile(took, 1))
	s.hold(quantile(took, 1) <= healed, "a promotion was followed only after %v", quantile(took, 1))
	return nil
}

// asking is how long at least is asked of what was promoted during a cut.
const asking = 500 * time.Millisecond

// whileCut promotes after a while, and asks the far replica until the cut is over. How
// stale it says it is may be less than how stale it is by what goes unnoticed, and
// not more than the cut explains.
func (s *sheet) whileCut(ctx context.Context, p *promoter, length, after time.Duration, stream string) error {
	begun := time.Now()
	time.Sleep(after)
	if err := p.promote(ctx); err != nil {
		return err
	}
	promoted := time.Now()
	asked, old, failed := 0, 0, 0
	var said, worst time.Duration
	lasts := max(length, promoted.Sub(begun)+asking) // a machine that stalls promotes late
	for ; asked == 0 || time.Since(begun) < lasts; time.Sleep(20 * time.Millisecond) {
		asked++
		age := time.Since(promoted)
		now, err := answering(ctx, p.far, p.task)
		if err != nil || now == 0 {
			failed++
			continue
		}
		said = staleness(ctx, p.far)
		if now != p.version {
			old++
			worst = max(worst, age-said)
		}
	}
	lasted := time.Since(begun)
	s.tell("cut for %v (%s), promoted after %v: %d asks, %d failed, %d by the old version; /readyz says %.1f s stale at the end, and said at worst %.1f s too little",
		lasted.Round(time.Millisecond), stream, after.Round(time.Millisecond), asked, failed, old, said.Seconds(), worst.Seconds())
	s.hold(asked > 0 && failed == 0, "%d of %d asks failed during the cut", failed, asked)
	s.hold(old > 0, "no ask was answered by the old version: nothing was cut")
	s.hold(worst <= unnoticed, "a model was stale by %v more than /readyz said", worst)
	s.hold(said <= lasted+unnoticed, "/readyz says %v stale after a cut of %v", said, lasted)
	return nil
}

// staleness is what /readyz says of it.
func staleness(ctx context.Context, r *testcluster.Replica) time.Duration {
	var a struct {
		Stale float64 `json:"stale_seconds"`
	}
	if _, says, err := r.Call(ctx, http.MethodGet, "/readyz", nil); err != nil || json.Unmarshal(says, &a) != nil {
		return 0
	}
	return time.Duration(a.Stale * float64(time.Second))
}
