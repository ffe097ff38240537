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

// gauge is one number that a long-lived process must keep.
type gauge struct {
	name, metric, unit string
	scale              float64
	may                allowance
}

// callers is how many lives are played at once. Each holds at most one connection
// to a replica, which is a descriptor and two goroutines there.
const callers = 16

// The allowances are for the whole of the measured time, whatever its length.
// Resident memory follows the collector and the training under way, so it gets a
// tenth; the others follow how many connections a busy machine happens to need.
var gauges = []gauge{
	{"memory", "process_resident_memory_bytes", "MiB", 1 << 20, allowance{share: 0.10, least: 8 << 20}},
	{"goroutines", "go_goroutines", "", 1, allowance{share: 0.10, least: 2 * callers}},
	{"descriptors", "process_open_fds", "", 1, allowance{share: 0.10, least: callers}},
}

// series is what one replica's gauges said over time.
type series struct {
	admin   string // address of its /metrics
	seconds []float64
	values  map[string][]float64 // by metric
}

func newSeries(admin string) *series { return &series{admin: admin, values: map[string][]float64{}} }

// watch samples every so often until ctx ends. A replica that does not answer is
// an error: it died.
func (s *series) watch(ctx context.Context, every time.Duration) error {
	started := time.Now()
	for tick := time.NewTicker(every); ; {
		read, err := scrape(s.admin)
		if err != nil {
			return err
		}
		s.seconds = append(s.seconds, time.Since(started).Seconds())
		for _, g := range gauges {
			s.values[g.metric] = append(s.values[g.metric], read[g.metric])
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return nil
		}
	}
}

// trend is a gauge's line after the warm-up.
func (s *series) trend(metric string, warm time.Duration) Trend {
	from := 0
	for from < len(s.seconds) && s.seconds[from] < warm.Seconds() {
		from++
	}
	return trendOf(s.seconds[from:], s.values[metric][from:])
}

// tenths are the medians of a gauge in each tenth of the whole time.
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

// scrape reads the values without labels of a page in the Prometheus text format.
func scrape(admin string) (map[string]float64, error) {
	response, err := http.Get(admin + "/metrics")
	if err != nil {
		return nil, fmt.Errorf("read the gauges: %w", err)
	}
	defer response.Body.Close()
	return parseMetrics(response.Body)
}

func parseMetrics(page io.Reader) (map[string]float64, error) {
	read := map[string]float64{}
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		name, text, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") || strings.Contains(name, "{") {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("read the gauges: %s: %w", name, err)
		}
		read[name] = value
	}
	return read, lines.Err()
}
