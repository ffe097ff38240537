package airflow

import (
	"fmt"
	"math"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Observation returns the outcome and the times of the try, and its requested and allocated resources if
// Airflow still has them. Airflow does not know peaks and reports an OOM kill as a failure. If the try
// cannot become an observation, `reason` says why; otherwise it is empty.
func (i *Instance) Observation(namespace string, features sizing.Features) (o sizing.Observation, reason string) {
	o = sizing.Observation{
		Try: sizing.TryKey{
			TaskKey: sizing.TaskKey{Namespace: namespace, DAG: i.DAG, Task: i.Task},
			RunID:   i.Run, MapIndex: i.MapIndex, Number: i.Try,
		},
		Features: features,
	}
	switch i.State {
	case "success":
		o.Outcome = sizing.Success
	case "failed":
		o.Outcome = sizing.Failed
	case "":
		return o, "it has no state, so it never ran"
	default:
		return o, fmt.Sprintf("its state is %s, neither success nor failed", i.State)
	}
	if i.Try < 1 || i.StartedAt.IsZero() {
		return o, fmt.Sprintf("it is marked as %s, but never started", i.State)
	}
	if bad := o.Try.Validate(true); len(bad) > 0 {
		return o, fmt.Sprintf("its id is invalid: %s %s", bad[0].Field, bad[0].Detail)
	}
	if !i.EndedAt.Before(i.StartedAt) {
		o.StartedAt, o.EndedAt = i.StartedAt.UTC(), i.EndedAt.UTC()
	}
	o.Duration = i.duration()
	o.Requested, o.Allocated = i.resources()
	return o, ""
}

// duration returns how long the try ran, rounded to microseconds, the precision of the store. It returns 0 if this is unknown
// or longer than sizing.MaxDuration.
func (i *Instance) duration() time.Duration {
	if i.Seconds <= 0 || i.Seconds > sizing.MaxDuration.Seconds() {
		return 0
	}
	return time.Duration(math.Round(i.Seconds*1e6)) * time.Microsecond
}
