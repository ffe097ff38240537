package prometheus

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Where a peak comes from.
const (
	// WorkingSet is the largest sample of container_memory_working_set_bytes: what
	// the kernel counts when it decides whom to kill. It misses spikes.
	WorkingSet = "container_memory_working_set_bytes"
	// MaxUsage is container_memory_max_usage_bytes, for pods that ended before they
	// were scraped twice. It misses nothing, but counts the page cache too.
	MaxUsage = "container_memory_max_usage_bytes"
)

// Usage is what one pod used, as far as it was scraped. Zero fields are not known.
type Usage struct {
	Found     bool   // some sample is of this pod
	Missing   string // why not all is known, in words; empty if it is
	Namespace string // of Kubernetes
	Pod       string

	PeakMemory sizing.Bytes  // by Source
	Source     string        // WorkingSet, MaxUsage, or empty where PeakMemory is not known
	Samples    int           // of the working set
	Every      time.Duration // median distance of them: what is shorter may be missed

	PeakCPU   sizing.Cores // largest rate between two samples
	Requested sizing.Resources
	Limit     sizing.Resources // the memory limit is what an OOM kill is a kill at

	Outcome   sizing.Outcome // by how the container terminated
	OOMEvents int            // processes of the container that the kernel killed
	Restarts  int

	StartedAt time.Time
	EndedAt   time.Time

	firstSample, lastSample time.Time // of the working set
}

// Usage asks what a pod used between from and to, which may be off by a minute.
// A pod that was never scraped, or whose samples are gone, is no error: Found is
// false, and Missing says why. ErrUnavailable where asking later may help.
func (c *Client) Usage(ctx context.Context, pod Pod, from, to time.Time) (Usage, error) {
	pods, err := c.find(ctx, pod, from, to)
	if err != nil || len(pods) == 0 {
		return Usage{Missing: pod.missing()}, err
	}
	var newest Usage
	for _, found := range pods { // one, unless a pod was lost and made again
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
