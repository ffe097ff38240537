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

// toxicCase is a network fault of toxiproxy with three sets of attributes, from weak to strong. The units are those of
// toxiproxy: milliseconds (microseconds for the delay of the slicer), KB/s and bytes.
type toxicCase struct {
	kind      string
	strengths [3]map[string]int
}

var toxicCases = []toxicCase{
	{"latency", [3]map[string]int{{"latency": 50, "jitter": 20}, {"latency": 500, "jitter": 100}, {"latency": 3000}}},
	{"bandwidth", [3]map[string]int{{"rate": 1000}, {"rate": 50}, {"rate": 1}}},
	{"slow_close", [3]map[string]int{{"delay": 100}, {"delay": 1000}, {"delay": 5000}}},
	{"timeout", [3]map[string]int{{"timeout": 2000}, {"timeout": 300}, {"timeout": 0}}}, // 0: no data until the toxic is removed
	{"reset_peer", [3]map[string]int{{"timeout": 1000}, {"timeout": 100}, {"timeout": 0}}},
	{"slicer", [3]map[string]int{{"average_size": 512, "size_variation": 100, "delay": 100}, {"average_size": 64, "size_variation": 16, "delay": 1000}, {"average_size": 8, "size_variation": 4, "delay": 2000}}},
	{"limit_data", [3]map[string]int{{"bytes": 100_000}, {"bytes": 5_000}, {"bytes": 50}}},
}

// isSilence reports whether no data passes until the toxic is removed.
func (p *toxicCase) isSilence(strength int) bool { return p.kind == "timeout" && strength == 2 }

// trialToxics puts each toxic between one replica and PostgreSQL, in each direction.
func trialToxics(ctx context.Context, tr *trialRun) error {
	port, err := testcluster.FreePort()
	if err != nil {
		return err
	}
	proxy, err := newProxy(net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	defer proxy.Stop()
	cluster, tasks, err := tr.openCluster(ctx, testcluster.Config{Database: testcluster.DSN(proxy.Listen), Postgres: testcluster.PostgresConfig{Port: port}})
	if err != nil {
		return err
	}
	defer cluster.Close()
	var slowest time.Duration
	count := 0
	for _, toxic := range toxicCases {
		for strength := range toxic.strengths {
			if !tr.long && strength == 0 || !tr.long && strength == 1 && toxic.kind != "slicer" {
				continue // the short form runs only the strongest attributes; of the slicer, the two strongest
			}
			for _, stream := range []string{"upstream", "downstream"} {
				recovered, err := tr.runToxic(ctx, cluster, tasks, proxy, &toxic, strength, stream)
				if err != nil {
					return err
				}
				slowest, count = max(slowest, recovered), count+1
			}
		}
	}
	tr.printf("%d toxics; recovered within %v at worst", count, slowest.Round(time.Millisecond))
	tr.checkReports(ctx, "toxics", cluster)
	return nil
}

// runToxic applies one toxic under load, and returns the time from its removal until every replica accepts reports again and
// its /readyz says so.
func (tr *trialRun) runToxic(ctx context.Context, cluster *testcluster.Cluster, tasks []testcluster.Task, proxy *toxiproxy.Proxy, toxic *toxicCase, strength int, stream string) (time.Duration, error) {
	name := fmt.Sprintf("%s %v %s", toxic.kind, toxic.strengths[strength], stream)
	encoded, err := json.Marshal(map[string]any{"name": "fault", "type": toxic.kind, "stream": stream, "attributes": toxic.strengths[strength]})
	if err != nil {
		return 0, err
	}
	load, prober := tr.newTraffic(cluster, tasks, fmt.Sprintf("%s%d%s", toxic.kind, strength, stream[:1])), tr.newProber(cluster, tasks)
	load.start(ctx, 6)
	time.Sleep(200 * time.Millisecond)
	if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(string(encoded))); err != nil {
		return 0, err
	}
	length := time.Duration(tr.repetitions(600, 2500)) * time.Millisecond
	if toxic.isSilence(strength) && (tr.long || stream == "upstream") {
		length = 12 * time.Second // longer than the deadline of every call
	}
	for until := time.Now().Add(length); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		prober.probe(ctx)
	}
	if err := proxy.Toxics.RemoveToxic(ctx, "fault"); err != nil {
		return 0, err
	}
	recovered, err := waitRecovered(ctx, cluster, prober)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	counts := load.stop()
	tr.printf("%-60s recovered in %6v; predictions %d (those of the prober: p99 %v, max %v); %d reports acked (max %v), %d rejected, late %d", name, recovered.Round(time.Millisecond),
		prober.sent+counts.Predicted, quantile(prober.times, 0.99), quantile(prober.times, 1), counts.Observed, quantile(counts.observeTimes, 1), counts.Rejected, counts.Late)
	tr.check(recovered <= 5*time.Second, "%s: recovered only after %v", name, recovered)
	tr.check(prober.failed == 0, "%s: %d predictions were not from a model: %s", name, prober.failed, prober.firstFailure)
	tr.check(counts.Late+counts.Failed+counts.NoRetryAfter+counts.NoAnswer+counts.Unacked+counts.PredictRejected == 0, "%s: %v", name, &counts)
	return recovered, nil
}

// newProxy starts a proxy of toxiproxy on a free port of loopback.
func newProxy(upstream string) (*toxiproxy.Proxy, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // the toxics write to the global logger
	log := zerolog.Nop()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), log)
	proxy := toxiproxy.NewProxy(server, "postgres", "127.0.0.1:0", upstream)
	return proxy, proxy.Start()
}
