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

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// saveExperiment saves a report with its models and prints its id. parameters become a JSON
// object. If the name exists already, it saves without a name, so that no work is lost.
func saveExperiment(ctx context.Context, con console, cmd *command, name string, parameters any, report *experiment.Report, models []store.RunModel) error {
	r := store.Run{Name: name, CreatedAt: time.Now(), Fingerprint: report.Fingerprint}
	for _, part := range []struct {
		into *[]byte
		from any
	}{{&r.Parameters, parameters}, {&r.Rows, report.Rows}, {&r.Report, report}} {
		text, err := json.Marshal(part.from)
		if err != nil {
			return fmt.Errorf("save the experiment: %w", err)
		}
		*part.into = text
	}
	experiments, stop, err := openExperiments(ctx, con, cmd, true)
	if err != nil {
		return fmt.Errorf("save the experiment: %w", err)
	}
	defer stop()
	id, err := experiments.save(ctx, r, models)
	if name != "" && sizing.KindOf(err) == sizing.Conflict {
		fmt.Fprintf(con.err, "%v; it is saved without a name\n", err)
		r.Name = ""
		id, err = experiments.save(ctx, r, models)
	}
	if len(models) > 0 && client.IsStatus(err, http.StatusRequestEntityTooLarge) {
		fmt.Fprintln(con.err, "the models are too large for the server and are not saved; --database saves them")
		id, err = experiments.save(ctx, r, nil)
	}
	if err != nil {
		return fmt.Errorf("save the experiment: %w", err)
	}
	fmt.Fprintf(con.err, "kept as experiment %d in %s\n", id, experiments.place())
	return nil
}

// checkCanSave returns an error if the result could not be saved. If the name exists, it
// only prints that the experiment will be saved without a name.
func checkCanSave(ctx context.Context, con console, cmd *command, name string) error {
	experiments, stop, err := openExperiments(ctx, con, cmd, true)
	if err != nil {
		return fmt.Errorf("the experiment cannot be saved, so it does not run: %w", err)
	}
	defer stop()
	err = experiments.checkCanSave(ctx, name)
	if sizing.KindOf(err) == sizing.Conflict {
		fmt.Fprintf(con.err, "%v; this experiment will be saved without a name\n", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("the experiment cannot be saved, so it does not run: %w", err)
	}
	return nil
}

// savedRun is a saved experiment.
type savedRun struct {
	ID          int64            `json:"id"`
	Name        string           `json:"name"`
	CreatedAt   time.Time        `json:"created_at"`
	Fingerprint string           `json:"fingerprint"`
	Parameters  json.RawMessage  `json:"parameters"`
	Rows        []experiment.Row `json:"rows,omitempty"`
	Report      json.RawMessage  `json:"report,omitempty"`
	Models      []savedModel     `json:"models,omitempty"`

	tasks, families []string // of the rows, for the list
	rowCount        int
}

// summarise sets the fields that the list shows.
func (k *savedRun) summarise() {
	k.rowCount = len(k.Rows)
	for i := range k.Rows {
		k.tasks, k.families = appendUnique(k.tasks, k.Rows[i].Task), appendUnique(k.families, k.Rows[i].Family)
	}
}

// savedModel describes a saved model.
type savedModel struct {
	Task   string `json:"task"`
	Family string `json:"family"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// newSavedRun decodes a stored experiment.
func newSavedRun(r *store.Run) (*savedRun, error) {
	k := &savedRun{ID: r.ID, Name: r.Name, CreatedAt: r.CreatedAt, Fingerprint: r.Fingerprint, Parameters: r.Parameters, Report: r.Report}
	if r.Rows == nil {
		return k, nil
	}
	if err := json.Unmarshal(r.Rows, &k.Rows); err != nil {
		return nil, fmt.Errorf("decode the rows of experiment %d: %w; a newer loadaware may have saved it", r.ID, err)
	}
	return k, nil
}

const experimentListUsage = `[flags]

Lists the saved experiments, newest first.` + experimentPlace

func listExperiments(ctx context.Context, con console, args []string) error {
	cmd := newCommand("experiment list", experimentListUsage, "url", "token", "database", "data")
	limit := cmd.Int("limit", 20, "maximum number of experiments")
	before := cmd.Int64("before", 0, "only experiments with a lower id, for the next page; 0 for the newest")
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
	experiments, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	runs, err := experiments.list(ctx, *before, *limit)
	if err != nil {
		return err
	}
	return writeExperiments(con, *format, runs)
}

func writeExperiments(con console, format string, runs []*savedRun) error {
	s := table{header: []string{"id", "name", "created_at", "data", "tasks", "families", "rows"}, texts: 6}
	for _, r := range runs {
		s.rows = append(s.rows, []string{strconv.FormatInt(r.ID, 10), r.Name, r.CreatedAt.Format(time.RFC3339), short(r.Fingerprint),
			strings.Join(r.tasks, " "), strings.Join(r.families, " "), strconv.Itoa(r.rowCount)})
	}
	if format != "json" {
		return s.write(con.out, format)
	}
	return writeJSON(con.out, map[string]any{"experiments": runs})
}

// appendUnique appends text unless list contains it.
func appendUnique(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// short returns the first digits of a fingerprint.
func short(fingerprint string) string { return fingerprint[:min(12, len(fingerprint))] }

const experimentShowUsage = `ID [flags]

Shows a saved experiment, given by its id or name: means over the seeds, and its models.
json has the whole report; csv has a line for each setting and seed.` + experimentPlace

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
		return usageErrorf("name one experiment by id or name; see loadaware experiment list")
	}
	experiments, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	k, err := experiments.find(ctx, rest[0])
	if err != nil {
		return err
	}
	if k.Models, err = experiments.describeModels(ctx, k); err != nil {
		return err
	}
	return k.write(con, *format)
}

func (k *savedRun) write(con console, format string) error {
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
	models := table{header: []string{"model of", "family", "sha256", "bytes"}, texts: 3}
	for _, m := range k.Models {
		models.rows = append(models.rows, []string{m.Task, m.Family, short(m.SHA256), strconv.Itoa(m.Bytes)})
	}
	fmt.Fprintln(con.out)
	return models.write(con.out, format)
}

// title names the experiment in text output.
func (k *savedRun) title() string {
	title := "experiment " + strconv.FormatInt(k.ID, 10)
	if k.Name != "" {
		title += ", " + k.Name
	}
	return title + ", kept " + k.CreatedAt.Format(time.RFC3339)
}

// settingHeader returns the header of settingCells.
func settingHeader() []string {
	return []string{"task", "bins_gb", "family", "oversampling", "split"}
}

func settingCells(s experiment.Setting) []string {
	return []string{s.Task, s.Bins, s.Family, s.Oversampling, s.Split}
}

// means returns a line for each setting.
func (k *savedRun) means(format string) *table {
	s := newFigureTable("seeds")
	groups := experiment.Groups(k.Rows)
	for i := range groups {
		g := &groups[i]
		cells := append(settingCells(g.Setting), strconv.Itoa(len(g.Rows)))
		for _, f := range experiment.Figures() {
			cells = append(cells, formatFigure(format, g.Mean(f.Of), 3))
		}
		s.rows = append(s.rows, cells)
	}
	return s
}

// rows returns a line for each setting and seed.
func (k *savedRun) rows() *table {
	s := newFigureTable("seed")
	for i := range k.Rows {
		r := &k.Rows[i]
		cells := append(settingCells(r.Setting()), strconv.FormatUint(r.Seed, 10))
		for _, f := range experiment.Figures() {
			cells = append(cells, formatFigure("csv", f.Of(r), 0))
		}
		s.rows = append(s.rows, cells)
	}
	return s
}

func newFigureTable(seeds string) *table {
	s := &table{header: append(settingHeader(), seeds), texts: len(settingHeader())}
	for _, f := range experiment.Figures() {
		s.header = append(s.header, f.Name)
	}
	return s
}
