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

// trialKillReplica kills two replicas in turn at random times and starts each again. The callers continue with the other
// replica.
func trialKillReplica(ctx context.Context, tr *trialRun) error {
	cluster, tasks, err := tr.openCluster(ctx, testcluster.Config{Replicas: 2})
	if err != nil {
		return err
	}
	defer cluster.Close()
	load := tr.newTraffic(cluster, tasks, "kill")
	load.start(ctx, 8)
	random := rand.New(rand.NewPCG(tr.seed, 6))
	var slowest time.Duration
	kills := tr.repetitions(8, 200)
	for i := range kills {
		time.Sleep(time.Duration(50+random.IntN(450)) * time.Millisecond)
		victim := cluster.Replicas[i%2]
		victim.Kill()
		start := time.Now()
		if err := victim.Start(ctx); err != nil {
			return err
		}
		slowest = max(slowest, time.Since(start))
	}
	counts := load.stop()
	tr.printf("kill -9 of a replica: %d times, ready again within %v at worst", kills, slowest.Round(time.Millisecond))
	tr.check(slowest < 10*time.Second, "a replica took %v to be ready", slowest)
	tr.checkTraffic(ctx, "kill-replica", counts, cluster)
	return nil
}

// trialKillPostgres kills the postmaster under load and starts it again after a moment. Predictions must continue meanwhile.
func trialKillPostgres(ctx context.Context, tr *trialRun) error {
	cluster, tasks, err := tr.openCluster(ctx, testcluster.Config{Replicas: 2})
	if err != nil {
		return err
	}
	defer cluster.Close()
	load := tr.newTraffic(cluster, tasks, "pg")
	load.start(ctx, 8)
	prober := tr.newProber(cluster, tasks)
	random := rand.New(rand.NewPCG(tr.seed, 7))
	var slowest time.Duration
	kills := tr.repetitions(5, 100)
	for range kills {
		time.Sleep(time.Duration(100+random.IntN(300)) * time.Millisecond)
		cluster.Postgres.Kill()
		for until := time.Now().Add(time.Duration(100+random.IntN(500)) * time.Millisecond); time.Now().Before(until); {
			prober.probe(ctx)
		}
		if err := cluster.Postgres.Start(ctx); err != nil {
			return err
		}
		took, err := waitRecovered(ctx, cluster, prober)
		if err != nil {
			return err
		}
		slowest = max(slowest, took)
	}
	counts := load.stop()
	tr.printf("kill -9 of PostgreSQL: %d times; every replica accepts reports again %v after the restart, at worst", kills, slowest.Round(time.Millisecond))
	tr.check(slowest <= 10*time.Second, "reports were accepted again only %v after the restart of PostgreSQL", slowest)
	prober.check(tr, "while PostgreSQL was down")
	tr.checkTraffic(ctx, "kill-postgres", counts, cluster)
	tr.check(counts.NoAnswer == 0 && counts.PredictRejected == 0, "kill-postgres: %d calls got no answer, %d predictions were rejected", counts.NoAnswer, counts.PredictRejected)
	return nil
}

// openCluster opens a cluster with two tasks and waits until their models answer at every replica.
func (tr *trialRun) openCluster(ctx context.Context, cfg testcluster.Config) (*testcluster.Cluster, []testcluster.Task, error) {
	cfg.Binary = tr.binary
	cluster, err := testcluster.Open(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	tasks, err := cluster.Fill(ctx, testcluster.History{Tasks: 2, Runs: 150, Seed: tr.seed})
	if err == nil {
		err = waitForModels(ctx, cluster, tasks)
	}
	if err != nil {
		cluster.Close()
		return nil, nil, err
	}
	return cluster, tasks, nil
}

// waitForModels waits until every replica answers from a model of each task. A replica may know a version before it has
// loaded the model.
func waitForModels(ctx context.Context, cluster *testcluster.Cluster, tasks []testcluster.Task) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, r := range cluster.Replicas {
		for _, task := range tasks {
			for version, err := answeringVersion(ctx, r, task); err != nil || version == 0; version, err = answeringVersion(ctx, r, task) {
				if ctx.Err() != nil {
					return fmt.Errorf("wait for models: %s never answered from a model of %s: %w", r.URL, task.Task, errors.Join(err, ctx.Err()))
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	return nil
}

func (tr *trialRun) newTraffic(cluster *testcluster.Cluster, tasks []testcluster.Task, label string) *traffic {
	return &traffic{
		urls: addresses(cluster.Replicas), reports: cluster.Reports, tasks: tasks, seed: tr.seed, label: label,
		pause: 5 * time.Millisecond, expectsNoAnswer: true,
	}
}

type readyAnswer struct {
	code    int    // HTTP status
	Status  string `json:"status"`
	Observe string `json:"observe"` // whether reports can be stored: "ok" or "unavailable"
}

// readiness returns the answer of /readyz. It returns the zero value if there is no answer, or if the answer is not JSON.
func readiness(ctx context.Context, r *testcluster.Replica) (a readyAnswer) {
	code, answer, err := r.Call(ctx, http.MethodGet, "/readyz", nil)
	if err != nil || json.Unmarshal(answer, &a) != nil {
		return readyAnswer{}
	}
	a.code = code
	return a
}

// prober sends prediction requests during a fault. A model must answer each of them.
type prober struct {
	cluster      *testcluster.Cluster
	tasks        []testcluster.Task
	random       *rand.Rand
	sent         int
	failed       int // requests that no model answered
	firstFailure string
	times        []time.Duration
}

func (tr *trialRun) newProber(cluster *testcluster.Cluster, tasks []testcluster.Task) *prober {
	return &prober{cluster: cluster, tasks: tasks, random: rand.New(rand.NewPCG(tr.seed, 8))}
}

func (p *prober) probe(ctx context.Context) {
	for _, r := range p.cluster.Replicas {
		var answer struct {
			Source string `json:"source"`
		}
		body := testcluster.PredictBody(p.random, p.tasks[p.random.IntN(len(p.tasks))], "")
		start := time.Now()
		code, text, err := r.Call(ctx, http.MethodPost, "/predict", body)
		p.sent++
		p.times = append(p.times, time.Since(start))
		if err != nil || code != http.StatusOK || json.Unmarshal(text, &answer) != nil || answer.Source != "model" {
			p.failed++
			if p.firstFailure == "" {
				p.firstFailure = fmt.Sprintf("status %d %.300s %v", code, text, err)
			}
		}
	}
}

// check checks that a model answered each request. The argument `when` describes the time of the requests in the texts.
func (p *prober) check(tr *trialRun, when string) {
	tr.printf("predictions %s: %d, not from a model: %d, p99 %v, max %v", when, p.sent, p.failed, quantile(p.times, 0.99), quantile(p.times, 1))
	tr.check(p.sent > 0 && p.failed == 0, "%d of %d predictions %s were not from a model: %s", p.failed, p.sent, when, p.firstFailure)
}

// waitRecovered returns the time until every replica accepts a report and its /readyz says so. Meanwhile it sends prediction
// requests.
func waitRecovered(ctx context.Context, cluster *testcluster.Cluster, p *prober) (time.Duration, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, r := range cluster.Replicas {
		for try := 0; ; try++ {
			o := testcluster.DrawRun(p.random, p.tasks[0], fmt.Sprintf("recovery-%d-%d", time.Now().UnixNano(), try))
			cluster.Reports.RecordSent(o)
			if code, _, _ := r.Call(ctx, http.MethodPost, "/observe", o); code == http.StatusOK {
				cluster.Reports.RecordAcked(o)
				break
			}
			if ctx.Err() != nil {
				return 0, fmt.Errorf("wait for %s: it accepts no reports one minute after the fault", r.URL)
			}
			p.probe(ctx)
			time.Sleep(20 * time.Millisecond)
		}
	}
	for _, r := range cluster.Replicas {
		for readiness(ctx, r).Observe != "ok" {
			if ctx.Err() != nil {
				return 0, fmt.Errorf("wait for %s: it accepts reports but /readyz does not say so", r.URL)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return time.Since(start), nil
}
