package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Pod identifies a pod by its name or by its try.
type Pod struct {
	Namespace string        // Kubernetes namespace; any if empty
	Name      string        // if empty, the pod is looked up by Try
	Try       sizing.TryKey // matched by the labels of KubernetesPodOperator; its loadaware namespace is ignored
	Container string        // "base" if empty, the default of KubernetesPodOperator
}

// Labels returns the labels that KubernetesPodOperator sets on the pod of a try, as
// kube-state-metrics exports them. The pod of an unmapped task has no map_index.
func Labels(try sizing.TryKey) map[string]string {
	labels := map[string]string{
		"label_dag_id":     SafeLabel(try.DAG),
		"label_task_id":    SafeLabel(try.Task),
		"label_run_id":     SafeLabel(try.RunID),
		"label_try_number": strconv.Itoa(try.Number),
	}
	if try.MapIndex >= 0 {
		labels["label_map_index"] = strconv.Itoa(try.MapIndex)
	}
	return labels
}

func (p Pod) container() string { return cmp.Or(p.Container, "base") }

func (p Pod) missing() string {
	if p.Name != "" {
		return fmt.Sprintf("no sample of pod %s", p.Name)
	}
	return fmt.Sprintf("no pod has the labels of %s, run %s, try %d; configure kube-state-metrics to export them", p.Try.TaskKey, p.Try.RunID, p.Try.Number)
}

func (c *Client) find(ctx context.Context, pod Pod, from, to time.Time) ([]Pod, error) {
	if pod.Name != "" {
		return []Pod{pod}, nil
	}
	labels := Labels(pod.Try)
	if pod.Namespace != "" {
		labels["namespace"] = pod.Namespace
	}
	if pod.Try.MapIndex < 0 {
		labels["label_map_index"] = "" // the label must be absent
	}
	labels["label_kubernetes_executor"] = "" // exclude executor pods: they launch the task's pod and have the same labels
	series, err := c.window(ctx, selector("kube_pod_labels", labels), from, to)
	if err != nil {
		return nil, err
	}
	var pods []Pod
	for _, s := range series {
		found := Pod{Namespace: label(s, "namespace"), Name: label(s, "pod"), Try: pod.Try, Container: pod.Container}
		if found.Name != "" && !slices.Contains(pods, found) {
			pods = append(pods, found)
		}
	}
	slices.SortFunc(pods, func(a, b Pod) int { return cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return pods, nil
}

func label(s *model.SampleStream, name model.LabelName) string { return string(s.Metric[name]) }
