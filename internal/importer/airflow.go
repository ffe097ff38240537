package importer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/airflow"
	"github.com/loadaware/loadaware/internal/source/prometheus"
)

// AirflowConfig configures an import of the run history of Airflow.
type AirflowConfig struct {
	Since       time.Time // earliest end date of a run; no limit if zero
	DAGs        []string  // ids of the DAGs; all readable DAGs if empty
	Namespace   string    // loadaware namespace of the tries
	Operators   []string  // globs of the operators that launch pods
	FeatureKeys []string  // globs of the entries of dag_run.conf that are features

	UsageFile  string             // file with peaks; none if empty
	UsageLogs  string             // folder of usage logs; none if empty
	Prometheus *prometheus.Client // source of usage; none if nil
}

// Airflow imports the run history of Airflow, joined with the configured usage.
func (t *TriesImporter) Airflow(ctx context.Context, c *airflow.Client, cfg AirflowConfig) error {
	a := &airflowImport{
		TriesImporter: t, client: c, cfg: cfg,
		usage: usage{byTry: map[sizing.TryKey]*fileUsage{}, prometheus: cfg.Prometheus},
		dags:  map[string]dagDefinition{},

		operators: airflow.CompileGlobs(cfg.Operators), featureKeys: airflow.CompileGlobs(cfg.FeatureKeys),
	}
	if err := a.readUsage(); err != nil {
		return err
	}
	return a.finish(ctx, ExplainAirflow(a.read(ctx)))
}

type airflowImport struct {
	*TriesImporter
	client *airflow.Client
	cfg    AirflowConfig
	usage  usage
	dags   map[string]dagDefinition // by id
	runs   int                      // number of runs that were sent
	joined int                      // number of tries with a peak
	newest time.Time                // end date of the newest run that was sent completely

	operators, featureKeys airflow.Patterns // compiled cfg.Operators and cfg.FeatureKeys
}

// dagDefinition is the current definition of a DAG in Airflow.
type dagDefinition struct {
	tasks map[string]airflow.Task // by id
	tags  []string
}

func (a *airflowImport) readUsage() error {
	if a.cfg.UsageFile != "" {
		if err := a.usage.readFile(a.TriesImporter, a.cfg.UsageFile, a.cfg.Namespace); err != nil {
			return err
		}
	}
	if a.cfg.UsageLogs != "" {
		return a.usage.readLogs(a.TriesImporter, a.cfg.UsageLogs, a.cfg.Namespace)
	}
	return nil
}

// read imports the runs page by page, and sends each page before it reads the next.
func (a *airflowImport) read(ctx context.Context) error {
	bar := a.con.progress(-1, "runs")
	defer func() { _ = bar.Finish() }() // a drawing error does not matter
	for page, err := range a.client.Runs(ctx, a.cfg.Since, a.cfg.DAGs) {
		if err != nil {
			return err
		}
		bar.ChangeMax(a.runs + page.Remaining)
		if err := a.addPage(ctx, page.Runs); err != nil {
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

func (a *airflowImport) addPage(ctx context.Context, runs []airflow.Run) error {
	byDAG := map[string]map[string]*airflow.Run{}
	for n := range runs {
		r := &runs[n]
		if byDAG[r.DAG] == nil {
			byDAG[r.DAG] = map[string]*airflow.Run{}
		}
		byDAG[r.DAG][r.ID] = r
	}
	for _, dag := range slices.Sorted(maps.Keys(byDAG)) {
		if err := a.loadDefinition(ctx, dag); err != nil {
			return err
		}
		byRun := byDAG[dag]
		for instance, err := range a.client.Instances(ctx, dag, slices.Sorted(maps.Keys(byRun))) {
			if err != nil {
				return err
			}
			run := byRun[instance.Run]
			if run == nil {
				return fmt.Errorf("%w: it returned run %s of DAG %s, which was not requested", airflow.ErrInvalidResponse, instance.Run, dag)
			}
			if err := a.addInstance(ctx, run, &instance); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *airflowImport) loadDefinition(ctx context.Context, dag string) error {
	if a.dags[dag].tasks != nil {
		return nil
	}
	tasks, err := a.client.Tasks(ctx, dag)
	if errors.Is(err, airflow.ErrNotFound) {
		a.notes.add("DAG(s) that Airflow no longer has: their declared params are unknown, so their runs have only the features of --feature-keys", dag)
		a.dags[dag] = dagDefinition{tasks: map[string]airflow.Task{}}
		return nil
	}
	if err != nil {
		return err
	}
	tags, err := a.client.Tags(ctx, dag)
	if errors.Is(err, airflow.ErrNotFound) {
		err = nil // the DAG was deleted after its tasks were read
	}
	if err != nil {
		return err
	}
	a.dags[dag] = dagDefinition{tasks, tags}
	a.addStructure(dag, tasks)
	return nil
}

// addStructure adds the dependencies of all tasks of a DAG, as the Airflow provider would have sent them. It ignores a
// DAG without tasks and a DAG with more than forecast.MaxTasks tasks.
func (a *airflowImport) addStructure(dag string, tasks map[string]airflow.Task) {
	upstream := map[string][]string{}
	for id := range tasks {
		upstream[id] = []string{}
	}
	for _, id := range slices.Sorted(maps.Keys(tasks)) {
		for _, next := range tasks[id].Downstream {
			upstream[next] = append(upstream[next], id)
		}
	}
	if len(tasks) > forecast.MaxTasks {
		a.notes.add("DAG(s) with too many tasks for a forecast", dag)
	} else if len(tasks) > 0 {
		a.upstream[dagKey{a.cfg.Namespace, dag}] = upstream
	}
}

// addInstance imports the tries of one task instance; `last` is its last try.
func (a *airflowImport) addInstance(ctx context.Context, run *airflow.Run, last *airflow.Instance) error {
	if last.Operator != "" && !last.LaunchesPod(a.operators) {
		a.notes.add("skipped: "+last.Operator+" launches no pod (--operators)", last.DAG+"/"+last.Task)
		return nil
	}
	task := a.dags[last.DAG].tasks[last.Task]
	features := airflow.Features(task.Params, run.Conf, a.featureKeys)
	metadata := last.Metadata(&task, a.dags[last.DAG].tags) // the metadata of all tries, because Airflow stores the rendered fields of the last try only
	tries, err := a.earlierTries(ctx, last)
	if err != nil {
		return err
	}
	for _, try := range append(tries, *last) {
		o, reason := try.Observation(a.cfg.Namespace, features)
		if reason != "" {
			a.notes.add("skipped: "+reason, formatTry(o.Try))
			continue
		}
		o.Metadata = metadata
		missing, err := a.usage.join(ctx, &o)
		if err != nil {
			return err
		}
		if missing != "" {
			a.notes.add(missing, formatTry(o.Try))
		} else if o.MemoryMax > 0 || o.MemorySampled > 0 {
			a.joined++
		}
		if err := a.add(ctx, &o); err != nil {
			return err
		}
	}
	return nil
}

func (a *airflowImport) earlierTries(ctx context.Context, last *airflow.Instance) ([]airflow.Instance, error) {
	if last.Try < 2 {
		return nil, nil
	}
	tries, err := a.client.Tries(ctx, last)
	if errors.Is(err, airflow.ErrNotFound) {
		a.notes.add("task instance(s) with earlier tries that this Airflow does not return (Airflow 2.10 and later do)", last.DAG+"/"+last.Task+" run "+last.Run)
		return nil, nil
	}
	return slices.DeleteFunc(tries, func(t airflow.Instance) bool { return t.Try >= last.Try }), err
}

func (a *airflowImport) finish(ctx context.Context, readErr error) error {
	if readErr == nil {
		a.usage.countUnjoined(a.notes)
	}
	err := a.TriesImporter.finish(ctx, "airflow", readErr)
	if err == nil {
		err = a.sendStructures(ctx)
	}
	fmt.Fprintf(a.con.Out, "%s; a peak was joined to %s\n", render.Count(a.runs, "run"), render.Count(a.joined, "try"))
	if a.usage.prometheus == nil && len(a.usage.byTry) == 0 {
		fmt.Fprintln(a.con.Out, "Airflow stores no peaks: add them with --usage, --usage-log or --prometheus, now or in another import")
	}
	if !a.newest.IsZero() {
		fmt.Fprintf(a.con.Out, "the last run ended at %s; continue with --since and that time\n", a.newest.UTC().Format(time.RFC3339Nano))
	}
	return err
}

// ExplainAirflow adds advice to airflow.ErrDenied and airflow.ErrUnavailable. It returns other errors, and nil, unchanged.
func ExplainAirflow(err error) error {
	if errors.Is(err, airflow.ErrDenied) {
		return fmt.Errorf("%w; set --user with LOADAWARE_AIRFLOW_PASSWORD, or LOADAWARE_AIRFLOW_TOKEN (Airflow 2 accepts passwords if its auth_backends contain basic_auth)", err)
	}
	if errors.Is(err, airflow.ErrUnavailable) {
		return fmt.Errorf("%w; check --url and the network policy", err)
	}
	return err
}
