package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The metrics that are read, all by one query. container_… are the kubelet's,
// kube_… are those of kube-state-metrics.
const (
	cpuSeconds   = "container_cpu_usage_seconds_total"
	oomEvents    = "container_oom_events_total"
	requested    = "kube_pod_container_resource_requests"
	limited      = "kube_pod_container_resource_limits"
	restarts     = "kube_pod_container_status_restarts_total"
	reasonNow    = "kube_pod_container_status_terminated_reason"
	reasonBefore = "kube_pod_container_status_last_terminated_reason"
	phase        = "kube_pod_status_phase"
	podReason    = "kube_pod_status_reason"
	started      = "kube_pod_container_state_started"
	completed    = "kube_pod_completion_time"
)

var metrics = []string{
	WorkingSet, MaxUsage, cpuSeconds, oomEvents, requested, limited, restarts,
	reasonNow, reasonBefore, phase, podReason, started, completed,
}

// read asks for all that is known of a pod whose name is known.
func (c *Client) read(ctx context.Context, pod Pod, from, to time.Time) (Usage, error) {
	place := fmt.Sprintf("pod=%q,container=~%q", pod.Name, "|"+regexp.QuoteMeta(pod.container()))
	if pod.Namespace != "" {
		place += fmt.Sprintf(",namespace=%q", pod.Namespace)
	}
	series, err := c.window(ctx, fmt.Sprintf("{__name__=~%q,%s}", strings.Join(metrics, "|"), place), from, to)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Namespace: pod.Namespace, Pod: pod.Name}
	for _, s := range series {
		// A pod's own cgroup is exported too, without a container.
		ofPod := strings.HasPrefix(label(s, "__name__"), "kube_pod_status_") || label(s, "__name__") == completed
		if len(s.Values) > 0 && (ofPod || label(s, "container") == pod.container()) {
			u.add(s)
		}
	}
	u.finish(pod)
	return u, nil
}

// add takes in one series. Where two are of the same kind, of two replicas of an
// exporter or of a container and its restart, the larger one counts.
func (u *Usage) add(s *model.SampleStream) {
	u.Found = true
	u.Namespace = cmp.Or(u.Namespace, label(s, "namespace"))
	top := largest(s.Values)
	switch label(s, "__name__") {
	case WorkingSet:
		u.addMemory(s.Values, bytesOf(top))
	case MaxUsage:
		// 0 where the kernel keeps no such mark: cgroup v2, before memory.peak.
		if u.Source != WorkingSet && bytesOf(top) > u.PeakMemory {
			u.PeakMemory, u.Source = bytesOf(top), MaxUsage
		}
	case cpuSeconds:
		u.PeakCPU = max(u.PeakCPU, steepest(s.Values))
	case oomEvents:
		u.OOMEvents = max(u.OOMEvents, int(top))
	case requested:
		raise(&u.Requested, s, top)
	case limited:
		raise(&u.Limit, s, top)
	case restarts:
		u.Restarts = max(u.Restarts, int(top))
	case reasonNow, reasonBefore, podReason, phase:
		if top > 0 {
			u.Outcome = graver(u.Outcome, outcomeOf(label(s, "__name__"), cmp.Or(label(s, "reason"), label(s, "phase"))))
		}
	case started:
		u.StartedAt = earlier(u.StartedAt, instant(top))
	case completed:
		u.EndedAt = later(u.EndedAt, instant(top))
	}
}

func (u *Usage) addMemory(samples []model.SamplePair, peak sizing.Bytes) {
	if len(samples) > u.Samples {
		u.Samples, u.Every = len(samples), every(samples)
	}
	if peak > 0 && (u.Source != WorkingSet || peak > u.PeakMemory) {
		u.PeakMemory, u.Source = peak, WorkingSet
	}
	u.firstSample = earlier(u.firstSample, samples[0].Timestamp.Time())
	u.lastSample = later(u.lastSample, samples[len(samples)-1].Timestamp.Time())
}

// finish says what is missing, and takes the times of samples where nobody exported
// those of the container.
func (u *Usage) finish(pod Pod) {
	if u.StartedAt.IsZero() {
		u.StartedAt = u.firstSample
	}
	if u.EndedAt.Before(u.StartedAt) || u.EndedAt.IsZero() {
		u.EndedAt = u.lastSample
	}
	switch {
	case !u.Found:
		u.Missing = pod.missing()
	case u.PeakMemory == 0:
		u.Missing = fmt.Sprintf("no sample of the memory of container %s in pod %s: it may have ended before it was scraped", pod.container(), pod.Name)
	}
}

// raise takes a larger request or limit of the resource that s is about.
func raise(r *sizing.Resources, s *model.SampleStream, amount float64) {
	switch label(s, "resource") {
	case "memory":
		r.Memory = max(r.Memory, bytesOf(amount))
	case "cpu":
		r.CPU = max(r.CPU, sizing.Cores(amount))
	}
}

// outcomeOf reads why a container or its pod ended.
func outcomeOf(metric, said string) sizing.Outcome {
	switch {
	case said == "OOMKilled":
		return sizing.OOMKilled
	case said == "Evicted":
		return sizing.Evicted
	case metric == phase && said == "Succeeded", metric == reasonNow && said == "Completed":
		return sizing.Success
	case metric == phase && said == "Failed", metric == reasonNow && said == "Error":
		return sizing.Failed
	}
	return sizing.UnknownOutcome
}

// graver is the outcome that says more: that memory was short, then that the node
// took the pod away, then that it failed, then that all went well.
func graver(a, b sizing.Outcome) sizing.Outcome {
	for _, o := range []sizing.Outcome{sizing.OOMKilled, sizing.Evicted, sizing.Failed, sizing.Success} {
		if a == o || b == o {
			return o
		}
	}
	return sizing.UnknownOutcome
}
