package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// poison is one toxic, from weak to strong, in toxiproxy's own terms: milliseconds,
// KB/s, bytes.
type poison struct {
	kind      string
	strengths [3]map[string]int
}

var poisons = []poison{
	{"latency", [3]map[string]int{{"latency": 50, "jitter": 20}, {"latency": 500, "jitter": 100}, {"latency": 3000}}},
	{"bandwidth", [3]map[string]int{{"rate": 1000}, {"rate": 50}, {"rate": 1}}},
	{"slow_close", [3]map[string]int{{"delay": 100}, {"delay": 1000}, {"delay": 5000}}},
	{"timeout", [3]map[string]int{{"timeout": 2000}, {"timeout": 300}, {"timeout": 0}}}, // 0: silence for ever
	{"reset_peer", [3]map[string]int{{"timeout": 1000}, {"timeout": 100}, {"timeout": 0}}},
	{"slicer", [3]map[string]int{{"average_size": 512, "size_variation": 100, "delay": 100}, {"average_size": 64, "size_variation": 16, "delay": 1000}, {"average_size": 8, "size_variation": 4, "delay": 2000}}},
	{"limit_data", [3]map[string]int{{"bytes": 100_000}, {"bytes": 5_000}, {"bytes": 50}}},
}

// silence is the strongest timeout, which is held longer than any call may take.
func (p *poison) silence(strength int) bool { return p.kind == "timeout" && strength == 2 }

// toxics puts each toxic between one replica and PostgreSQL, in each direction.
func toxics(ctx context.Context, s *sheet) error {
	port, err := testcluster.FreePort()
	if err != nil {
		return err
	}
	proxy, err := newProxy(net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	defer proxy.Stop()
	cluster, tasks, err := s.open(ctx, testcluster.Config{Database: testcluster.DSN(proxy.Listen), Postgres: testcluster.PostgresConfig{Port: port}})
	if err != nil {
		return err
	}
	defer cluster.Close()
	var slowest time.Duration
	count := 0
	for _, p := range poisons {
		for strength := range p.strengths {
			if !s.long && strength == 0 || !s.long && strength == 1 && p.kind != "slicer" {
				continue // the strongest stands for all in the short form
			}
			for _, stream := range []string{"upstream", "downstream"} {
				healed, err := s.poisoned(ctx, cluster, tasks, proxy, &p, strength, stream)
				if err != nil {
					return err
				}
				slowest, count = max(slowest, healed), count+1
			}
		}
	}
	s.tell("%d toxics; healed within %v at worst", count, slowest.Round(time.Millisecond))
	s.balance(ctx, "toxics", cluster)
	return nil
}

// poisoned holds one toxic for a while under load, takes it away, and returns how
// long it took until reports were taken again.
func (s *sheet) poisoned(ctx context.Context, cluster *testcluster.Cluster, tasks []testcluster.Task, proxy *toxiproxy.Proxy, p *poison, strength int, stream string) (time.Duration, error) {
	name := fmt.Sprintf("%s %v %s", p.kind, p.strengths[strength], stream)
	toxic, err := json.Marshal(map[string]any{"name": "fault", "type": p.kind, "stream": stream, "attributes": p.strengths[strength]})
	if err != nil {
		return 0, err
	}
	load, asker := s.traffic(cluster, tasks, fmt.Sprintf("%s%d%s", p.kind, strength, stream[:1])), s.asker(cluster, tasks)
	load.start(ctx, 6)
	time.Sleep(200 * time.Millisecond)
	if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(string(toxic))); err != nil {
		return 0, err
	}
	hold := time.Duration(s.reps(600, 2500)) * time.Millisecond
	if p.silence(strength) && (s.long || stream == "upstream") {
		hold = 12 * time.Second
	}
	for until := time.Now().Add(hold); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		asker.ask(ctx)
	}
	if err := proxy.Toxics.RemoveToxic(ctx, "fault"); err != nil {
		return 0, err
	}
	healed, err := whole(ctx, cluster, asker)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	seen := load.stop()
	s.tell("%-60s healed %6v; asks %d, p99 %v, max %v; %d reports acked (max %v), %d refused, late %d", name, healed.Round(time.Millisecond),
		asker.asked+seen.Predicted, quantile(asker.took, 0.99), quantile(asker.took, 1), seen.Observed, quantile(seen.observeTook, 1), seen.Refused, seen.Late)
	s.hold(healed <= 5*time.Second, "%s: healed only after %v", name, healed)
	s.hold(asker.failed == 0, "%s: %d asks were not answered by a model: %s", name, asker.failed, asker.first)
	s.hold(seen.Late+seen.Failed+seen.Rude+seen.Broken+seen.Unacked+seen.PredictRefused == 0, "%s: %v", name, &seen)
	return healed, nil
}

// newProxy is a TCP proxy to upstream on a free port of loopback.
func newProxy(upstream string) (*toxiproxy.Proxy, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // its toxics write a trace of their own
	log := zerolog.Nop()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), log)
	proxy := toxiproxy.NewProxy(server, "postgres", "127.0.0.1:0", upstream)
	return proxy, proxy.Start()
}
