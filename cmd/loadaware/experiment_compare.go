package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/loadaware/loadaware/internal/experiment"
)

const experimentCompareUsage = `A B [flags]

Compares two saved experiments by setting: the u score (lower is better) and the accuracy
(higher is better), as means over the seeds. _diff is B minus A; _se is its standard
error, from pairs of rows with the same seed, if both have the same seeds.` + experimentPlace

// comparison compares two experiments by setting.
type comparison struct {
	A        *savedRun       `json:"a"`
	B        *savedRun       `json:"b"`
	SameData bool            `json:"same_data"`
	Rows     []comparisonRow `json:"rows"`
}

// comparisonRow compares one setting.
type comparisonRow struct {
	Task         string     `json:"task"`
	Bins         string     `json:"bins_gb"`
	Family       string     `json:"family"`
	Oversampling string     `json:"oversampling"`
	Split        string     `json:"split"`
	SeedsA       int        `json:"seeds_a"`
	SeedsB       int        `json:"seeds_b"`
	UScore       figurePair `json:"u_score"`
	Accuracy     figurePair `json:"accuracy"`
}

// figurePair has one figure of both experiments. A value is nil if it does not exist.
type figurePair struct {
	A             *float64 `json:"a"`
	B             *float64 `json:"b"`
	Difference    *float64 `json:"difference"` // of the means, B minus A
	StandardError *float64 `json:"standard_error"`
}

func compareExperiments(ctx context.Context, con console, args []string) error {
	cmd := newCommand("experiment compare", experimentCompareUsage, "url", "token", "database", "data")
	format := cmd.format()
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if err := checkFormat(*format); err != nil {
		return err
	}
	if len(rest) != 2 {
		return usageErrorf("name two experiments by id or name; see loadaware experiment list")
	}
	experiments, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	a, err := experiments.find(ctx, rest[0])
	if err != nil {
		return err
	}
	b, err := experiments.find(ctx, rest[1])
	if err != nil {
		return err
	}
	return newComparison(a, b).write(con, *format)
}

// newComparison joins the settings of both: those of a in order, then those that only b
// has.
func newComparison(a, b *savedRun) *comparison {
	c := &comparison{A: a, B: b, SameData: a.Fingerprint == b.Fingerprint}
	inA, inB := experiment.Groups(a.Rows), experiment.Groups(b.Rows)
	byB := map[experiment.Setting]*experiment.Group{}
	for i := range inB {
		byB[inB[i].Setting] = &inB[i]
	}
	for i := range inA {
		c.Rows = append(c.Rows, compareGroups(&inA[i], byB[inA[i].Setting]))
		delete(byB, inA[i].Setting)
	}
	for i := range inB {
		if byB[inB[i].Setting] != nil {
			c.Rows = append(c.Rows, compareGroups(nil, &inB[i]))
		}
	}
	return c
}

// compareGroups compares one setting. One of the groups may be nil.
func compareGroups(a, b *experiment.Group) comparisonRow {
	var c comparisonRow
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

func newFigurePair(a, b *experiment.Group, figure experiment.Figure) (c figurePair) {
	if a != nil {
		c.A = new(a.Mean(figure.Of))
	}
	if b != nil {
		c.B = new(b.Mean(figure.Of))
	}
	if a == nil || b == nil {
		return c
	}
	mean, standardError := experiment.Difference(a, b, figure.Of)
	c.Difference = &mean
	if !math.IsNaN(standardError) {
		c.StandardError = &standardError
	}
	return c
}

// warnings names other causes of a difference than the settings.
func (c *comparison) warnings() (warnings []string, err error) {
	if !c.SameData {
		warnings = append(warnings, "warning: the experiments used different histories, which may cause the differences")
	}
	var a, b struct{ Penalty float64 } // of the reports
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
	if a.Penalty != b.Penalty {
		warnings = append(warnings, fmt.Sprintf("warning: the u scores use different penalties, %v and %v", a.Penalty, b.Penalty))
	}
	return warnings, nil
}

func (c *comparison) write(con console, format string) error {
	notes := con.err // a program reads con.out
	if format == "table" || format == "markdown" {
		notes = con.out
		fmt.Fprintf(con.out, "A: %s\nB: %s\n\n", c.A.title(), c.B.title())
	}
	warnings, err := c.warnings()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintf(notes, "%s\n\n", w)
	}
	if format == "json" {
		c.A.Rows, c.A.Report, c.B.Rows, c.B.Report = nil, nil, nil, nil // experiment show prints them
		return writeJSON(con.out, c)
	}
	s := table{header: append(settingHeader(), "seeds_a", "seeds_b", "u_a", "u_b", "u_diff", "u_se", "acc_a", "acc_b", "acc_diff", "acc_se"), texts: len(settingHeader())}
	for i := range c.Rows {
		s.rows = append(s.rows, c.Rows[i].cells(format))
	}
	return s.write(con.out, format)
}

func (c *comparisonRow) cells(format string) []string {
	cells := []string{c.Task, c.Bins, c.Family, c.Oversampling, c.Split, strconv.Itoa(c.SeedsA), strconv.Itoa(c.SeedsB)}
	for _, of := range []figurePair{c.UScore, c.Accuracy} {
		for _, v := range []*float64{of.A, of.B, of.Difference, of.StandardError} {
			switch {
			case v != nil:
				cells = append(cells, formatFigure(format, *v, 3))
			case format == "csv":
				cells = append(cells, "")
			default:
				cells = append(cells, "–")
			}
		}
	}
	return cells
}
