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

// Launched is a pod that KubernetesPodOperator launched, by its labels.
type Launched struct {
	Pod
	From, To time.Time // spans in which it existed; wider than its life
	Unnamed  string    // why Try is not known; empty if it is
}

// listed is how long a span is asked about at once.
const listed = 6 * time.Hour

// Launched lists the pods that existed between from and to, by their names; of one DAG
// or task where that is not empty. Their tries are in no namespace of ours.
func (c *Client) Launched(ctx context.Context, from, to time.Time, dag, task string) ([]Launched, error) {
	labels := map[string]string{"label_kubernetes_executor": ""}
	for name, value := range map[string]string{"label_dag_id": SafeLabel(dag), "label_task_id": SafeLabel(task), "namespace": c.cfg.Namespace} {
		if value != "" {
			labels[name] = value
		}
	}
	match := selector("kube_pod_labels", labels, `label_dag_id!=""`, `label_task_id!=""`, `label_run_id!=""`)
	pods := map[string]*Launched{}
	for ; from.Before(to); from = from.Add(listed) {
		until := from.Add(listed)
		if until.After(to) {
			until = to
		}
		if err := c.wait(ctx); err != nil {
			return nil, err
		}
		asking, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		found, _, _, err := c.api.Series(asking, []string{match}, from, until)
		cancel()
		if err != nil {
			return nil, explain(ctx, err)
		}
		for _, labels := range found {
			at := string(labels["namespace"] + "/" + labels["pod"])
			if pods[at] == nil {
				pods[at] = launchedOf(labels)
				pods[at].From, pods[at].Container = from, c.cfg.Container
			}
			pods[at].To = until
		}
	}
	all := make([]Launched, 0, len(pods))
	for _, at := range slices.Sorted(maps.Keys(pods)) {
		all = append(all, *pods[at])
	}
	return all, nil
}

// launchedOf reads a pod's labels back.
func launchedOf(labels model.LabelSet) *Launched {
	l := &Launched{Pod: Pod{Namespace: string(labels["namespace"]), Name: string(labels["pod"])}}
	l.Try.MapIndex = sizing.NoMap
	for _, part := range []struct {
		label model.LabelName
		id    *string
	}{{"label_dag_id", &l.Try.DAG}, {"label_task_id", &l.Try.Task}, {"label_run_id", &l.Try.RunID}} {
		id, ok := IDOf(string(labels[part.label]))
		*part.id = id
		if !ok {
			l.Unnamed = fmt.Sprintf("the label %s was shortened, and does not tell the id: import airflow knows it", part.label[len("label_"):])
		}
	}
	number, err := strconv.Atoi(cmp.Or(string(labels["label_try_number"]), "1"))
	l.Try.Number = number
	if index := labels["label_map_index"]; err == nil && index != "" {
		l.Try.MapIndex, err = strconv.Atoi(string(index))
	}
	if err != nil {
		l.Unnamed = "try_number or map_index is no number"
	}
	return l
}
