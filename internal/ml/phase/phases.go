package phase

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/kmeans"
)

// Config configures Discover. The zero value encodes windows by a conditional restricted Boltzmann
// machine (CRBM, the type Machine).
type Config struct {
	Raw       bool     // cluster the windows themselves instead of their codes
	Training  Training // of the CRBM
	MinPhases int      // smallest number of phases to try; 2 if zero
	MaxPhases int      // largest number of phases to try; 8 if zero
	MinDwell  int      // least number of steps of a visit to a phase: shorter visits count as noise; 3 if zero
	Windows   int      // largest number of windows to learn from, evenly spaced; 4000 if zero
}

func (c Config) withDefaults() Config {
	c.Training = c.Training.withDefaults()
	setDefault(&c.MinPhases, 2)
	setDefault(&c.MaxPhases, 8)
	setDefault(&c.MinDwell, 3)
	setDefault(&c.Windows, 4000)
	return c
}

// minSilhouette is the simplified silhouette (see kmeans.Result.Silhouette) below which the series count as one phase. A
// larger value accepts only phases that differ more.
const minSilhouette = 0.4

// Model labels the steps of series with phases.
type Model struct {
	Scaling    scaling
	Delay      int            // see Training
	MinDwell   int            // see Config
	Machine    *Machine       // the CRBM; nil: the windows themselves are clustered
	Clusters   *kmeans.Result // one cluster of codes (or windows) per phase
	Silhouette float64        // simplified silhouette of Clusters; 0 for one phase
	Phases     []Statistics   // by phase
}

// Statistics describes the steps of one phase.
type Statistics struct {
	Steps         int
	Mean, SD, Max []float64 // by channel, in the unit of the series; SD is the standard deviation
}

// Discover finds the phases of some runs of one task. It chooses the number of phases whose partition has the
// largest simplified silhouette, and one phase if no partition reaches minSilhouette. It returns
// ErrShape without series or if the first series is empty.
func Discover(all []Series, c Config) (*Model, error) {
	c = c.withDefaults()
	if len(all) == 0 || len(all[0]) == 0 {
		return nil, fmt.Errorf("%w: no series", ErrShape)
	}
	m := &Model{Scaling: newScaling(all), Delay: c.Training.Delay, MinDwell: c.MinDwell}
	var windows [][]float64
	for _, s := range all {
		windows = append(windows, m.Scaling.windows(s, m.Delay)...)
	}
	windows = thin(windows, c.Windows)
	if !c.Raw {
		machine, err := Train(windows, len(m.Scaling.Mean), c.Training)
		if err != nil {
			return nil, err
		}
		m.Machine = machine
	}
	if err := m.cluster(windows, c); err != nil {
		return nil, err
	}
	m.describe(all)
	return m, nil
}

func thin(windows [][]float64, n int) [][]float64 {
	if len(windows) <= n {
		return windows
	}
	thinned := make([][]float64, n)
	for i := range thinned {
		thinned[i] = windows[i*len(windows)/n]
	}
	return thinned
}

func (m *Model) cluster(windows [][]float64, c Config) error {
	codes := make([][]float64, len(windows))
	for i, w := range windows {
		codes[i] = m.encode(w)
	}
	for k := c.MinPhases; k <= c.MaxPhases; k++ {
		found, err := kmeans.Fit(codes, nil, kmeans.Config{K: k, Seed: c.Training.Seed})
		if err != nil {
			return fmt.Errorf("cluster windows: %w", err)
		}
		if s := found.Silhouette(codes, nil); s > m.Silhouette || m.Clusters == nil {
			m.Silhouette, m.Clusters = s, found
		}
	}
	if m.Silhouette >= minSilhouette {
		return nil
	}
	one, err := kmeans.Fit(codes, nil, kmeans.Config{K: 1, Seed: c.Training.Seed})
	if err != nil {
		return fmt.Errorf("cluster windows: %w", err)
	}
	m.Silhouette, m.Clusters = 0, one
	return nil
}

func (m *Model) encode(window []float64) []float64 {
	if m.Machine == nil {
		return window
	}
	return m.Machine.Encode(window)
}

// IsUsable reports whether the parts of a decoded model have matching sizes and fit series with this number of channels.
func (m *Model) IsUsable(channels int) bool {
	code := channels * (m.Delay + 1)
	if n := m.Machine; n != nil {
		if !n.isUsable() || n.Visible != channels || n.Delay != m.Delay {
			return false
		}
		code = n.Hidden
	}
	return m.Delay >= 0 && len(m.Scaling.Mean) == channels && len(m.Scaling.SD) == channels &&
		m.Clusters != nil && len(m.Clusters.Centroids) == len(m.Phases) &&
		!slices.ContainsFunc(m.Clusters.Centroids, func(c []float64) bool { return len(c) != code })
}

// Label returns the phase of each step, as an index of Phases. A visit (consecutive steps in one phase)
// that is shorter than MinDwell gets the phase of the visit before it. Short visits at the start of the series get the
// phase of the first visit that is long enough. If every visit is too short, none changes.
func (m *Model) Label(series Series) []int {
	windows := m.Scaling.windows(series, m.Delay)
	labels := make([]int, len(series))
	offset := len(series) - len(windows)
	for i, w := range windows {
		labels[offset+i], _ = m.Clusters.Nearest(m.encode(w))
	}
	for i := range min(offset, len(labels)) {
		labels[i] = labels[offset]
	}
	smooth(labels, m.MinDwell)
	return labels
}

// smooth merges visits with fewer than `least` steps into their neighbours; see Label.
func smooth(labels []int, least int) {
	before := -1
	for from := 0; from < len(labels); {
		to := from + 1
		for to < len(labels) && labels[to] == labels[from] {
			to++
		}
		if to-from >= least || from == 0 && to == len(labels) {
			if before < 0 {
				for i := range from {
					labels[i] = labels[from]
				}
			}
			before = labels[from]
		} else if before >= 0 {
			for i := from; i < to; i++ {
				labels[i] = before
			}
		}
		from = to
	}
}

func (m *Model) describe(all []Series) {
	channels := len(m.Scaling.Mean)
	m.Phases = make([]Statistics, len(m.Clusters.Centroids))
	for p := range m.Phases {
		m.Phases[p] = Statistics{Mean: make([]float64, channels), SD: make([]float64, channels), Max: make([]float64, channels)}
	}
	for _, series := range all {
		for i, label := range m.Label(series) {
			m.Phases[label].add(series[i])
		}
	}
	for p := range m.Phases {
		for c, squares := range m.Phases[p].SD {
			m.Phases[p].SD[c] = math.Sqrt(squares / math.Max(1, float64(m.Phases[p].Steps)))
		}
	}
}

// add adds one step. Until the end of describe, SD holds sums of squared deviations (Welford 1962).
func (s *Statistics) add(row []float64) {
	s.Steps++
	for c, v := range row {
		d := v - s.Mean[c]
		s.Mean[c] += d / float64(s.Steps)
		s.SD[c] += d * (v - s.Mean[c])
		s.Max[c] = max(s.Max[c], v)
	}
}
