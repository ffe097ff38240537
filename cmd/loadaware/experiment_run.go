package main

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

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/ml/score"
	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
)

const experimentRunUsage = `[flags]

Tries binnings, families and oversampling on the history of tasks, and compares
what they would have granted. The history is that of --trace, which is what import
takes, else that of the database, also while a server uses it. The same history,
flags and seeds give the same output. Whether the result can be saved is checked
before the work starts.` + experimentPlace + `

Without --trace, --database and --data name the history as well.`

// experimenting is what the flags of the verb say.
type experimenting struct {
	*command
	cfg    experiment.Config
	trace  string
	format string
	save   string
}

func runExperiment(ctx context.Context, con console, args []string) error {
	e, err := parseExperiment(con, args)
	if err != nil {
		return err
	}
	if e.save != "" {
		if err := checkSave(ctx, con, e.command, e.save); err != nil {
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
	bar := progressbar.NewOptions(plan.Steps(), progressbar.OptionSetDescription("experimenting"),
		progressbar.OptionSetWriter(con.err), progressbar.OptionSetVisibility(isTerminal(con.err)),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	report, err := plan.Run(ctx, func(steps int) { _ = bar.Add(steps) }) // what the bar cannot show is not missed
	if err != nil {
		return err
	}
	_ = bar.Finish()
	if err := experiment.Write(con.out, e.format, report); err != nil || e.save == "" {
		return err
	}
	return e.keep(ctx, con, plan, report)
}

// keep stores the run with what was asked for, filled in with defaults.
func (e *experimenting) keep(ctx context.Context, con console, plan *experiment.Plan, report *experiment.Report) error {
	learned, err := plan.Models(report)
	if err != nil {
		return err
	}
	models := make([]store.RunModel, len(learned))
	for i, m := range learned {
		models[i] = store.RunModel(m)
	}
	parameters := struct {
		Trace string `json:"trace"`
		experiment.Config
	}{report.Trace, plan.Config}
	return saveExperiment(ctx, con, e.command, e.save, parameters, report, models)
}

func parseExperiment(con console, args []string) (*experimenting, error) {
	e := &experimenting{command: newCommand("experiment run", experimentRunUsage, "url", "token", "database", "data")}
	e.cfg.BinsGB = map[string][][]float64{}
	e.StringVar(&e.trace, "trace", "", "the `FILE` of the history: CSV or JSON lines, plain or gzip; - is standard input; the database if empty")
	tasks := e.String("tasks", "", "task ids, separated by commas; those of a tenth of the use or more if empty")
	e.Func("bins", "upper edges in GB (1e9 bytes), as `TASK=30,350`; may be repeated, also for one task; searched for 2 to 4 bins where a task has none", e.bins)
	families := e.String("families", strings.Join(experiment.DefaultFamilies(), ","), "families, separated by commas, of "+strings.Join(experiment.Families(), ", ")+
		"; final decides by serving's probabilities without a risk cap, serving is what would be granted")
	oversampling := e.String("oversampling", experiment.None, "oversampling, separated by commas, of "+strings.Join(experiment.Oversamplings(), ", "))
	e.StringVar(&e.cfg.Split, "split", experiment.Stratified, "rows held back: stratified (30 % of each bin, drawn by seed) or time (the newest 30 %)")
	e.IntVar(&e.cfg.Seeds, "seeds", 5, "seeds, from 0 on")
	e.Float64Var(&e.cfg.Penalty, "penalty", score.DefaultPenalty, "cost of an under-estimate, where an over-estimate costs 1")
	e.IntVar(&e.cfg.Trials, "trials", 0, "trials of a search for each family's parameters, judged on 3 folds of the rows that are learned from; 0 for none")
	e.StringVar(&e.cfg.Search, "search", experiment.Bayes, "search for parameters: "+strings.Join(experiment.Searches(), " or "))
	e.StringVar(&e.save, "save", "", "keep the run under a `NAME` in the database, for experiment list, show, compare and export; not kept if empty")
	e.StringVar(&e.format, "o", "table", "output: "+strings.Join(experiment.Formats(), ", "))
	rest, err := e.parse(con, args)
	if err != nil {
		return nil, err
	}
	e.cfg.Tasks, e.cfg.Families, e.cfg.Oversamplings = list(*tasks), list(*families), list(*oversampling)
	switch {
	case len(rest) > 0:
		return nil, usageErrorf("%q is not understood: name the history with --trace", rest[0])
	case e.trace != "" && e.save == "" && (e.given("database") || e.given("data")):
		return nil, usageErrorf("give --trace or a database, not both, unless to --save there")
	case e.save == "" && e.serverGiven():
		return nil, usageErrorf("--url names where to --save: add --save NAME")
	case len(e.save) > 250:
		return nil, usageErrorf("--save must have at most 250 characters, not %d", len(e.save))
	case isWhole(e.save):
		return nil, usageErrorf("--save must not be a whole number, which would be taken for an id")
	case e.cfg.Seeds < 1:
		return nil, usageErrorf("--seeds must be 1 or more, not %d", e.cfg.Seeds)
	case e.cfg.Trials < 0:
		return nil, usageErrorf("--trials must be 0 or more, not %d", e.cfg.Trials)
	case !(e.cfg.Penalty > 0) || math.IsInf(e.cfg.Penalty, 0):
		return nil, usageErrorf("--penalty must be above 0, not %v", e.cfg.Penalty)
	}
	for _, choice := range []struct {
		flag         string
		chosen, from []string
	}{
		{"families", e.cfg.Families, experiment.Families()},
		{"oversampling", e.cfg.Oversamplings, experiment.Oversamplings()},
		{"split", []string{e.cfg.Split}, experiment.Splits()},
		{"search", []string{e.cfg.Search}, experiment.Searches()},
		{"o", []string{e.format}, experiment.Formats()},
	} {
		for _, name := range choice.chosen {
			if !slices.Contains(choice.from, name) {
				return nil, usageErrorf("--%s must be of %s, not %q", choice.flag, strings.Join(choice.from, ", "), name)
			}
		}
	}
	return e, nil
}

func isWhole(name string) bool {
	_, err := strconv.Atoi(name)
	return err == nil
}

// bins reads TASK=30,350.
func (e *experimenting) bins(s string) error {
	at := strings.LastIndexByte(s, '=') // a task id may hold one
	if at < 1 {
		return fmt.Errorf("write TASK=30,350")
	}
	task, edges := s[:at], []float64(nil)
	for _, text := range list(s[at+1:]) {
		gb, err := strconv.ParseFloat(text, 64)
		if err != nil || !(gb > 0) || math.IsInf(gb, 0) || len(edges) > 0 && gb <= edges[len(edges)-1] {
			return fmt.Errorf("edges are GB, above 0 and ascending")
		}
		edges = append(edges, gb)
	}
	if len(edges) == 0 {
		return fmt.Errorf("write TASK=30,350")
	}
	e.cfg.BinsGB[task] = append(e.cfg.BinsGB[task], edges)
	return nil
}

// data is the history of the trace, else of the database.
func (e *experimenting) data(ctx context.Context, con console) (*experiment.Data, error) {
	switch {
	case e.trace == "-":
		return experiment.Read("standard input", con.in)
	case e.trace != "":
		file, err := os.Open(e.trace)
		if err != nil {
			return nil, fmt.Errorf("open the history: %w", err)
		}
		defer file.Close()
		return experiment.Read(filepath.Base(e.trace), file)
	case e.DatabaseURL == "" && !exists(e.Data):
		return nil, fmt.Errorf("there is no history: name a file with --trace or a database with --database, for there is no data folder %s yet", e.Data)
	}
	return e.stored(ctx, con)
}

// wholeHistory has no row thinned out.
var wholeHistory = store.HistoryLimits{Total: math.MaxInt32}

// stored is the history of the database.
func (e *experimenting) stored(ctx context.Context, con console) (*experiment.Data, error) {
	st, stop, err := e.openHistory(ctx, con)
	if err != nil {
		return nil, err
	}
	defer stop()
	const page = 500
	var histories []*sizing.History
	after := sizing.TaskKey{}
	for {
		profiles, err := st.Tasks(ctx, "", after, page)
		if err != nil {
			return nil, err
		}
		for i := range profiles {
			h, err := st.History(ctx, profiles[i].Task, wholeHistory)
			if err != nil {
				return nil, err
			}
			histories, after = append(histories, &h), h.Task
		}
		if len(profiles) < page {
			return experiment.Of(e.where(), histories)
		}
	}
}

// openHistory opens the database to read from. The private database of a folder that a
// server holds is read beside it, with the tables as that server made them.
func (e *experimenting) openHistory(ctx context.Context, con console) (*postgres.Store, func(), error) {
	log := e.logger(con)
	st, stop, err := openStore(ctx, &e.config, "", log)
	if held := (*pglocal.InUseError)(nil); errors.As(err, &held) && held.DSN() != "" {
		if st, err = postgres.Open(ctx, held.DSN(), postgres.Config{Log: log}); err != nil {
			return nil, nil, fmt.Errorf("read the history of %s beside its server: %w", e.Data, err)
		}
		return st, st.Close, nil
	}
	return st, stop, err
}
