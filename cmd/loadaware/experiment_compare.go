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

Holds two kept experiments against each other, setting by setting: the u score
(lower is better) and the accuracy (higher is better), as means over the seeds.
_diff is B less A; _se is its standard error, from the pairs of rows of one seed,
where both have the same seeds.` + experimentPlace

// comparison is two experiments, setting by setting.
type comparison struct {
	A        *keptRun   `json:"a"`
	B        *keptRun   `json:"b"`
	SameData bool       `json:"same_data"`
	Rows     []compared `json:"rows"`
}

// compared is one setting. A figure is nil where it does not exist.
type compared struct {
	Task         string   `json:"task"`
	Bins         string   `json:"bins_gb"`
	Family       string   `json:"family"`
	Oversampling string   `json:"oversampling"`
	Split        string   `json:"split"`
	SeedsA       int      `json:"seeds_a"`
	SeedsB       int      `json:"seeds_b"`
	UScore       contrast `json:"u_score"`
	Accuracy     contrast `json:"accuracy"`
}

// contrast is one figure in both.
type contrast struct {
	A             *float64 `json:"a"`
	B             *float64 `json:"b"`
	Difference    *float64 `json:"difference"` // of means, B less A
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
		return usageErrorf("name two experiments by their ids or names: loadaware experiment list tells them")
	}
	kept, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	a, err := kept.find(ctx, rest[0])
	if err != nil {
		return err
	}
	b, err := kept.find(ctx, rest[1])
	if err != nil {
		return err
	}
	return newComparison(a, b).write(con, *format)
}

// newComparison joins the settings: those of a in its order, then those that only
// b has.
func newComparison(a, b *keptRun) *comparison {
	c := &comparison{A: a, B: b, SameData: a.Fingerprint == b.Fingerprint}
	inA, inB := experiment.Groups(a.Rows), experiment.Groups(b.Rows)
	ofB := map[experiment.Setting]*experiment.Group{}
	for i := range inB {
		ofB[inB[i].Setting] = &inB[i]
	}
	for i := range inA {
		c.Rows = append(c.Rows, compareGroups(&inA[i], ofB[inA[i].Setting]))
		delete(ofB, inA[i].Setting)
	}
	for i := range inB {
		if ofB[inB[i].Setting] != nil {
			c.Rows = append(c.Rows, compareGroups(nil, &inB[i]))
		}
	}
	return c
}

// compareGroups compares what is there of one setting: one of the two may be nil.
func compareGroups(a, b *experiment.Group) compared {
	var c compared
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
	figures := experiment.Figures() // the u score and the accuracy first
	c.UScore, c.Accuracy = contrastOf(a, b, figures[0]), contrastOf(a, b, figures[1])
	return c
}

func contrastOf(a, b *experiment.Group, figure experiment.Figure) (c contrast) {
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

// warnings are what makes a difference one of something else than of the settings.
func (c *comparison) warnings() (said []string, err error) {
	if !c.SameData {
		said = append(said, "warning: the two learned from different histories: a difference may be that of the data")
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
		said = append(said, fmt.Sprintf("warning: the u scores are of different penalties, %v and %v", a.Penalty, b.Penalty))
	}
	return said, nil
}

func (c *comparison) write(con console, format string) error {
	aside := con.err // where out is read by a program
	if format == "table" || format == "markdown" {
		aside = con.out
		fmt.Fprintf(con.out, "A: %s\nB: %s\n\n", c.A.title(), c.B.title())
	}
	warnings, err := c.warnings()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintf(aside, "%s\n\n", w)
	}
	if format == "json" {
		c.A.Rows, c.A.Report, c.B.Rows, c.B.Report = nil, nil, nil, nil // show tells them
		return writeJSON(con.out, c)
	}
	s := sheet{header: append(settingHeader(), "seeds_a", "seeds_b", "u_a", "u_b", "u_diff", "u_se", "acc_a", "acc_b", "acc_diff", "acc_se"), texts: len(settingHeader())}
	for i := range c.Rows {
		s.rows = append(s.rows, c.Rows[i].cells(format))
	}
	return s.write(con.out, format)
}

func (c *compared) cells(format string) []string {
	cells := []string{c.Task, c.Bins, c.Family, c.Oversampling, c.Split, strconv.Itoa(c.SeedsA), strconv.Itoa(c.SeedsB)}
	for _, of := range []contrast{c.UScore, c.Accuracy} {
		for _, v := range []*float64{of.A, of.B, of.Difference, of.StandardError} {
			switch {
			case v != nil:
				cells = append(cells, figure(format, *v, 3))
			case format == "csv":
				cells = append(cells, "")
			default:
				cells = append(cells, "–")
			}
		}
	}
	return cells
}
