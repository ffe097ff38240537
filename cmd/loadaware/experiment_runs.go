package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// saveExperiment keeps a report with its models, where cmd says, and says under which id. parameters become a JSON object. A name that is taken is left to
// its owner: the work of a run is not lost for it.
func saveExperiment(ctx context.Context, con console, cmd *command, name string, parameters any, report *experiment.Report, models []store.RunModel) error {
	r := store.Run{Name: name, CreatedAt: time.Now(), Fingerprint: report.Fingerprint}
	for _, part := range []struct {
		into *[]byte
		from any
	}{{&r.Parameters, parameters}, {&r.Rows, report.Rows}, {&r.Report, report}} {
		text, err := json.Marshal(part.from)
		if err != nil {
			return fmt.Errorf("the experiment is not kept: %w", err)
		}
		*part.into = text
	}
	kept, stop, err := openExperiments(ctx, con, cmd, true)
	if err != nil {
		return fmt.Errorf("the experiment is not kept: %w", err)
	}
	defer stop()
	id, err := kept.save(ctx, r, models)
	if name != "" && sizing.KindOf(err) == sizing.Conflict {
		fmt.Fprintf(con.err, "%v; it is kept without a name\n", err)
		r.Name = ""
		id, err = kept.save(ctx, r, models)
	}
	if len(models) > 0 && isStatus(err, http.StatusRequestEntityTooLarge) {
		fmt.Fprintln(con.err, "the models are too large for the server and are not kept; with --database they are")
		id, err = kept.save(ctx, r, nil)
	}
	if err != nil {
		return fmt.Errorf("the experiment is not kept: %w", err)
	}
	fmt.Fprintf(con.err, "kept as experiment %d in %s\n", id, kept.place())
	return nil
}

// checkSave fails before long work where its result could not be kept. A taken name is
// only said: the experiment is then kept without one.
func checkSave(ctx context.Context, con console, cmd *command, name string) error {
	kept, stop, err := openExperiments(ctx, con, cmd, true)
	if err != nil {
		return fmt.Errorf("the experiment could not be kept, so it is not run: %w", err)
	}
	defer stop()
	err = kept.checkSave(ctx, name)
	if sizing.KindOf(err) == sizing.Conflict {
		fmt.Fprintf(con.err, "%v; this one will be kept without a name\n", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("the experiment could not be kept, so it is not run: %w", err)
	}
	return nil
}

// keptRun is a stored experiment, as it is told.
type keptRun struct {
	ID          int64            `json:"id"`
	Name        string           `json:"name"`
	CreatedAt   time.Time        `json:"created_at"`
	Fingerprint string           `json:"fingerprint"`
	Parameters  json.RawMessage  `json:"parameters"`
	Rows        []experiment.Row `json:"rows,omitempty"`
	Report      json.RawMessage  `json:"report,omitempty"`
	Models      []keptModel      `json:"models,omitempty"`

	tasks, families []string // what the rows are about, for the list
	rowCount        int
}

// summarise fills in what the list shows of the rows.
func (k *keptRun) summarise() {
	k.rowCount = len(k.Rows)
	for i := range k.Rows {
		k.tasks, k.families = adjoin(k.tasks, k.Rows[i].Task), adjoin(k.families, k.Rows[i].Family)
	}
}

// keptModel describes a model, but for its bytes.
type keptModel struct {
	Task   string `json:"task"`
	Family string `json:"family"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func toldRun(r *store.Run) (*keptRun, error) {
	k := &keptRun{ID: r.ID, Name: r.Name, CreatedAt: r.CreatedAt, Fingerprint: r.Fingerprint, Parameters: r.Parameters, Report: r.Report}
	if r.Rows == nil {
		return k, nil
	}
	if err := json.Unmarshal(r.Rows, &k.Rows); err != nil {
		return nil, fmt.Errorf("the rows of experiment %d are not understood: was it kept by a newer loadaware? %w", r.ID, err)
	}
	return k, nil
}

const experimentListUsage = `[flags]

Lists the experiments that are kept, newest first.` + experimentPlace

func listExperiments(ctx context.Context, con console, args []string) error {
	cmd := newCommand("experiment list", experimentListUsage, "url", "token", "database", "data")
	limit := cmd.Int("limit", 20, "experiments at most")
	before := cmd.Int64("before", 0, "list those below this id, for the next page; 0 for the newest")
	format := cmd.format()
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if err := checkFormat(*format); err != nil {
		return err
	}
	if len(rest) > 0 || *limit < 1 || *before < 0 {
		return usageErrorf("list takes no argument, --limit from 1 and --before from 0; see loadaware experiment list --help")
	}
	kept, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	runs, err := kept.list(ctx, *before, *limit)
	if err != nil {
		return err
	}
	return writeExperiments(con, *format, runs)
}

func writeExperiments(con console, format string, runs []*keptRun) error {
	s := sheet{header: []string{"id", "name", "created_at", "data", "tasks", "families", "rows"}, texts: 6}
	for _, r := range runs {
		s.rows = append(s.rows, []string{strconv.FormatInt(r.ID, 10), r.Name, r.CreatedAt.Format(time.RFC3339), short(r.Fingerprint),
			strings.Join(r.tasks, " "), strings.Join(r.families, " "), strconv.Itoa(r.rowCount)})
	}
	if format != "json" {
		return s.write(con.out, format)
	}
	return writeJSON(con.out, map[string]any{"experiments": runs})
}

// adjoin adds what is not there yet.
func adjoin(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// short is enough of a fingerprint to tell it from others by eye.
func short(fingerprint string) string { return fingerprint[:min(12, len(fingerprint))] }

const experimentShowUsage = `ID [flags]

Shows a kept experiment, by its id or its name: means over the seeds, and its
models. json holds the whole report; csv holds a line for each row, that is, seed.` + experimentPlace

func showExperiment(ctx context.Context, con console, args []string) error {
	cmd := newCommand("experiment show", experimentShowUsage, "url", "token", "database", "data")
	format := cmd.format()
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if err := checkFormat(*format); err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageErrorf("name one experiment by its id or its name: loadaware experiment list tells them")
	}
	kept, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	k, err := kept.find(ctx, rest[0])
	if err != nil {
		return err
	}
	if k.Models, err = kept.describeModels(ctx, k); err != nil {
		return err
	}
	return k.write(con, *format)
}

func (k *keptRun) write(con console, format string) error {
	switch format {
	case "json":
		return writeJSON(con.out, k)
	case "csv":
		return k.rows().write(con.out, format)
	}
	fmt.Fprintf(con.out, "%s\n\ndata %s\nparameters %s\n\n", k.title(), k.Fingerprint, k.Parameters)
	if err := k.means(format).write(con.out, format); err != nil || len(k.Models) == 0 {
		return err
	}
	models := sheet{header: []string{"model of", "family", "sha256", "bytes"}, texts: 3}
	for _, m := range k.Models {
		models.rows = append(models.rows, []string{m.Task, m.Family, short(m.SHA256), strconv.Itoa(m.Bytes)})
	}
	fmt.Fprintln(con.out)
	return models.write(con.out, format)
}

// title names the experiment for a person.
func (k *keptRun) title() string {
	title := "experiment " + strconv.FormatInt(k.ID, 10)
	if k.Name != "" {
		title += ", " + k.Name
	}
	return title + ", kept " + k.CreatedAt.Format(time.RFC3339)
}

// settingHeader names the cells of settingCells.
func settingHeader() []string {
	return []string{"task", "bins_gb", "family", "oversampling", "split"}
}

func settingCells(s experiment.Setting) []string {
	return []string{s.Task, s.Bins, s.Family, s.Oversampling, s.Split}
}

// means are a line for each setting.
func (k *keptRun) means(format string) *sheet {
	s := figureSheet("seeds")
	groups := experiment.Groups(k.Rows)
	for i := range groups {
		g := &groups[i]
		cells := append(settingCells(g.Setting), strconv.Itoa(len(g.Rows)))
		for _, f := range experiment.Figures() {
			cells = append(cells, figure(format, g.Mean(f.Of), 3))
		}
		s.rows = append(s.rows, cells)
	}
	return s
}

// rows are a line for each row.
func (k *keptRun) rows() *sheet {
	s := figureSheet("seed")
	for i := range k.Rows {
		r := &k.Rows[i]
		cells := append(settingCells(r.Setting()), strconv.FormatUint(r.Seed, 10))
		for _, f := range experiment.Figures() {
			cells = append(cells, figure("csv", f.Of(r), 0))
		}
		s.rows = append(s.rows, cells)
	}
	return s
}

func figureSheet(seeds string) *sheet {
	s := &sheet{header: append(settingHeader(), seeds), texts: len(settingHeader())}
	for _, f := range experiment.Figures() {
		s.header = append(s.header, f.Name)
	}
	return s
}
