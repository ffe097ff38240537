package prometheustest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Pod describes the metrics that the kubelet and kube-state-metrics export for one pod. Fields that are zero,
// except Restarts, are not exported.
type Pod struct {
	Namespace string // "airflow" if empty
	Name      string
	Labels    map[string]string // such as label_dag_id
	Start     time.Time
	Every     time.Duration // between scrapes; 30 s if zero
	Memory    []float64     // working set in bytes, one value per scrape
	CPU       []float64     // total CPU seconds, one value per scrape
	MaxUsage  []float64     // bytes, one value per scrape
	OOMs      int           // OOM events
	Restarts  int
	Request   float64 // bytes of memory; with it, a CPU request of 0.5 cores is exported
	Limit     float64 // bytes of memory
	Reason    string  // termination reason of the container; with it, the completion time of the pod is exported
	Phase     string  // final phase of the pod
}

// OpenMetrics returns the scraped metrics of the pods in the OpenMetrics format, for the container base. A sidecar and the
// cgroup of the pod have larger usage, to check that the reader ignores them.
func OpenMetrics(pods ...Pod) string {
	families := map[string][]string{}
	for i := range pods {
		pods[i].write(func(family, labels string, value float64, at time.Time) {
			families[family] = append(families[family], fmt.Sprintf("%s{%s} %g %d", family, labels, value, at.Unix()))
		})
	}
	var b strings.Builder
	for _, family := range slices.Sorted(maps.Keys(families)) {
		fmt.Fprintf(&b, "# HELP %s as exported\n# TYPE %s unknown\n%s\n", family, family, strings.Join(families[family], "\n"))
	}
	return b.String() + "# EOF\n"
}

func (p *Pod) write(sample func(family, labels string, value float64, at time.Time)) {
	every := p.Every
	if every == 0 {
		every = 30 * time.Second
	}
	pod := fmt.Sprintf(`namespace=%q,pod=%q`, cmp.Or(p.Namespace, "airflow"), p.Name)
	base := pod + `,container="base"`
	scrapes := max(len(p.Memory), len(p.CPU), len(p.MaxUsage), 1)
	series := func(family, labels string, values []float64) {
		for i, v := range values {
			sample(family, labels, v, p.Start.Add(time.Duration(i)*every))
		}
	}
	constant := func(family, labels string, value float64) {
		values := make([]float64, scrapes)
		for i := range values {
			values[i] = value
		}
		series(family, labels, values)
	}
	last := p.Start.Add(time.Duration(scrapes-1) * every)

	series("container_memory_working_set_bytes", base, p.Memory)
	series("container_cpu_usage_seconds_total", base+`,cpu="total"`, p.CPU)
	series("container_memory_max_usage_bytes", base, p.MaxUsage)
	if len(p.Memory) > 0 {
		constant("container_memory_working_set_bytes", pod+`,container="airflow-xcom-sidecar"`, 7e9)
		constant("container_memory_working_set_bytes", pod+`,container=""`, 9e9)
	}
	if p.OOMs > 0 {
		sample("container_oom_events_total", base, float64(p.OOMs), last)
	}
	constant("kube_pod_container_status_restarts_total", base, float64(p.Restarts))
	if p.Request > 0 {
		constant("kube_pod_container_resource_requests", base+`,resource="memory",unit="byte"`, p.Request)
		constant("kube_pod_container_resource_requests", base+`,resource="cpu",unit="core"`, 0.5)
	}
	if p.Limit > 0 {
		constant("kube_pod_container_resource_limits", base+`,resource="memory",unit="byte"`, p.Limit)
	}
	if p.Reason != "" {
		sample("kube_pod_container_status_terminated_reason", base+fmt.Sprintf(`,reason=%q`, p.Reason), 1, last)
		sample("kube_pod_completion_time", pod, float64(last.Unix()), last)
	}
	if p.Phase != "" {
		for _, phase := range []string{"Pending", "Running", "Succeeded", "Failed", "Unknown"} {
			value := 0.0
			if phase == p.Phase {
				value = 1
			}
			sample("kube_pod_status_phase", pod+fmt.Sprintf(`,phase=%q`, phase), value, last)
		}
	}
	if p.Labels != nil {
		labels := pod
		for _, name := range slices.Sorted(maps.Keys(p.Labels)) {
			labels += fmt.Sprintf(`,%s=%q`, name, p.Labels[name])
		}
		constant("kube_pod_labels", labels, 1)
	}
}
