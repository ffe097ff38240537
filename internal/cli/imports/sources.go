package imports

import (
	"context"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/importer"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/airflow"
	"github.com/loadaware/loadaware/internal/source/prometheus"
)

// importSources are the commands below import, by the name of their source. If the first argument is a FILE with the
// name of a source, it must be written with a folder, such as ./airflow.
var importSources = map[string]func(ctx context.Context, con cli.Console, args []string) error{
	"airflow":    importAirflow,
	"prometheus": importPrometheus,
	"usage-log":  importUsageLogs,
}

const importAirflowUsage = `--url http://host:8080 [flags]

Imports the run history of Airflow 2.x or 3.x: the outcome, duration, request and
features of every try of every task that launches a pod. The features are the declared
params, and the entries of dag_run.conf that --feature-keys selects.
Airflow stores no peaks. They come from usage logs, a CSV (or JSON lines) of peaks, or
Prometheus, and are joined by try. The output counts what could not be joined, with
the reason.

The user needs read access only (role Viewer). The password is read from
LOADAWARE_AIRFLOW_PASSWORD, or a token from LOADAWARE_AIRFLOW_TOKEN, and the token of
Prometheus from LOADAWARE_PROMETHEUS_TOKEN, because the list of processes shows flags.
Destination: --into (LOADAWARE_URL), --database or --data; without them as in loadaware import.

Importing twice adds nothing. An interrupted import prints the time with which --since
continues it.`

func importAirflow(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("import airflow", importAirflowUsage, "airflow-url", "airflow-user", "prometheus", "into", "database", "data")
	flags := newImportFlags(cmd, "tries")
	dags := cmd.String("dag", "", "ids of DAGs, separated by commas; all that the user may read if empty")
	since := cmd.String("since", "", "only runs that ended then or later, such as 2025-03-01 or 2025-03-01T06:30:00Z")
	var cfg importer.AirflowConfig
	cmd.StringVar(&cfg.UsageFile, "usage", "", "file of peaks, with the columns of loadaware import")
	cmd.StringVar(&cfg.UsageLogs, "usage-log", "", "folder of usage logs, see loadaware import usage-log")
	operators := cmd.String("operators", strings.Join(airflow.PodOperators, ","), "globs of the operators that launch pods")
	keys := cmd.String("feature-keys", "", "globs of names in dag_run.conf that are features too, like feature_keys of the provider")
	cmd.StringVar(&cfg.Namespace, "namespace", sizing.DefaultNamespace, "loadaware namespace, which identifies the Airflow deployment")
	rate := cmd.Float64("rate", 10, "maximum requests to Airflow per second")
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	cfg.Since, err = parseTime("since", *since)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return cli.UsageErrorf("unexpected argument %q: loadaware import airflow takes flags only; see its --help", rest[0])
	case cmd.AirflowURL == "":
		return cli.UsageErrorf("name the Airflow with --url or LOADAWARE_AIRFLOW_URL")
	case !(*rate > 0):
		return cli.UsageErrorf("--rate must be above 0, not %v", *rate)
	}
	if err := flags.check(); err != nil {
		return err
	}
	cfg.DAGs, cfg.Operators, cfg.FeatureKeys = cli.SplitList(*dags), cli.SplitList(*operators), cli.SplitList(*keys)
	if cmd.PrometheusURL != "" {
		if cfg.Prometheus, err = newPrometheus(cmd, "prometheus", cfg.Namespace, 0); err != nil {
			return err
		}
	}
	source := cmd.Airflow(*rate)
	source.Retrying = con.PrintRetry
	client, err := airflow.Open(ctx, source)
	if err != nil {
		return importer.ExplainAirflow(err)
	}
	t := importer.NewTries(con.ForImport(), *flags.batch)
	return flags.run(ctx, con, cmd, t.Importer, func() error { return t.Airflow(ctx, client, cfg) })
}

const importPrometheusUsage = `--from TIME [flags]

Imports the usage of the pods that KubernetesPodOperator launched, from a Prometheus
that scrapes the kubelets and kube-state-metrics. A known try gets the values that it
lacks, such as the sampled peak. An unknown try is created without features.
Importing twice adds nothing, so repeat an import that was interrupted.

Destination: as in loadaware import, with --into instead of --url. A bearer token for
Prometheus is read from LOADAWARE_PROMETHEUS_TOKEN, because the list of processes shows
flags. LOADAWARE_PROMETHEUS_NAMESPACE selects the Kubernetes namespace, which is required
if several Airflow deployments have the same DAGs.
`

// podBatch is the number of tries per request. It is smaller than the default of --batch of the other imports: each
// pod needs its own queries, so a batch fills slowly, and an interruption loses the unsent batch.
const podBatch = 100

func importPrometheus(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("import prometheus", importPrometheusUsage, "prometheus-url", "into", "database", "data")
	dryRun := cmd.Bool("dry-run", false, "read and check, but send nothing")
	train := cmd.Bool("train", false, trainHelp)
	batch := podBatch
	flags := importFlags{dryRun: dryRun, train: train, batch: &batch}
	from := cmd.String("from", "", "only pods that existed then or later, such as 2025-03-01 or 2025-03-01T06:30:00Z")
	to := cmd.String("to", "", "only pods that existed before then; now if empty")
	var query prometheus.PodQuery
	cmd.StringVar(&query.DAG, "dag", "", "id of a DAG; all if empty")
	cmd.StringVar(&query.Task, "task", "", "id of a task; all if empty")
	cmd.StringVar(&query.Namespace, "namespace", sizing.DefaultNamespace, "loadaware namespace, which identifies the Airflow deployment")
	rate := cmd.Float64("rate", 10, "maximum queries to Prometheus per second")
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if query.From, err = parseTime("from", *from); err != nil {
		return err
	}
	if query.To, err = parseTime("to", *to); query.To.IsZero() {
		query.To = time.Now()
	}
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return cli.UsageErrorf("unexpected argument %q: loadaware import prometheus takes flags only; see its --help", rest[0])
	case cmd.PrometheusURL == "":
		return cli.UsageErrorf("name the Prometheus with --url or LOADAWARE_PROMETHEUS_URL")
	case query.From.IsZero():
		return cli.UsageErrorf("name the time of the first pods with --from, such as 2025-03-01")
	case !query.From.Before(query.To):
		return cli.UsageErrorf("--from must be a time before --to")
	case !(*rate > 0):
		return cli.UsageErrorf("--rate must be above 0, not %v", *rate)
	}
	client, err := newPrometheus(cmd, "url", query.Namespace, *rate)
	if err != nil {
		return err
	}
	t := importer.NewTries(con.ForImport(), batch)
	return flags.run(ctx, con, cmd, t.Importer, func() error { return t.Prometheus(ctx, client, query) })
}

// newPrometheus returns a client for the pods of a loadaware namespace. flag is the name of the flag that sets the URL.
func newPrometheus(cmd *cli.Command, flag, namespace string, perSecond float64) (*prometheus.Client, error) {
	if _, ok := cmd.PrometheusNamespaces.Of(namespace); !ok {
		return nil, cli.UsageErrorf("LOADAWARE_PROMETHEUS_NAMESPACE has no Kubernetes namespace for the loadaware namespace %q; add one, such as %s=airflow", namespace, namespace)
	}
	client, err := prometheus.New(cmd.Prometheus(perSecond))
	if err != nil {
		return nil, cli.UsageErrorf("--%s: %v", flag, err)
	}
	return client, nil
}

func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cli.UsageErrorf("--%s %q is not a time; use 2025-03-01 or 2025-03-01T06:30:00Z", flag, text)
}

const usageLogUsage = `[flags] FOLDER | FILE…

Imports the peaks of usage logs. A usage log is a CSV with the samples of one try, plain
or gzip. A FOLDER stands for all files below it that end in .csv or .csv.gz. Importing
twice adds nothing.

    # dag_id=pricing, task_id=load, run_id=manual__3, map_index=-1, try_number=1
    timestamp,memory_bytes,cpu_cores
    2025-03-01T09:01:00Z,104857600,0.2

Without the comment line the path must name the try, as in the log folders of Airflow:
dag_id=pricing/run_id=manual__3/task_id=load/attempt=1.csv. Without outcome=… in the
comment line or the path, the try is assumed to have succeeded; loadaware import airflow
--usage-log reads the outcome and the features from Airflow. The largest sample is stored
as a sampled peak, and all samples as a series of at most 120 points.`

func importUsageLogs(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("import usage-log", usageLogUsage, "url", "token", "database", "data")
	flags := newImportFlags(cmd, "tries")
	names, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return cli.UsageErrorf("name a folder or files of usage logs; see loadaware import usage-log --help")
	}
	if err := flags.check(); err != nil {
		return err
	}
	t := importer.NewTries(con.ForImport(), *flags.batch)
	return flags.run(ctx, con, cmd, t.Importer, func() error { return t.UsageLogs(ctx, names) })
}
