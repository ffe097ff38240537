package airflow

import (
	"fmt"
	"math"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// PodOperators are the globs of operators that launch pods of their own: that of
// Kubernetes with its relatives of EKS and GKE, and functions in pods.
var PodOperators = []string{"*PodOperator", "*Kubernetes*DecoratedOperator"}

// Launches reports whether a task of the instance's operator launches a pod.
func (i *Instance) Launches(operators []string) bool { return matchesAny(operators, i.Operator) }

// Observe is what Airflow itself tells of the try: how it ended, when, and what was
// requested, where that is still kept. Airflow knows no peak, and an OOM kill as a
// failure only. Where the try tells nothing, why says so.
func (i *Instance) Observe(namespace string, features sizing.Features) (o sizing.Observation, why string) {
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
		return o, "has no state: it was never run"
	default:
		return o, fmt.Sprintf("ended as %s: it was not run", i.State)
	}
	if i.Try < 1 || i.StartedAt.IsZero() {
		return o, fmt.Sprintf("is marked as %s, but was never started", i.State)
	}
	if bad := o.Try.Validate(true); len(bad) > 0 {
		return o, fmt.Sprintf("has an id that cannot be taken: %s %s", bad[0].Field, bad[0].Detail)
	}
	if !i.EndedAt.Before(i.StartedAt) {
		o.StartedAt, o.EndedAt = i.StartedAt.UTC(), i.EndedAt.UTC()
	}
	o.Duration = i.duration()
	o.Requested, o.Allocated = i.resources()
	return o, ""
}

// duration keeps microseconds, the grain of the store; zero where it cannot be right.
func (i *Instance) duration() time.Duration {
	if i.Seconds <= 0 || i.Seconds > sizing.MaxDuration.Seconds() {
		return 0
	}
	return time.Duration(math.Round(i.Seconds*1e6)) * time.Microsecond
}
