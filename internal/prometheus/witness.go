package prometheus

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Witness tells of the try what its pod tells, between from and to: how it ended, and
// what it used. Outcome is unknown where the pod may still run, or nobody saw it end.
// False where there was no such pod.
func (c *Client) Witness(ctx context.Context, try sizing.TryKey, from, to time.Time) (sizing.Observation, bool, error) {
	u, err := c.Usage(ctx, Pod{Namespace: c.cfg.Namespace, Container: c.cfg.Container, Try: try}, from, to)
	if err != nil || !u.Found {
		return sizing.Observation{}, false, err
	}
	return u.Observation(try), true, nil
}

// Observation is the report of a try that u makes. A peak by the kernel's own mark is
// a measured one: too high by the page cache, but never too low.
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
