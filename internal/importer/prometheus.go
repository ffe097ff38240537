package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/prometheus"
)

// Prometheus imports the tries of the pods that KubernetesPodOperator launched.
func (t *TriesImporter) Prometheus(ctx context.Context, c *prometheus.Client, q prometheus.PodQuery) error {
	return t.finish(ctx, "prometheus", t.readPods(ctx, c, q))
}

func (t *TriesImporter) readPods(ctx context.Context, c *prometheus.Client, q prometheus.PodQuery) error {
	pods, err := c.LaunchedPods(ctx, q)
	if errors.Is(err, prometheus.ErrUnavailable) {
		return fmt.Errorf("%w; check --url and the network policy", err)
	}
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		t.notes.add("no pod with the labels dag_id, task_id and run_id: kube-state-metrics exports them only with --metric-labels-allowlist", "kube_pod_labels")
	}
	bar := t.con.progress(int64(len(pods)), "pods")
	defer func() { _ = bar.Finish() }() // a drawing error does not matter
	var window []sizing.Observation     // of the pods with the same LaunchedPod.From
	for i := range pods {
		if err := t.readPod(ctx, c, &pods[i], &window); err != nil {
			return errors.Join(err, t.addInOrder(ctx, window))
		}
		if i+1 == len(pods) || !pods[i+1].From.Equal(pods[i].From) {
			if err := t.addInOrder(ctx, window); err != nil {
				return err
			}
			window = window[:0]
		}
		_ = bar.Add(1)
	}
	return nil
}

// addInOrder queues observations in the order of their starts, because the first request that the server records is the
// baseline of the savings.
func (t *TriesImporter) addInOrder(ctx context.Context, window []sizing.Observation) error {
	slices.SortStableFunc(window, func(a, b sizing.Observation) int { return a.StartedAt.Compare(b.StartedAt) })
	for i := range window {
		if err := t.add(ctx, &window[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *TriesImporter) readPod(ctx context.Context, c *prometheus.Client, pod *prometheus.LaunchedPod, window *[]sizing.Observation) error {
	name := pod.Namespace + "/" + pod.Name
	if pod.Unidentified != "" {
		t.notes.add(pod.Unidentified, name)
		return nil
	}
	u, err := c.Usage(ctx, pod.Pod, pod.From, pod.To)
	if err != nil {
		return err
	}
	switch {
	case !u.Found:
		t.notes.add("skipped: no sample of the container in any metric of the kubelet or of kube-state-metrics", name)
		return nil
	case u.Outcome == sizing.UnknownOutcome:
		t.notes.add("skipped: no outcome, because the pod still runs, or was deleted before a scrape after its end", name)
		return nil
	case u.PeakMemory == 0:
		t.notes.add("sent without a peak: the container ended before its memory was scraped", name)
	}
	o := u.Observation(pod.Try)
	o.Provisional = true // the provider may report the try later
	*window = append(*window, o)
	return nil
}
