package experiment

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Setting is what the rows of several seeds share: what they are averaged over and
// compared by.
type Setting struct {
	Task, Bins, Family, Oversampling, Split string // Bins as {10;60;350}
}

// Setting is the row's own.
func (r *Row) Setting() Setting {
	edges := make([]string, len(r.BinsGB))
	for i, edge := range r.BinsGB {
		edges[i] = strconv.FormatFloat(edge, 'g', -1, 64)
	}
	return Setting{r.Task, "{" + strings.Join(edges, ";") + "}", r.Family, r.Oversampling, r.Split}
}

// String names the setting for a person.
func (s Setting) String() string {
	return strings.Join([]string{s.Task, s.Bins, s.Family, s.Oversampling, s.Split}, " ")
}

// Group is the rows of one setting, by ascending seed: at least one.
type Group struct {
	Setting
	Rows []Row
}

// Groups puts rows of one setting together, in the order in which settings first occur.
func Groups(rows []Row) []Group {
	var groups []Group
	place := map[Setting]int{}
	for _, row := range rows {
		setting := row.Setting()
		at, known := place[setting]
		if !known {
			at = len(groups)
			place[setting], groups = at, append(groups, Group{Setting: setting})
		}
		groups[at].Rows = append(groups[at].Rows, row)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Rows, func(a, b Row) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	return groups
}

// Figure is one number of a row, by its name in JSON.
type Figure struct {
	Name string
	Of   func(*Row) float64
}

// Figures are all of them, the ones that runs are compared by first.
func Figures() []Figure {
	return []Figure{
		{"u_score", func(r *Row) float64 { return r.UScore }},
		{"accuracy", func(r *Row) float64 { return r.Accuracy }},
		{"u_rate", func(r *Row) float64 { return r.URate }},
		{"optimal", func(r *Row) float64 { return r.Optimal }},
		{"time_optimal", func(r *Row) float64 { return r.TimeOptimal }},
		{"estimated", func(r *Row) float64 { return r.Estimated }},
	}
}

// Mean is that of one figure over the seeds.
func (g *Group) Mean(figure func(*Row) float64) float64 {
	sum := 0.0
	for i := range g.Rows {
		sum += figure(&g.Rows[i])
	}
	return sum / float64(len(g.Rows))
}

// Difference is the mean of figure under to less that under from, and its standard
// error, from the pairs of rows of one seed; NaN unless both have the same seeds,
// at least two. The splits of seeds share rows, so it is rather too small.
func Difference(from, to *Group, figure func(*Row) float64) (mean, standardError float64) {
	mean = to.Mean(figure) - from.Mean(figure)
	n := len(from.Rows)
	if n < 2 || n != len(to.Rows) {
		return mean, math.NaN()
	}
	squares := 0.0
	for i := range n {
		if from.Rows[i].Seed != to.Rows[i].Seed {
			return mean, math.NaN()
		}
		off := figure(&to.Rows[i]) - figure(&from.Rows[i]) - mean
		squares += off * off
	}
	return mean, math.Sqrt(squares / float64(n-1) / float64(n))
}
