package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// killReplica kills one of two replicas again and again, at moments drawn from the
// seed, while callers go on at the other.
func killReplica(ctx context.Context, s *sheet) error {
	cluster, tasks, err := s.open(ctx, testcluster.Config{Replicas: 2})
	if err != nil {
		return err
	}
	defer cluster.Close()
	load := s.traffic(cluster, tasks, "kill")
	load.start(ctx, 8)
	random := rand.New(rand.NewPCG(s.seed, 6))
	var slowest time.Duration
	kills := s.reps(8, 200)
	for i := range kills {
		time.Sleep(time.Duration(50+random.IntN(450)) * time.Millisecond)
		victim := cluster.Replicas[i%2]
		victim.Kill()
		begun := time.Now()
		if err := victim.Start(ctx); err != nil {
			return err
		}
		slowest = max(slowest, time.Since(begun))
	}
	seen := load.stop()
	s.tell("kill -9 of a replica: %d times, ready again within %v at worst", kills, slowest.Round(time.Millisecond))
	s.hold(slowest < 10*time.Second, "a replica took %v to be ready", slowest)
	s.settle(ctx, "kill-replica", seen, cluster)
	return nil
}

// killPostgres kills the postmaster under load, leaves it away for a moment, and
// starts it again. Asks must go on meanwhile.
func killPostgres(ctx context.Context, s *sheet) error {
	cluster, tasks, err := s.open(ctx, testcluster.Config{Replicas: 2})
	if err != nil {
		return err
	}
	defer cluster.Close()
	load := s.traffic(cluster, tasks, "pg")
	load.start(ctx, 8)
	asker := s.asker(cluster, tasks)
	random := rand.New(rand.NewPCG(s.seed, 7))
	var slowest time.Duration
	kills := s.reps(5, 100)
	for range kills {
		time.Sleep(time.Duration(100+random.IntN(300)) * time.Millisecond)
		cluster.Postgres.Kill()
		for until := time.Now().Add(time.Duration(100+random.IntN(500)) * time.Millisecond); time.Now().Before(until); {
			asker.ask(ctx)
		}
		if err := cluster.Postgres.Start(ctx); err != nil {
			return err
		}
		took, err := whole(ctx, cluster, asker)
		if err != nil {
			return err
		}
		slowest = max(slowest, took)
	}
	seen := load.stop()
	s.tell("kill -9 of PostgreSQL: %d times; reports are taken again by every replica %v after it is back, at worst", kills, slowest.Round(time.Millisecond))
	s.hold(slowest <= 10*time.Second, "reports were taken again only %v after PostgreSQL was back", slowest)
	asker.judge(s, "while PostgreSQL was away")
	s.settle(ctx, "kill-postgres", seen, cluster)
	s.hold(seen.Broken == 0 && seen.PredictRefused == 0, "kill-postgres: %d calls broke off, %d asks were refused", seen.Broken, seen.PredictRefused)
	return nil
}

// open opens a cluster with two tasks whose models answer at every replica.
func (s *sheet) open(ctx context.Context, cfg testcluster.Config) (*testcluster.Cluster, []testcluster.Task, error) {
	cfg.Binary = s.binary
	cluster, err := testcluster.Open(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	tasks, err := cluster.Fill(ctx, testcluster.History{Tasks: 2, Runs: 150, Seed: s.seed})
	if err == nil {
		err = modelsAt(ctx, cluster, tasks)
	}
	if err != nil {
		cluster.Close()
		return nil, nil, err
	}
	return cluster, tasks, nil
}

// modelsAt waits until every replica answers by a model of each task: that it knows of
// one does not say that it has opened it.
func modelsAt(ctx context.Context, cluster *testcluster.Cluster, tasks []testcluster.Task) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, r := range cluster.Replicas {
		for _, task := range tasks {
			for version, err := answering(ctx, r, task); err != nil || version == 0; version, err = answering(ctx, r, task) {
				if ctx.Err() != nil {
					return fmt.Errorf("%s never answered by a model of %s: %w", r.URL, task.Task, errors.Join(err, ctx.Err()))
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	return nil
}

// traffic is unhurried callers of all replicas of a cluster.
func (s *sheet) traffic(cluster *testcluster.Cluster, tasks []testcluster.Task, label string) *traffic {
	return &traffic{
		urls: addresses(cluster.Replicas), ledger: cluster.Ledger, tasks: tasks, seed: s.seed, label: label,
		pause: 5 * time.Millisecond, patient: true,
	}
}

// readyAnswer is the body of /readyz.
type readyAnswer struct {
	code    int
	Status  string `json:"status"`
	Observe string `json:"observe"`
}

func readiness(ctx context.Context, r *testcluster.Replica) (a readyAnswer) {
	code, says, err := r.Call(ctx, http.MethodGet, "/readyz", nil)
	if err != nil || json.Unmarshal(says, &a) != nil {
		return readyAnswer{}
	}
	a.code = code
	return a
}

// asker asks while reports cannot be stored: each ask must be answered by a model.
type asker struct {
	cluster *testcluster.Cluster
	tasks   []testcluster.Task
	random  *rand.Rand
	asked   int
	failed  int
	first   string
	took    []time.Duration
}

func (s *sheet) asker(cluster *testcluster.Cluster, tasks []testcluster.Task) *asker {
	return &asker{cluster: cluster, tasks: tasks, random: rand.New(rand.NewPCG(s.seed, 8))}
}

// ask asks every replica once.
func (a *asker) ask(ctx context.Context) {
	for _, r := range a.cluster.Replicas {
		var answer struct {
			Source string `json:"source"`
		}
		body := testcluster.PredictBody(a.random, a.tasks[a.random.IntN(len(a.tasks))], "")
		begun := time.Now()
		code, says, err := r.Call(ctx, http.MethodPost, "/predict", body)
		a.asked++
		a.took = append(a.took, time.Since(begun))
		if err != nil || code != http.StatusOK || json.Unmarshal(says, &answer) != nil || answer.Source != "model" {
			a.failed++
			if a.first == "" {
				a.first = fmt.Sprintf("%d %.300s %v", code, says, err)
			}
		}
	}
}

func (a *asker) judge(s *sheet, when string) {
	s.tell("asks %s: %d, not answered by a model: %d, p99 %v, max %v", when, a.asked, a.failed, quantile(a.took, 0.99), quantile(a.took, 1))
	s.hold(a.asked > 0 && a.failed == 0, "%d of %d asks %s were not answered by a model: %s", a.failed, a.asked, when, a.first)
}

// whole waits until every replica takes a report and /readyz says so, asking on
// meanwhile, and returns how long that took.
func whole(ctx context.Context, cluster *testcluster.Cluster, a *asker) (time.Duration, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, r := range cluster.Replicas {
		for try := 0; ; try++ {
			o := testcluster.DrawRun(a.random, a.tasks[0], fmt.Sprintf("whole-%d-%d", time.Now().UnixNano(), try))
			cluster.Ledger.RecordSent(o)
			if code, _, _ := r.Call(ctx, http.MethodPost, "/observe", o); code == http.StatusOK {
				cluster.Ledger.RecordAcked(o)
				break
			}
			if ctx.Err() != nil {
				return 0, fmt.Errorf("%s takes no reports a minute after the fault ended", r.URL)
			}
			a.ask(ctx)
			time.Sleep(20 * time.Millisecond)
		}
	}
	took := time.Since(begun)
	for _, r := range cluster.Replicas {
		for readiness(ctx, r).Observe != "ok" {
			if ctx.Err() != nil {
				return 0, fmt.Errorf("%s takes reports, and /readyz does not say so", r.URL)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return max(took, time.Since(begun)), nil
}
