// Package tracking saves experiments in a database or on a server, and lists, shows,
// compares and exports them.
package tracking

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/store"
)

// Run is a saved experiment.
type Run struct {
	ID          int64            `json:"id"`
	Name        string           `json:"name"`
	CreatedAt   time.Time        `json:"created_at"`
	Fingerprint string           `json:"fingerprint"`
	Parameters  json.RawMessage  `json:"parameters"`
	Rows        []experiment.Row `json:"rows,omitempty"`
	Report      json.RawMessage  `json:"report,omitempty"`
	Models      []Model          `json:"models,omitempty"`

	tasks, families []string // distinct tasks and families of the rows, for the list
	rowCount        int      // number of rows, for the list
}

// Model describes a saved model.
type Model struct {
	Task   string `json:"task"`
	Family string `json:"family"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func newRun(stored *store.Run) (*Run, error) {
	r := &Run{ID: stored.ID, Name: stored.Name, CreatedAt: stored.CreatedAt, Fingerprint: stored.Fingerprint, Parameters: stored.Parameters, Report: stored.Report}
	if stored.Rows == nil {
		return r, nil
	}
	if err := json.Unmarshal(stored.Rows, &r.Rows); err != nil {
		return nil, fmt.Errorf("decode the rows of experiment %d: %w; a newer loadaware may have saved it", stored.ID, err)
	}
	return r, nil
}

// newSummary returns a stored experiment as a list shows it, without its rows. If the rows cannot be decoded, newSummary
// returns the experiment without tasks and families, so that it does not prevent the whole list. The list of a server does
// the same.
func newSummary(stored *store.Run) *Run {
	r := &Run{ID: stored.ID, Name: stored.Name, CreatedAt: stored.CreatedAt, Fingerprint: stored.Fingerprint, Parameters: stored.Parameters}
	var rows []struct{ Task, Family string }
	if json.Unmarshal(stored.Rows, &rows) != nil {
		return r
	}
	r.rowCount = len(rows)
	for _, row := range rows {
		r.tasks, r.families = appendUnique(r.tasks, row.Task), appendUnique(r.families, row.Family)
	}
	return r
}

func appendUnique(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// Title returns the id, name and time of the experiment for text output.
func (r *Run) Title() string {
	title := "experiment " + strconv.FormatInt(r.ID, 10)
	if r.Name != "" {
		title += ", " + r.Name
	}
	return title + ", saved " + r.CreatedAt.Format(time.RFC3339)
}

// listEntry is an experiment in the JSON of a list, with the fields of GET /experiments.
type listEntry struct {
	*Run
	Tasks    []string `json:"tasks"`
	Families []string `json:"families"`
	Rows     int      `json:"rows"` // number of rows; hides Run.Rows
}

// WriteList writes experiments in one of render.Formats.
func WriteList(w io.Writer, format string, runs []*Run) error {
	if format == "json" {
		list := make([]listEntry, len(runs))
		for i, r := range runs {
			list[i] = listEntry{Run: r, Tasks: append([]string{}, r.tasks...), Families: append([]string{}, r.families...), Rows: r.rowCount}
		}
		return render.JSON(w, map[string]any{"experiments": list})
	}
	t := render.Table{Header: []string{"id", "name", "created_at", "data", "tasks", "families", "rows"}, TextColumns: 6}
	for _, r := range runs {
		t.Rows = append(t.Rows, []string{strconv.FormatInt(r.ID, 10), r.Name, r.CreatedAt.Format(time.RFC3339), abbreviate(r.Fingerprint),
			strings.Join(r.tasks, " "), strings.Join(r.families, " "), strconv.Itoa(r.rowCount)})
	}
	return t.Write(w, format)
}

// Write writes the experiment in one of render.Formats.
func (r *Run) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return render.JSON(w, r)
	case "csv":
		return r.rowTable().Write(w, format)
	}
	fmt.Fprintf(w, "%s\n\ndata %s\nparameters %s\n\n", r.Title(), r.Fingerprint, r.Parameters)
	if err := r.meanTable(format).Write(w, format); err != nil || len(r.Models) == 0 {
		return err
	}
	models := render.Table{Header: []string{"model of", "family", "sha256", "bytes"}, TextColumns: 3}
	for _, m := range r.Models {
		models.Rows = append(models.Rows, []string{m.Task, m.Family, abbreviate(m.SHA256), strconv.Itoa(m.Bytes)})
	}
	fmt.Fprintln(w)
	return models.Write(w, format)
}

func (r *Run) meanTable(format string) *render.Table {
	t := newFigureTable("seeds")
	groups := experiment.Groups(r.Rows)
	for i := range groups {
		g := &groups[i]
		cells := append(settingCells(g.Setting), strconv.Itoa(len(g.Rows)))
		for _, f := range experiment.Figures() {
			cells = append(cells, render.Figure(format, g.Mean(f.Value), 3))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func (r *Run) rowTable() *render.Table {
	t := newFigureTable("seed")
	for i := range r.Rows {
		row := &r.Rows[i]
		cells := append(settingCells(row.Setting()), strconv.FormatUint(row.Seed, 10))
		for _, f := range experiment.Figures() {
			cells = append(cells, render.Figure("csv", f.Value(row), 0))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func newFigureTable(seeds string) *render.Table {
	t := &render.Table{Header: append(settingHeader(), seeds), TextColumns: len(settingHeader())}
	for _, f := range experiment.Figures() {
		t.Header = append(t.Header, f.Name)
	}
	return t
}

func settingHeader() []string {
	return []string{"task", "bins_gb", "family", "oversampling", "split"}
}

func settingCells(s experiment.Setting) []string {
	return []string{s.Task, s.Bins, s.Family, s.Oversampling, s.Split}
}

func abbreviate(hash string) string { return hash[:min(12, len(hash))] }
