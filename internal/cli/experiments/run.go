package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/experiment/tracking"
	"github.com/loadaware/loadaware/internal/ml/score"
	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
)

const experimentRunUsage = `[flags]

Fits each model family, with each --oversampling that it supports (final and serving always
learn from the original rows), on 70 % of the runs of a task, predicts the bins of the other
runs, and compares the errors. The family serving predicts the bin of the amount that
loadaware serve would grant; with this family the command also compares these grants with the
static requests. The history comes from --trace, a file as in loadaware import, or else from a
database, even while a server uses this database. The same history and flags give the same
output. With --save the command checks first that it can save the result.` + experimentPlace + `

If --trace is missing, the history comes from the database of --database, DATABASE_URL or
--data.`

type experimentRun struct {
	*cli.Command
	cfg    experiment.Config
	trace  string
	format string
	save   string
}

func runExperiment(ctx context.Context, con cli.Console, args []string) error {
	e, err := parseExperiment(con, args)
	if err != nil {
		return err
	}
	if e.save != "" {
		if err := e.checkCanSave(ctx, con); err != nil {
			return err
		}
	}
	data, err := e.data(ctx, con)
	if err != nil {
		return err
	}
	plan, err := experiment.New(data, e.cfg)
	if err != nil {
		return err
	}
	for _, warning := range plan.Warnings() {
		fmt.Fprintf(con.Err, "warning: %s\n", warning)
	}
	bar := progressbar.NewOptions(plan.Steps(), progressbar.OptionSetDescription("experimenting"),
		progressbar.OptionSetWriter(con.Err), progressbar.OptionSetVisibility(cli.IsTerminal(con.Err)),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	report, err := plan.Run(ctx, func(steps int) { _ = bar.Add(steps) }) // a drawing error does not matter
	if err != nil {
		return err
	}
	_ = bar.Finish()
	if err := experiment.Write(con.Out, e.format, report); err != nil || e.save == "" {
		return err
	}
	return e.saveRun(ctx, con, plan, report)
}

func (e *experimentRun) saveRun(ctx context.Context, con cli.Console, plan *experiment.Plan, report *experiment.Report) error {
	trained, err := plan.Models(report)
	if err != nil {
		return err
	}
	models := make([]store.RunModel, len(trained))
	for i, m := range trained {
		models[i] = store.RunModel(m)
	}
	parameters := struct {
		Trace string `json:"trace"`
		experiment.Config
	}{report.Trace, plan.Config}
	st, stop, err := openExperiments(ctx, con, e.Command, true)
	if err != nil {
		return fmt.Errorf("save the experiment: %w", err)
	}
	defer stop()
	return tracking.Save(ctx, st, con.Err, e.save, parameters, report, models)
}

// checkCanSave finds out before the experiment runs whether the place of --save is available.
func (e *experimentRun) checkCanSave(ctx context.Context, con cli.Console) error {
	st, stop, err := openExperiments(ctx, con, e.Command, true)
	if err == nil {
		defer stop()
		err = tracking.CheckCanSave(ctx, st, con.Err, e.save)
	}
	if err != nil {
		return fmt.Errorf("the experiment cannot be saved, so it does not run: %w", err)
	}
	return nil
}

// maxName is the maximum length of the name of an experiment in characters, as in the API.
const maxName = 250

func parseExperiment(con cli.Console, args []string) (*experimentRun, error) {
	e := &experimentRun{Command: cli.New("experiment run", experimentRunUsage, "url", "token", "database", "data")}
	e.cfg.BinsGB = map[string][][]float64{}
	e.StringVar(&e.trace, "trace", "", "the `FILE` of the history: CSV or JSON lines, plain or gzip; - is standard input; the database if empty")
	tasks := e.String("tasks", "", "task ids, separated by commas; if empty, the tasks with at least 100 runs and at least a tenth of the memory time (peak times duration) of all tasks; if there are none, the task with the most memory time")
	e.Func("bins", "upper edges of the bins of a task in GB (1e9 bytes), as `TASK=30,350`; may be repeated, also for one task; for a task without edges, the command finds the best binnings with 2, 3 and 4 bins, and evaluates each of them", e.parseBins)
	families := e.String("families", strings.Join(experiment.DefaultFamilies(), ","), "families, separated by commas, of "+strings.Join(experiment.Families(), ", ")+
		"; final chooses the bin of least expected cost, by the probabilities of the model that loadaware serve uses; it ignores the risk target, and with --split stratified these probabilities come from cross-validated residuals; serving chooses the bin of the amount that loadaware serve would grant")
	oversampling := e.String("oversampling", experiment.None, "oversampling, separated by commas, of "+strings.Join(experiment.Oversamplings(), ", "))
	e.StringVar(&e.cfg.Split, "split", experiment.Stratified, "holdout: stratified (30 % of each bin, drawn by seed) or time (the newest 30 %)")
	e.IntVar(&e.cfg.Seeds, "seeds", 5, "number of seeds, at least 1; the seeds are 0, 1, …")
	e.Float64Var(&e.cfg.Penalty, "penalty", score.DefaultPenalty, "cost of an under-estimate, if an over-estimate costs 1; a finite number above 0")
	e.IntVar(&e.cfg.Trials, "trials", 0, "trials of the parameter search of each family, by 3-fold cross-validation on the training rows; 0 for none")
	e.StringVar(&e.cfg.Search, "search", experiment.Bayes, "method of the parameter search: "+strings.Join(experiment.Searches(), " or "))
	e.StringVar(&e.save, "save", "", "save the result with a `NAME`, for experiment list, show, compare and export; not saved if empty")
	e.StringVar(&e.format, "o", "table", "output: "+strings.Join(experiment.Formats(), ", "))
	rest, err := e.ParseArgs(con, args)
	if err != nil {
		return nil, err
	}
	e.cfg.Tasks, e.cfg.Families, e.cfg.Oversamplings = cli.SplitList(*tasks), cli.SplitList(*families), cli.SplitList(*oversampling)
	switch {
	case len(rest) > 0:
		return nil, cli.UsageErrorf("unexpected argument %q; name the history with --trace", rest[0])
	case e.trace != "" && e.save == "" && (e.Given("database") || e.Given("data")):
		return nil, cli.UsageErrorf("the history comes from --trace, so --database and --data need --save NAME, which saves the result there")
	case e.save == "" && e.ServerGiven():
		return nil, cli.UsageErrorf("--url names the server for --save; add --save NAME")
	case utf8.RuneCountInString(e.save) > maxName:
		return nil, cli.UsageErrorf("--save must have at most %d characters, not %d", maxName, utf8.RuneCountInString(e.save))
	case isInteger(e.save):
		return nil, cli.UsageErrorf("--save must not be an integer, because ids are integers")
	case e.cfg.Seeds < 1:
		return nil, cli.UsageErrorf("--seeds must be 1 or more, not %d", e.cfg.Seeds)
	case e.cfg.Trials < 0:
		return nil, cli.UsageErrorf("--trials must be 0 or more, not %d", e.cfg.Trials)
	case !(e.cfg.Penalty > 0) || math.IsInf(e.cfg.Penalty, 0):
		return nil, cli.UsageErrorf("--penalty must be a finite number above 0, not %v", e.cfg.Penalty)
	}
	for _, choice := range []struct {
		flag         string
		chosen, from []string
	}{
		{"--families", e.cfg.Families, experiment.Families()},
		{"--oversampling", e.cfg.Oversamplings, experiment.Oversamplings()},
		{"--split", []string{e.cfg.Split}, experiment.Splits()},
		{"--search", []string{e.cfg.Search}, experiment.Searches()},
		{"-o", []string{e.format}, experiment.Formats()},
	} {
		for _, name := range choice.chosen {
			if !slices.Contains(choice.from, name) {
				return nil, cli.UsageErrorf("%s must be one of %s, not %q", choice.flag, strings.Join(choice.from, ", "), name)
			}
		}
	}
	return e, nil
}

// isInteger reports whether a name is an integer. Such a name could be confused with the id of an experiment.
func isInteger(name string) bool {
	_, err := strconv.Atoi(name)
	return err == nil
}

// parseBins parses TASK=30,350, with edges in GB.
func (e *experimentRun) parseBins(s string) error {
	separator := strings.LastIndexByte(s, '=') // a task id may contain equals signs
	if separator < 1 {
		return fmt.Errorf("write TASK=30,350")
	}
	task, edges := s[:separator], []float64(nil)
	for _, text := range cli.SplitList(s[separator+1:]) {
		gb, err := strconv.ParseFloat(text, 64)
		if err != nil || !(gb > 0) || math.IsInf(gb, 0) || len(edges) > 0 && gb <= edges[len(edges)-1] {
			return fmt.Errorf("edges must be GB above 0, ascending")
		}
		edges = append(edges, gb)
	}
	if len(edges) == 0 {
		return fmt.Errorf("write TASK=30,350")
	}
	e.cfg.BinsGB[task] = append(e.cfg.BinsGB[task], edges)
	return nil
}

func (e *experimentRun) data(ctx context.Context, con cli.Console) (*experiment.Data, error) {
	switch {
	case e.trace == "-":
		return experiment.Read("standard input", con.In)
	case e.trace != "":
		file, err := os.Open(e.trace)
		if err != nil {
			return nil, fmt.Errorf("open the history: %w", err)
		}
		defer file.Close()
		return experiment.Read(filepath.Base(e.trace), file)
	case !e.HasDatabase():
		return nil, fmt.Errorf("no history: name a file with --trace or a database with --database; the data folder %s has no database", e.Data)
	}
	return e.databaseHistory(ctx, con)
}

func (e *experimentRun) databaseHistory(ctx context.Context, con cli.Console) (*experiment.Data, error) {
	st, stop, err := e.openHistory(ctx, con)
	if err != nil {
		return nil, err
	}
	defer stop()
	return tracking.ReadHistory(ctx, st, e.Location())
}

// openHistory opens the database with the history. If a server uses the private database, openHistory connects to it without
// a migration.
func (e *experimentRun) openHistory(ctx context.Context, con cli.Console) (*postgres.Store, func(), error) {
	log := e.Logger(con.Err)
	st, stop, err := app.OpenStore(ctx, &e.Config, log)
	if inUse := (*pglocal.InUseError)(nil); errors.As(err, &inUse) && inUse.DSN() != "" {
		if st, err = postgres.Open(ctx, inUse.DSN(), postgres.Config{Log: log}); err != nil {
			return nil, nil, fmt.Errorf("read the history of %s while its server runs: %w", e.Data, err)
		}
		return st, st.Close, nil
	}
	return st, stop, err
}
