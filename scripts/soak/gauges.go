package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// gauge is a metric that must not grow in a long-lived process.
type gauge struct {
	name, metric, unit string
	scale              float64 // value of the metric for one unit
	allowed            allowance
}

// callers is the number of concurrent callers. Each of them has at most one connection to a replica, which costs the replica
// one descriptor and two goroutines.
const callers = 16

// gauges allow a growth over the whole time after the warm-up. The heap goal, the size at which the garbage collector starts
// again, is proportional to the live memory, so it finds leaks of the heap. In a short soak it may rise by 2 to 3 %, because the
// models learn the reports. Resident memory finds leaks outside the heap. Resident memory also contains the garbage since the
// last collection, at most a seventh of the heap goal, and reaches its highest value only after many collections. The other
// gauges vary with the number of open connections.
var gauges = []gauge{
	{"heap goal", "go_memstats_next_gc_bytes", "MiB", 1 << 20, allowance{share: 0.05, minimum: 8 << 20}},
	{"memory", "process_resident_memory_bytes", "MiB", 1 << 20, allowance{share: 0.25, minimum: 8 << 20}},
	{"goroutines", "go_goroutines", "", 1, allowance{share: 0.10, minimum: 2 * callers}},
	{"descriptors", "process_open_fds", "", 1, allowance{share: 0.10, minimum: callers}},
}

// series contains the samples of the gauges of one replica.
type series struct {
	admin   string // URL of the admin listener, which serves /metrics
	seconds []float64
	values  map[string][]float64 // by metric
}

func newSeries(admin string) *series { return &series{admin: admin, values: map[string][]float64{}} }

// sample scrapes the gauges until ctx ends. It returns an error if the replica does not answer.
func (s *series) sample(ctx context.Context, interval time.Duration) error {
	started := time.Now()
	for tick := time.NewTicker(interval); ; {
		metrics, err := scrape(s.admin)
		if err != nil {
			return err
		}
		s.seconds = append(s.seconds, time.Since(started).Seconds())
		for _, g := range gauges {
			s.values[g.metric] = append(s.values[g.metric], metrics[g.metric])
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return nil
		}
	}
}

// trend returns the trend of a gauge after the warm-up.
func (s *series) trend(metric string, warmUp time.Duration) Trend {
	from := 0
	for from < len(s.seconds) && s.seconds[from] < warmUp.Seconds() {
		from++
	}
	return fitTrend(s.seconds[from:], s.values[metric][from:])
}

// tenths returns the median of a gauge, in its unit, in each tenth of the time, including the warm-up.
func (s *series) tenths(g gauge) []float64 {
	var tenths []float64
	values := s.values[g.metric]
	for i := range 10 {
		if part := values[i*len(values)/10 : (i+1)*len(values)/10]; len(part) > 0 {
			tenths = append(tenths, median(part)/g.scale)
		}
	}
	return tenths
}

func scrape(admin string) (map[string]float64, error) {
	response, err := http.Get(admin + "/metrics")
	if err != nil {
		return nil, fmt.Errorf("scrape /metrics: %w", err)
	}
	defer response.Body.Close()
	return parseMetrics(response.Body)
}

// parseMetrics returns the metrics of a page by name. It reads only metrics without labels.
func parseMetrics(page io.Reader) (map[string]float64, error) {
	metrics := map[string]float64{}
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		name, text, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") || strings.Contains(name, "{") {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("scrape /metrics: %s: %w", name, err)
		}
		metrics[name] = value
	}
	return metrics, lines.Err()
}
