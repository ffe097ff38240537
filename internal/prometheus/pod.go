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

// Pod says which pod is meant: by its name, or by the try that it ran.
type Pod struct {
	Namespace string        // of Kubernetes; any if empty
	Name      string        // if empty, Try finds it
	Try       sizing.TryKey // by the labels of KubernetesPodOperator; its namespace is ours and is not looked at
	Container string        // "base" if empty, as KubernetesPodOperator calls it
}

// Labels are those that KubernetesPodOperator gives to the pod of a try, as
// kube-state-metrics exports them. A task that is not mapped has no map_index.
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
	return fmt.Sprintf("no pod has the labels of %s, run %s, try %d: kube-state-metrics must be told to export them", p.Try.TaskKey, p.Try.RunID, p.Try.Number)
}

// find lists the pods that are meant, in the order of their names.
func (c *Client) find(ctx context.Context, pod Pod, from, to time.Time) ([]Pod, error) {
	if pod.Name != "" {
		return []Pod{pod}, nil
	}
	labels := Labels(pod.Try)
	if pod.Namespace != "" {
		labels["namespace"] = pod.Namespace
	}
	if pod.Try.MapIndex < 0 {
		labels["label_map_index"] = "" // the label is not there
	}
	labels["label_kubernetes_executor"] = "" // nor this one: such pods only launch others, and have the same labels
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
