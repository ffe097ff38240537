package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// maxSoakGrowth is the largest allowed ratio of the resident memory in the last third of a soak to that in the second third,
// both medians of samples. A larger value would hide slow leaks.
const maxSoakGrowth = 1.02

// soak requests predictions for random tasks during m.length. The first third of the time is warm-up. It returns an error if
// a prediction fails or if the resident memory grows by more than maxSoakGrowth allows.
func (m *measurement) soak(ctx context.Context) error {
	var resident [3][]float64 // MiB
	m.hits, m.misses, m.sources = nil, nil, nil
	start := time.Now()
	for sampled := start; time.Since(start) < m.length; {
		if err := m.ask(ctx, m.random.IntN(m.copies)); err != nil {
			return fmt.Errorf("after %v: %w", time.Since(start).Round(time.Second), err)
		}
		if time.Since(sampled) < m.length/300 {
			continue
		}
		sampled = time.Now()
		v, err := scrape(m.replicas[0].Admin)
		if err != nil {
			return err
		}
		third := min(2, int(3*time.Since(start)/m.length))
		resident[third] = append(resident[third], v["process_resident_memory_bytes"]/(1<<20))
	}
	before, after := median(resident[1]), median(resident[2])
	fmt.Printf("predictions during %v, for tasks drawn at random from %d: answers by source %v, none failed\n", m.length, m.copies, m.sources)
	fmt.Printf("model decoded: %s; in memory: %s\n", quantiles(m.misses), quantiles(m.hits))
	fmt.Printf("resident memory, median: %.0f MiB in the second third, %.0f MiB in the last; largest since the first prediction: %.0f MiB\n", before, after, m.peak)
	if after > maxSoakGrowth*before {
		return errors.New("the resident memory grows")
	}
	return nil
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
