package experiment

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Setting identifies results (rows) that differ only in their seed. Results of one setting are averaged, and a
// comparison of two stored experiments has one row per setting.
type Setting struct {
	Task, Bins, Family, Oversampling, Split string // Bins has the form {10;60;350}
}

// Setting returns the setting of the row.
func (r *Row) Setting() Setting {
	edges := make([]string, len(r.BinsGB))
	for i, edge := range r.BinsGB {
		edges[i] = strconv.FormatFloat(edge, 'g', -1, 64)
	}
	return Setting{r.Task, "{" + strings.Join(edges, ";") + "}", r.Family, r.Oversampling, r.Split}
}

// String returns a readable name of the setting.
func (s Setting) String() string {
	return strings.Join([]string{s.Task, s.Bins, s.Family, s.Oversampling, s.Split}, " ")
}

// Group holds the rows of one setting, at least one, by ascending seed.
type Group struct {
	Setting
	Rows []Row
}

// Groups groups rows by setting, in the order in which the settings first occur.
func Groups(rows []Row) []Group {
	var groups []Group
	index := map[Setting]int{}
	for _, row := range rows {
		setting := row.Setting()
		at, known := index[setting]
		if !known {
			at = len(groups)
			index[setting], groups = at, append(groups, Group{Setting: setting})
		}
		groups[at].Rows = append(groups[at].Rows, row)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Rows, func(a, b Row) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	return groups
}

// Figure is one number of a row with its JSON name.
type Figure struct {
	Name  string
	Value func(*Row) float64
}

// Figures returns all figures. A comparison of two experiments uses the first two.
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

// Mean returns the mean of one figure over the seeds.
func (g *Group) Mean(figure func(*Row) float64) float64 {
	sum := 0.0
	for i := range g.Rows {
		sum += figure(&g.Rows[i])
	}
	return sum / float64(len(g.Rows))
}

// Difference returns the mean of a figure over the rows of the second group (to) minus its mean over those of the first
// (from), and the standard error of this difference over rows paired by seed. If the groups have different seeds, or only
// one, the standard error is NaN. Other standard errors are underestimates, because the splits of different seeds share rows
// of the history.
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
		deviation := figure(&to.Rows[i]) - figure(&from.Rows[i]) - mean
		squares += deviation * deviation
	}
	return mean, math.Sqrt(squares / float64(n-1) / float64(n))
}
