package main

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// metricsClient does not ask for compression, because compressing /metrics would take more time than an answer of the service.
var metricsClient = http.Client{Transport: &http.Transport{DisableCompression: true}}

// scrape returns the metrics of a replica by name. It reads only metrics without labels.
func scrape(admin string) (map[string]float64, error) {
	response, err := metricsClient.Get(admin + "/metrics") //nolint:noctx // the address is local
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	values := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, text, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") || strings.Contains(name, "{") {
			continue
		}
		if values[name], err = strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("scrape /metrics: %s: %w", name, err)
		}
	}
	return values, lines.Err()
}

// print prints one line of figures for each replica. Each line begins with `when`, such as "after the questions".
func (m *measurement) print(when string) error {
	const mib = 1 << 20
	for i, replica := range m.replicas {
		v, err := scrape(replica.Admin)
		if err != nil {
			return err
		}
		fmt.Printf("%s, replica %d: resident %.0f MiB, heap allocated %.0f MiB, models %.1f of at most %.0f MiB; %.0f hits, %.0f misses, %.0f evictions\n", when, i+1,
			v["process_resident_memory_bytes"]/mib, v["go_memstats_heap_alloc_bytes"]/mib, v["loadaware_model_memory_bytes"]/mib, v["loadaware_model_memory_limit_bytes"]/mib,
			v["loadaware_model_hits_total"], v["loadaware_model_misses_total"], v["loadaware_model_evictions_total"])
	}
	return nil
}

func quantiles(d []time.Duration) string {
	if len(d) == 0 {
		return "no questions"
	}
	slices.Sort(d)
	at := func(q float64) float64 { return millis(d[min(len(d)-1, int(q*float64(len(d))))]) }
	return fmt.Sprintf("%d questions, median %.1f ms, p90 %.1f, p99 %.1f, max %.1f", len(d), at(.5), at(.9), at(.99), at(1))
}

func millis(d time.Duration) float64 { return d.Seconds() * 1000 }
