package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/airflow"
)

const importAirflowUsage = `--url http://host:8080 [flags]

Sends what an Airflow (2.x or 3.x) remembers of its ended runs: of every try of every
task that launches a pod, how it ended, how long it took, its request, and the params
and conf of its run as features. Airflow knows no peaks: they come from usage logs, a
CSV (or JSON lines) of peaks, or Prometheus, and are joined by the try. What could not
be joined is counted and said why.

The user needs no more than to read (role Viewer). Their password is read from
LOADAWARE_AIRFLOW_PASSWORD, or a token from LOADAWARE_AIRFLOW_TOKEN, and that of
Prometheus from LOADAWARE_PROMETHEUS_TOKEN: the list of processes would show flags.
Where to: --into (LOADAWARE_URL), --database or --data, else as loadaware import says.

Importing twice adds nothing. An import that broke off says --since what time it may
go on.`

// airflowImport is one run of the verb.
type airflowImport struct {
	*triesImport
	from      *airflow.Client
	usage     usage
	namespace string
	operators []string // globs
	allowed   []string // globs of conf
	declared  map[string]map[string]map[string]any
	runs      int
	joined    int
	newest    time.Time // end of the last run of which all was sent
}

func importAirflow(ctx context.Context, con console, args []string) error {
	cmd := newCommand("import airflow", importAirflowUsage, "airflow-url", "airflow-user", "prometheus", "into", "database", "data")
	dryRun := cmd.Bool("dry-run", false, "read and join, and send nothing")
	batch := cmd.Int("batch", 500, "tries sent at once, 1 to 10000")
	train := cmd.Bool("train", false, "then have the server train every task, and wait for it; else it trains them within seconds by itself")
	dags := cmd.String("dag", "", "ids of DAGs, separated by commas; all that the user may read if empty")
	since := cmd.String("since", "", "only runs that ended then or later, as 2025-03-01 or 2025-03-01T06:30:00Z")
	csv := cmd.String("usage", "", "file of peaks, with the columns of loadaware import")
	logs := cmd.String("usage-log", "", "folder of usage logs, as of loadaware import usage-log")
	operators := cmd.String("operators", strings.Join(airflow.PodOperators, ","), "globs of the operators that launch pods")
	keys := cmd.String("feature-keys", "", "globs of names of dag_run.conf that are features too, as feature_keys of the provider")
	namespace := cmd.String("namespace", sizing.DefaultNamespace, "of loadaware: tells Airflow deployments apart")
	rate := cmd.Float64("rate", 10, "most requests to Airflow in a second")
	names, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	from, err := readTime("since", *since)
	switch {
	case err != nil:
		return err
	case len(names) > 0:
		return usageErrorf("%q is not understood: loadaware import airflow takes flags only; see its --help", names[0])
	case cmd.AirflowURL == "":
		return usageErrorf("name the Airflow with --url or LOADAWARE_AIRFLOW_URL")
	case *batch < 1 || *batch > maxBatch:
		return usageErrorf("--batch must be 1 to %d, not %d", maxBatch, *batch)
	case !(*rate > 0):
		return usageErrorf("--rate must be above 0")
	}
	a := &airflowImport{
		triesImport: newTriesImport(con, *batch), namespace: *namespace,
		operators: splitList(*operators), allowed: splitList(*keys),
		usage:    usage{ofTry: map[sizing.TryKey]*fileUsage{}},
		declared: map[string]map[string]map[string]any{},
	}
	if cmd.PrometheusURL != "" {
		if a.usage.asked, err = cmd.prometheusClient(0); err != nil {
			return usageErrorf("--prometheus: %v", err)
		}
	}
	a.from, err = airflow.Open(ctx, airflow.Config{
		URL: cmd.AirflowURL, User: cmd.AirflowUser, Password: cmd.AirflowPassword, Token: cmd.AirflowToken, PerSecond: *rate,
		Retrying: func(why error, wait time.Duration) { sayWaiting(con, why, wait) },
	})
	if err != nil {
		return hintAtAirflow(err)
	}
	return a.run(ctx, cmd, *dryRun, *train, func() error {
		if err := a.readUsage(*csv, *logs); err != nil {
			return err
		}
		return a.finish(ctx, a.read(ctx, from, splitList(*dags)))
	})
}

func hintAtAirflow(err error) error {
	if errors.Is(err, airflow.ErrDenied) {
		return fmt.Errorf("%w (name --user with LOADAWARE_AIRFLOW_PASSWORD, or LOADAWARE_AIRFLOW_TOKEN; Airflow 2 takes passwords where its auth_backends hold basic_auth)", err)
	}
	if errors.Is(err, airflow.ErrUnavailable) {
		return fmt.Errorf("%w (check --url, and that the network lets us out)", err)
	}
	return err
}

// splitList reads what commas separate; nothing of an empty text.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func (a *airflowImport) readUsage(csv, logs string) error {
	if csv != "" {
		if err := a.usage.readCSV(a.triesImport, csv, a.namespace); err != nil {
			return err
		}
	}
	if logs != "" {
		return a.usage.readLogs(a.triesImport, logs, a.namespace)
	}
	return nil
}

// read goes through the runs page by page; of each page all is sent before the next.
func (a *airflowImport) read(ctx context.Context, since time.Time, dags []string) error {
	bar := progressbar.NewOptions(-1, progressbar.OptionSetDescription("runs"),
		progressbar.OptionSetWriter(a.con.err), progressbar.OptionSetVisibility(isTerminal(a.con.err)),
		progressbar.OptionClearOnFinish())
	defer func() { _ = bar.Finish() }() // it only draws
	for page, err := range a.from.Runs(ctx, since, dags) {
		if err != nil {
			return hintAtAirflow(err)
		}
		bar.ChangeMax(a.runs + page.Remaining)
		if err := a.page(ctx, page.Runs); err != nil {
			return err
		}
		if err := a.flush(ctx); err != nil {
			return err
		}
		a.runs += len(page.Runs)
		a.newest = page.Runs[len(page.Runs)-1].EndedAt
		_ = bar.Add(len(page.Runs))
	}
	return nil
}

// page takes in some runs, DAG by DAG.
func (a *airflowImport) page(ctx context.Context, runs []airflow.Run) error {
	byDAG := map[string]map[string]*airflow.Run{}
	for n := range runs {
		r := &runs[n]
		if byDAG[r.DAG] == nil {
			byDAG[r.DAG] = map[string]*airflow.Run{}
		}
		byDAG[r.DAG][r.ID] = r
	}
	for _, dag := range slices.Sorted(maps.Keys(byDAG)) {
		if err := a.declare(ctx, dag); err != nil {
			return err
		}
		ofDAG := byDAG[dag]
		for instance, err := range a.from.Instances(ctx, dag, slices.Sorted(maps.Keys(ofDAG))) {
			if err != nil {
				return err
			}
			run := ofDAG[instance.Run]
			if run == nil {
				return fmt.Errorf("%w: it told of run %s of %s, which was not asked for", airflow.ErrInvalidResponse, instance.Run, dag)
			}
			if err := a.instance(ctx, run, &instance); err != nil {
				return err
			}
		}
	}
	return nil
}

// declare learns what the tasks of a DAG declare, once.
func (a *airflowImport) declare(ctx context.Context, dag string) error {
	if a.declared[dag] != nil {
		return nil
	}
	declared, err := a.from.Params(ctx, dag)
	if errors.Is(err, airflow.ErrNotFound) {
		a.left.add("DAG(s) that Airflow cannot read any more: which params they declared is not known, and their runs have no features but --feature-keys", dag)
		declared, err = map[string]map[string]any{}, nil
	}
	a.declared[dag] = declared
	return err
}

// instance takes in all tries of one instance.
func (a *airflowImport) instance(ctx context.Context, run *airflow.Run, last *airflow.Instance) error {
	if last.Operator != "" && !last.LaunchesPod(a.operators) {
		a.left.add("not taken: "+last.Operator+" launches no pod (--operators)", last.DAG+"/"+last.Task)
		return nil
	}
	features := airflow.Features(a.declared[last.DAG][last.Task], run.Conf, a.allowed)
	tries, err := a.earlier(ctx, last)
	if err != nil {
		return err
	}
	for _, try := range append(tries, *last) {
		o, why := try.Observation(a.namespace, features)
		if why != "" {
			a.left.add("not taken: "+why, sayTry(o.Try))
			continue
		}
		missing, err := a.usage.join(ctx, &o)
		if err != nil {
			return err
		}
		if missing != "" {
			a.left.add(missing, sayTry(o.Try))
		} else if o.MemoryMax > 0 || o.MemorySampled > 0 {
			a.joined++
		}
		if err := a.add(ctx, &o); err != nil {
			return err
		}
	}
	return nil
}

// earlier are the tries before the last one.
func (a *airflowImport) earlier(ctx context.Context, last *airflow.Instance) ([]airflow.Instance, error) {
	if last.Try < 2 {
		return nil, nil
	}
	tries, err := a.from.Tries(ctx, last)
	if errors.Is(err, airflow.ErrNotFound) {
		a.left.add("tried before, which this Airflow does not tell (2.10 and later do)", last.DAG+"/"+last.Task+" run "+last.Run)
		return nil, nil
	}
	return slices.DeleteFunc(tries, func(t airflow.Instance) bool { return t.Try >= last.Try }), err
}

// finish says what it came to, and where to go on.
func (a *airflowImport) finish(ctx context.Context, broken error) error {
	if broken == nil {
		a.usage.tellUnjoined(a.left)
	}
	err := a.triesImport.finish(ctx, "airflow", broken)
	fmt.Fprintf(a.con.out, "%d runs; to %d tries a peak was joined\n", a.runs, a.joined)
	if a.usage.asked == nil && len(a.usage.ofTry) == 0 {
		fmt.Fprintln(a.con.out, "Airflow knows no peaks: bring them by --usage, --usage-log or --prometheus, now or in another import")
	}
	if !a.newest.IsZero() {
		fmt.Fprintf(a.con.out, "the last run ended at %s: go on --since then\n", a.newest.UTC().Format(time.RFC3339Nano))
	}
	return err
}
