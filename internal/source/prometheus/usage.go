package prometheus

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Sources of a memory peak.
const (
	// WorkingSet is the maximum of container_memory_working_set_bytes, the usage without the page cache that the
	// kernel reclaims first. It misses spikes between scrapes.
	WorkingSet = "container_memory_working_set_bytes"
	// MaxUsage is container_memory_max_usage_bytes, for pods without samples of the
	// working set. It misses only a rise after the last scrape, but includes the page cache.
	MaxUsage = "container_memory_max_usage_bytes"
)

// Usage is the usage of one pod, as far as it was scraped. Zero fields are unknown; OOMEvents and
// Restarts are also 0 if there were none.
type Usage struct {
	Found     bool   // at least one sample belongs to this pod
	Missing   string // why the peak is unknown; empty if it is known
	Namespace string // Kubernetes namespace
	Pod       string

	PeakMemory     sizing.Bytes  // as measured by Source
	Source         string        // WorkingSet or MaxUsage; empty if PeakMemory is unknown
	Samples        int           // number of samples of the working set
	SampleInterval time.Duration // median time between these samples; shorter spikes may be missing

	PeakCPU   sizing.Cores // maximum rate between two samples
	Requested sizing.Resources
	Limit     sizing.Resources // an OOM kill happens at the memory limit

	Outcome   sizing.Outcome // derived from the termination reason of the container and the phase and reason of the pod
	OOMEvents int            // processes of the container that the kernel OOM killer killed
	Restarts  int            // of the container

	StartedAt time.Time // of the container, or else the time of the first sample
	EndedAt   time.Time // of the pod, or else the time of the last sample

	firstSample, lastSample time.Time // samples of the working set
}

// Usage returns the usage of a pod between from and to, with a tolerance of Config.Slack.
// A pod without samples is not an error: Found is false, and Missing has the reason. Usage
// returns ErrUnavailable if a later retry may succeed, and ErrAmbiguous if several Kubernetes namespaces have the pod.
func (c *Client) Usage(ctx context.Context, pod Pod, from, to time.Time) (Usage, error) {
	pods, err := c.find(ctx, pod, from, to)
	if err != nil || len(pods) == 0 {
		return Usage{Missing: pod.missing()}, err
	}
	if err := checkNamespaces(pods); err != nil {
		return Usage{}, err
	}
	var newest Usage
	for _, found := range pods { // one, unless Kubernetes recreated the pod
		u, err := c.read(ctx, found, from, to)
		if err != nil {
			return Usage{}, err
		}
		if !newest.Found || u.Found && u.StartedAt.After(newest.StartedAt) {
			newest = u
		}
	}
	return newest, nil
}

// Observation returns the outcome and the usage of the pod of a try between from and to.
// The outcome is unknown if neither a scraped termination reason of the container nor a phase or reason
// of the pod says how the try ended. found is false if Prometheus has no sample of such a pod, or if Config.Namespaces names
// no Kubernetes namespace for the try's loadaware namespace.
func (c *Client) Observation(ctx context.Context, try sizing.TryKey, from, to time.Time) (o sizing.Observation, found bool, err error) {
	namespace, ok := c.cfg.Namespaces.Of(try.Namespace)
	if !ok {
		return sizing.Observation{}, false, nil
	}
	u, err := c.Usage(ctx, Pod{Namespace: namespace, Container: c.cfg.Container, Try: try}, from, to)
	if err != nil || !u.Found {
		return sizing.Observation{}, false, err
	}
	return u.Observation(try), true, nil
}

// Observation converts the usage into an observation of the try. A peak of MaxUsage counts
// as measured: the page cache can make it too high, and it is too low only if usage rose after the last scrape.
func (u *Usage) Observation(try sizing.TryKey) sizing.Observation {
	o := sizing.Observation{
		Try: try, Outcome: u.Outcome, CPUMax: u.PeakCPU, Requested: u.Requested,
		Allocated: sizing.Resources{Memory: u.Limit.Memory, CPU: u.Requested.CPU},
		StartedAt: u.StartedAt, EndedAt: u.EndedAt,
	}
	if u.Source == WorkingSet {
		o.MemorySampled = u.PeakMemory
	} else {
		o.MemoryMax = u.PeakMemory
	}
	if u.Outcome != sizing.UnknownOutcome && u.EndedAt.After(u.StartedAt) && !u.StartedAt.IsZero() {
		o.Duration = u.EndedAt.Sub(u.StartedAt)
	}
	return o
}
