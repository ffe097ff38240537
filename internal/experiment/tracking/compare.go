package tracking

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/render"
)

// Comparison compares two experiments by setting: task, bins, family, oversampling and split.
type Comparison struct {
	A        *Run            `json:"a"`
	B        *Run            `json:"b"`
	SameData bool            `json:"same_data"` // the fingerprints of the histories are equal
	Rows     []ComparisonRow `json:"rows"`
}

// ComparisonRow compares one setting.
type ComparisonRow struct {
	Task         string     `json:"task"`
	Bins         string     `json:"bins_gb"`
	Family       string     `json:"family"`
	Oversampling string     `json:"oversampling"`
	Split        string     `json:"split"`
	SeedsA       int        `json:"seeds_a"`
	SeedsB       int        `json:"seeds_b"`
	UScore       FigurePair `json:"u_score"`
	Accuracy     FigurePair `json:"accuracy"`
}

// FigurePair holds the means of one figure in both experiments. A mean is nil if the experiment has no such setting.
type FigurePair struct {
	A             *float64 `json:"a"`
	B             *float64 `json:"b"`
	Difference    *float64 `json:"difference"`     // B − A; nil if one of them is nil
	StandardError *float64 `json:"standard_error"` // of Difference; nil if the seeds differ or there is only one (experiment.Difference)
}

// Compare compares two experiments. The rows are the settings of `a` in their order, and then the settings that only
// `b` has.
func Compare(a, b *Run) *Comparison {
	c := &Comparison{A: a, B: b, SameData: a.Fingerprint == b.Fingerprint}
	inA, inB := experiment.Groups(a.Rows), experiment.Groups(b.Rows)
	bySetting := map[experiment.Setting]*experiment.Group{}
	for i := range inB {
		bySetting[inB[i].Setting] = &inB[i]
	}
	for i := range inA {
		c.Rows = append(c.Rows, compareGroups(&inA[i], bySetting[inA[i].Setting]))
		delete(bySetting, inA[i].Setting)
	}
	for i := range inB {
		if bySetting[inB[i].Setting] != nil {
			c.Rows = append(c.Rows, compareGroups(nil, &inB[i]))
		}
	}
	return c
}

// compareGroups compares the results of two experiments for one setting. One of the groups is nil if only one experiment has
// the setting.
func compareGroups(a, b *experiment.Group) ComparisonRow {
	var c ComparisonRow
	for _, g := range []*experiment.Group{a, b} {
		if g != nil {
			c.Task, c.Bins, c.Family, c.Oversampling, c.Split = g.Task, g.Bins, g.Family, g.Oversampling, g.Split
		}
	}
	if a != nil {
		c.SeedsA = len(a.Rows)
	}
	if b != nil {
		c.SeedsB = len(b.Rows)
	}
	figures := experiment.Figures() // the first two are the u score and the accuracy
	c.UScore, c.Accuracy = newFigurePair(a, b, figures[0]), newFigurePair(a, b, figures[1])
	return c
}

func newFigurePair(a, b *experiment.Group, figure experiment.Figure) (p FigurePair) {
	if a != nil {
		p.A = new(a.Mean(figure.Value))
	}
	if b != nil {
		p.B = new(b.Mean(figure.Value))
	}
	if a == nil || b == nil {
		return p
	}
	mean, standardError := experiment.Difference(a, b, figure.Value)
	p.Difference = &mean
	if !math.IsNaN(standardError) {
		p.StandardError = &standardError
	}
	return p
}

// warnings returns warnings about causes of differences other than the settings.
func (c *Comparison) warnings() (warnings []string, err error) {
	if !c.SameData {
		warnings = append(warnings, "warning: the experiments used different histories, which may cause the differences")
	}
	var a, b struct{ Penalty float64 } // of the reports; 0: unknown
	for _, r := range []struct {
		report json.RawMessage
		into   any
	}{{c.A.Report, &a}, {c.B.Report, &b}} {
		if r.report == nil {
			continue
		}
		if err := json.Unmarshal(r.report, r.into); err != nil {
			return nil, err
		}
	}
	if a.Penalty != b.Penalty && a.Penalty > 0 && b.Penalty > 0 {
		warnings = append(warnings, fmt.Sprintf("warning: the u scores use different penalties, %v and %v", a.Penalty, b.Penalty))
	}
	return warnings, nil
}

// Write writes the comparison in one of render.Formats. The formats "table" and "markdown" include the warnings. For the
// other formats, which programs read, Write writes the warnings to the writer `notes`.
func (c *Comparison) Write(w, notes io.Writer, format string) error {
	if format == "table" || format == "markdown" {
		notes = w
		fmt.Fprintf(w, "A: %s\nB: %s\n\n", c.A.Title(), c.B.Title())
	}
	warnings, err := c.warnings()
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		fmt.Fprintf(notes, "%s\n\n", warning)
	}
	if format == "json" {
		c.A.Rows, c.A.Report, c.B.Rows, c.B.Report = nil, nil, nil, nil // Run.Write prints them
		return render.JSON(w, c)
	}
	t := render.Table{Header: append(settingHeader(), "seeds_a", "seeds_b", "u_a", "u_b", "u_diff", "u_se", "acc_a", "acc_b", "acc_diff", "acc_se"),
		TextColumns: len(settingHeader())}
	for i := range c.Rows {
		t.Rows = append(t.Rows, c.Rows[i].cells(format))
	}
	return t.Write(w, format)
}

func (r *ComparisonRow) cells(format string) []string {
	cells := []string{r.Task, r.Bins, r.Family, r.Oversampling, r.Split, strconv.Itoa(r.SeedsA), strconv.Itoa(r.SeedsB)}
	for _, pair := range []FigurePair{r.UScore, r.Accuracy} {
		for _, v := range []*float64{pair.A, pair.B, pair.Difference, pair.StandardError} {
			switch {
			case v != nil:
				cells = append(cells, render.Figure(format, *v, 3))
			case format == "csv":
				cells = append(cells, "")
			default:
				cells = append(cells, "–")
			}
		}
	}
	return cells
}
