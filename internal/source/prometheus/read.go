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

// The metrics of a pod; one query reads all of them. container_… come from the kubelet,
// kube_… from kube-state-metrics.
const (
	cpuSeconds   = "container_cpu_usage_seconds_total"
	oomEvents    = "container_oom_events_total"
	requested    = "kube_pod_container_resource_requests"
	limited      = "kube_pod_container_resource_limits"
	restarts     = "kube_pod_container_status_restarts_total"
	reasonNow    = "kube_pod_container_status_terminated_reason"
	reasonBefore = "kube_pod_container_status_last_terminated_reason"
	podPhase     = "kube_pod_status_phase"
	podReason    = "kube_pod_status_reason"
	started      = "kube_pod_container_state_started"
	completed    = "kube_pod_completion_time"
)

var metrics = []string{
	WorkingSet, MaxUsage, cpuSeconds, oomEvents, requested, limited, restarts,
	reasonNow, reasonBefore, podPhase, podReason, started, completed,
}

func (c *Client) read(ctx context.Context, pod Pod, from, to time.Time) (Usage, error) {
	labels := fmt.Sprintf("pod=%q,container=~%q", pod.Name, "|"+regexp.QuoteMeta(pod.container()))
	if pod.Namespace != "" {
		labels += fmt.Sprintf(",namespace=%q", pod.Namespace)
	}
	series, err := c.window(ctx, fmt.Sprintf("{__name__=~%q,%s}", strings.Join(metrics, "|"), labels), from, to)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Namespace: pod.Namespace, Pod: pod.Name}
	for _, s := range series {
		// The kubelet also exports the usage of the whole pod, without a container label. These series are skipped.
		isPodMetric := strings.HasPrefix(label(s, "__name__"), "kube_pod_status_") || label(s, "__name__") == completed
		if len(s.Values) > 0 && (isPodMetric || label(s, "container") == pod.container()) {
			u.add(s)
		}
	}
	u.finish(pod)
	return u, nil
}

// add merges one series. Several series may have the same metric, because of exporter replicas or container
// restarts. Then the largest value, the earliest start, the latest end and the most severe outcome win.
func (u *Usage) add(s *model.SampleStream) {
	u.Found = true
	u.Namespace = cmp.Or(u.Namespace, label(s, "namespace"))
	highest := maxValue(s.Values)
	switch label(s, "__name__") {
	case WorkingSet:
		u.addMemory(s.Values, toBytes(highest))
	case MaxUsage:
		// The value is 0 if the kernel has no high-water mark: cgroup v2 without memory.peak.
		if u.Source != WorkingSet && toBytes(highest) > u.PeakMemory {
			u.PeakMemory, u.Source = toBytes(highest), MaxUsage
		}
	case cpuSeconds:
		u.PeakCPU = max(u.PeakCPU, maxRate(s.Values))
	case oomEvents:
		u.OOMEvents = max(u.OOMEvents, int(highest))
	case requested:
		setMax(&u.Requested, s, highest)
	case limited:
		setMax(&u.Limit, s, highest)
	case restarts:
		u.Restarts = max(u.Restarts, int(highest))
	case reasonNow, reasonBefore, podReason, podPhase:
		if highest > 0 {
			u.Outcome = moreSevere(u.Outcome, outcomeFromReason(label(s, "__name__"), cmp.Or(label(s, "reason"), label(s, "phase"))))
		}
	case started:
		u.StartedAt = earlier(u.StartedAt, parseSeconds(highest))
	case completed:
		u.EndedAt = later(u.EndedAt, parseSeconds(highest))
	}
}

func (u *Usage) addMemory(samples []model.SamplePair, peak sizing.Bytes) {
	if len(samples) > u.Samples {
		u.Samples, u.SampleInterval = len(samples), sampleInterval(samples)
	}
	if peak > 0 && (u.Source != WorkingSet || peak > u.PeakMemory) {
		u.PeakMemory, u.Source = peak, WorkingSet
	}
	u.firstSample = earlier(u.firstSample, samples[0].Timestamp.Time())
	u.lastSample = later(u.lastSample, samples[len(samples)-1].Timestamp.Time())
}

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
		u.Missing = fmt.Sprintf("no memory sample of container %s in pod %s; it may have ended before the first scrape", pod.container(), pod.Name)
	}
}

func setMax(r *sizing.Resources, s *model.SampleStream, amount float64) {
	switch label(s, "resource") {
	case "memory":
		r.Memory = max(r.Memory, toBytes(amount))
	case "cpu":
		r.CPU = max(r.CPU, sizing.Cores(amount))
	}
}

func outcomeFromReason(metric, reason string) sizing.Outcome {
	switch {
	case reason == "OOMKilled":
		return sizing.OOMKilled
	case reason == "Evicted":
		return sizing.Evicted
	case metric == podPhase && reason == "Succeeded", metric == reasonNow && reason == "Completed":
		return sizing.Success
	case metric == podPhase && reason == "Failed", metric == reasonNow && reason == "Error":
		return sizing.Failed
	}
	return sizing.UnknownOutcome
}

func moreSevere(a, b sizing.Outcome) sizing.Outcome {
	for _, o := range []sizing.Outcome{sizing.OOMKilled, sizing.Evicted, sizing.Failed, sizing.Success} {
		if a == o || b == o {
			return o
		}
	}
	return sizing.UnknownOutcome
}
