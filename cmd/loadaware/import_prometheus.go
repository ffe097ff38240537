package main

import (
	"context"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/prometheus"
)

const importPrometheusUsage = `--from TIME [flags]

Reads what pods used that KubernetesPodOperator launched, from a Prometheus that
scraped the kubelets and kube-state-metrics, and sends it to a loadaware server, or into
its database. A try that is known gets what nobody told of it yet, such as its sampled
peak; one that is not known is made of what its pod tells, without features. Importing
twice adds nothing, so an import that was interrupted is simply repeated.

Where to: as of loadaware import, with --into for --url. A bearer token for Prometheus is
taken from LOADAWARE_PROMETHEUS_TOKEN: the list of processes would show a flag.
`

// prometheusImport is one run of the verb.
type prometheusImport struct {
	*triesImport
	client    *prometheus.Client
	namespace string
}

func importPrometheus(ctx context.Context, con console, args []string) error {
	cmd := newCommand("import prometheus", importPrometheusUsage, "prometheus-url", "into", "database", "data")
	dryRun := cmd.Bool("dry-run", false, "read and check, and send nothing")
	train := cmd.Bool("train", false, "then have the server train every task, and wait for it; else it trains them within seconds by itself")
	since := cmd.String("from", "", "only pods that were there then or later, as 2025-03-01 or 2025-03-01T06:30:00Z")
	until := cmd.String("to", "", "and before then; now if empty")
	dag := cmd.String("dag", "", "id of a DAG; all if empty")
	task := cmd.String("task", "", "id of a task; all if empty")
	namespace := cmd.String("namespace", sizing.DefaultNamespace, "of loadaware: tells Airflow deployments apart")
	rate := cmd.Float64("rate", 10, "most queries to Prometheus in a second")
	names, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	from, err := readTime("from", *since)
	if err != nil {
		return err
	}
	to, err := readTime("to", *until)
	if to.IsZero() {
		to = time.Now()
	}
	switch {
	case err != nil:
		return err
	case len(names) > 0:
		return usageErrorf("%q is not understood: loadaware import prometheus takes flags only; see its --help", names[0])
	case cmd.PrometheusURL == "":
		return usageErrorf("name the Prometheus with --url or LOADAWARE_PROMETHEUS_URL")
	case !from.Before(to):
		return usageErrorf("name with --from a time before --to")
	case !(*rate > 0):
		return usageErrorf("--rate must be above 0")
	}
	p := &prometheusImport{triesImport: newTriesImport(con, 100), namespace: *namespace}
	if p.client, err = cmd.prometheusClient(*rate); err != nil {
		return usageErrorf("--url: %v", err)
	}
	return p.run(ctx, cmd, *dryRun, *train, func() error {
		return p.finish(ctx, "prometheus", p.read(ctx, from, to, *dag, *task))
	})
}

func readTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usageErrorf("--%s %q is no time: write 2025-03-01 or 2025-03-01T06:30:00Z", flag, text)
}

// read goes through the pods by name.
func (p *prometheusImport) read(ctx context.Context, from, to time.Time, dag, task string) error {
	pods, err := p.client.LaunchedPods(ctx, from, to, dag, task)
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		p.left.add("no pod with the labels dag_id, task_id and run_id: kube-state-metrics exports them only with --metric-labels-allowlist", "kube_pod_labels")
	}
	bar := progressbar.NewOptions(len(pods), progressbar.OptionSetDescription("pods"),
		progressbar.OptionSetWriter(p.con.err), progressbar.OptionSetVisibility(isTerminal(p.con.err)),
		progressbar.OptionClearOnFinish())
	defer func() { _ = bar.Finish() }() // it only draws
	for i := range pods {
		if err := p.pod(ctx, &pods[i]); err != nil {
			return err
		}
		_ = bar.Add(1)
	}
	return nil
}

// pod takes in what one pod tells.
func (p *prometheusImport) pod(ctx context.Context, l *prometheus.LaunchedPod) error {
	name := l.Namespace + "/" + l.Name
	if l.Unidentified != "" {
		p.left.add(l.Unidentified, name)
		return nil
	}
	u, err := p.client.Usage(ctx, l.Pod, l.From, l.To)
	if err != nil {
		return err
	}
	switch {
	case !u.Found:
		p.left.add("no sample of the container, in none of the metrics of the kubelet and of kube-state-metrics", name)
		return nil
	case u.Outcome == sizing.UnknownOutcome:
		p.left.add("nobody saw how it ended: it still runs, or was deleted before it was scraped again", name)
		return nil
	case u.PeakMemory == 0:
		p.left.add("sent without a peak: the container ended before its memory was scraped", name)
	}
	l.Try.Namespace = p.namespace
	o := u.Observation(l.Try)
	return p.add(ctx, &o)
}
