package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"github.com/loadaware/loadaware/internal/sizing"
)

// LaunchedPod is a pod that KubernetesPodOperator launched, with the try that its labels identify.
type LaunchedPod struct {
	Pod
	From, To     time.Time // from the start of the first to the end of the last query window in which the pod was found
	Unidentified string    // why Try is unknown; empty if it is known
}

// listWindow is the time span of one query for pods. A longer one needs fewer queries, but makes LaunchedPod.From and
// To less precise.
const listWindow = 6 * time.Hour

// PodQuery selects pods.
type PodQuery struct {
	From, To  time.Time // pods that existed at some time between From and To
	DAG, Task string    // ids; all DAGs or tasks if empty
	Namespace string    // loadaware namespace of the tries
}

// LaunchedPods returns the pods that a query selects, sorted by From and then by the text namespace/name. If several
// Kubernetes namespaces have a pod of the same try, the try of these pods is unknown. If Config.Namespaces
// maps loadaware namespaces, but not that of the query, LaunchedPods returns no pods and no error.
func (c *Client) LaunchedPods(ctx context.Context, q PodQuery) ([]LaunchedPod, error) {
	namespace, ok := c.cfg.Namespaces.Of(q.Namespace)
	if !ok {
		return nil, nil
	}
	labels := map[string]string{"label_kubernetes_executor": ""}
	for name, value := range map[string]string{"label_dag_id": SafeLabel(q.DAG), "label_task_id": SafeLabel(q.Task), "namespace": namespace} {
		if value != "" {
			labels[name] = value
		}
	}
	match := selector("kube_pod_labels", labels, `label_dag_id!=""`, `label_task_id!=""`, `label_run_id!=""`)
	pods := map[string]*LaunchedPod{}
	for from := q.From; from.Before(q.To); from = from.Add(listWindow) {
		until := from.Add(listWindow)
		if until.After(q.To) {
			until = q.To
		}
		if err := c.wait(ctx); err != nil {
			return nil, err
		}
		queryCtx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		found, err := c.server.series(queryCtx, match, from, until)
		cancel()
		if err != nil {
			return nil, classify(ctx, err)
		}
		for _, labels := range found {
			key := string(labels["namespace"] + "/" + labels["pod"])
			if pods[key] == nil {
				pods[key] = newLaunchedPod(labels)
				pods[key].Try.Namespace = q.Namespace
				pods[key].From, pods[key].Container = from, c.cfg.Container
			}
			pods[key].To = until
		}
	}
	all := make([]LaunchedPod, 0, len(pods))
	for _, key := range slices.Sorted(maps.Keys(pods)) {
		all = append(all, *pods[key])
	}
	slices.SortStableFunc(all, func(a, b LaunchedPod) int { return a.From.Compare(b.From) })
	markAmbiguous(all)
	return all, nil
}

func markAmbiguous(pods []LaunchedPod) {
	byTry := map[sizing.TryKey][]Pod{}
	for i := range pods {
		byTry[pods[i].Try] = append(byTry[pods[i].Try], pods[i].Pod)
	}
	for i := range pods {
		if pods[i].Unidentified == "" && checkNamespaces(byTry[pods[i].Try]) != nil {
			pods[i].Unidentified = ErrAmbiguous.Error()
		}
	}
}

func newLaunchedPod(labels model.LabelSet) *LaunchedPod {
	pod := &LaunchedPod{Pod: Pod{Namespace: string(labels["namespace"]), Name: string(labels["pod"])}}
	pod.Try.MapIndex = sizing.NoMap
	for _, part := range []struct {
		label model.LabelName
		id    *string
	}{{"label_dag_id", &pod.Try.DAG}, {"label_task_id", &pod.Try.Task}, {"label_run_id", &pod.Try.RunID}} {
		id, ok := IDFromLabel(string(labels[part.label]))
		*part.id = id
		if !ok {
			pod.Unidentified = fmt.Sprintf("label %s has a hash in place of a part of the id; use loadaware import airflow", part.label[len("label_"):])
		}
	}
	number, err := strconv.Atoi(cmp.Or(string(labels["label_try_number"]), "1"))
	pod.Try.Number = number
	if index := labels["label_map_index"]; err == nil && index != "" {
		pod.Try.MapIndex, err = strconv.Atoi(string(index))
	}
	if err != nil {
		pod.Unidentified = "label try_number or map_index is not a number"
	}
	return pod
}
