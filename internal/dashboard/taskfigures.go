package dashboard

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/dashboard/chart"
	"github.com/loadaware/loadaware/internal/insight/drift"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// LevelChange is a change of the level of a task's peaks.
type LevelChange struct {
	At     time.Time    `json:"at"` // end of the first try of the new level
	Before sizing.Bytes `json:"median_before_bytes"`
	After  sizing.Bytes `json:"median_after_bytes"`
	Factor float64      `json:"factor"`

	index int // of the first row of the new level
}

// levelChanges finds changes of the level of the peaks, oldest first. A run counts once, with its
// largest peak, because its mapped instances are not independent.
func levelChanges(rows []TryRow) (changes []LevelChange) {
	var peaks []float64
	var first []int // index of the first row of each run
	runIndex := map[string]int{}
	for i, r := range rows {
		if r.Used == 0 || r.IsKill {
			continue
		}
		run, isKnown := runIndex[r.RunID]
		if !isKnown {
			run = len(peaks)
			runIndex[r.RunID], peaks, first = run, append(peaks, 0), append(first, i)
		}
		peaks[run] = max(peaks[run], float64(r.Used))
	}
	for _, c := range drift.Find(peaks) {
		changes = append(changes, LevelChange{At: rows[first[c.At]].At, Before: sizing.Bytes(c.Before), After: sizing.Bytes(c.After), Factor: c.Factor(), index: first[c.At]})
	}
	return changes
}

// usageFigure returns the chart of used and granted memory. The rows must begin with the oldest try; `requested` is 0 if it
// is unknown.
func usageFigure(rows []TryRow, requested sizing.Bytes, changes []LevelChange) chart.Figure {
	if len(rows) == 0 {
		return chart.Figure{}
	}
	n := len(rows)
	names, x, granted := make([]string, n), make([]float64, n), make([]float64, n)
	used := chart.Series{Name: "used", Colour: 2, Style: chart.Dots}
	kills := chart.Series{Name: "OOM-killed", Colour: 4, Style: chart.Crosses}
	for i, r := range rows {
		names[i], x[i], granted[i] = r.At.UTC().Format(time.DateOnly), float64(i), math.NaN()
		if r.Allocated > 0 {
			granted[i] = float64(r.Allocated)
		}
		if r.Used == 0 {
			continue
		}
		s, verb := &used, "used"
		if r.IsKill {
			s, verb = &kills, "was OOM-killed at"
		}
		s.X, s.Y, s.Links = append(s.X, x[i]), append(s.Y, float64(r.Used)), append(s.Links, r.URL)
		title := fmt.Sprintf("%s %s %s", r.RunID, verb, r.Used.Approx())
		if r.Allocated > 0 && !r.IsKill {
			title += " of " + r.Allocated.Approx()
		}
		s.Titles = append(s.Titles, title)
	}
	spec := chart.Spec{
		Title:   "Granted and used memory",
		Summary: fmt.Sprintf("Granted and used memory of the newest %s, with %s", plural(n, "try"), plural(len(kills.X), "OOM kill")),
		X:       chart.Axis{Names: names}, Y: chart.Axis{Label: "memory", Unit: chart.Memory, Log: true},
		Series: []chart.Series{{Name: "granted", Colour: 1, X: x, Y: granted}, used},
	}
	if len(kills.X) > 0 {
		spec.Series = append(spec.Series, kills)
	}
	if requested > 0 {
		spec.Markers = []chart.Marker{{Name: "first request", Colour: 3, At: float64(requested), OnY: true}}
	}
	for i, c := range changes {
		mark := chart.Marker{Colour: 5, At: float64(c.index) - 0.5, Title: fmt.Sprintf("from %s on, the median peak is %.2g times the previous one", day(c.At), c.Factor)}
		if i == 0 {
			mark.Name = "change of level"
		}
		spec.Markers = append(spec.Markers, mark)
	}
	return spec.Draw()
}

const peakBars = 24

// peaksFigure returns the histogram of the peaks. It omits runs that were killed and never succeeded.
func peaksFigure(sample []store.PeakRow, t *Task) chart.Figure {
	sample = slices.DeleteFunc(slices.Clone(sample), func(r store.PeakRow) bool { return r.IsKilled })
	if len(sample) < 2 {
		return chart.Figure{}
	}
	low, high := sample[0].Peak, sample[0].Peak
	for _, r := range sample {
		low, high = min(low, r.Peak), max(high, r.Peak)
	}
	if low <= 0 {
		return chart.Figure{}
	}
	from, to := math.Log(float64(low)), math.Log(float64(high))
	if to-from < 0.01 {
		from, to = from-0.05, to+0.05
	}
	edges, counts, titles := make([]float64, peakBars+1), make([]float64, peakBars), make([]string, peakBars)
	for i := range edges {
		edges[i] = math.Exp(from + (to-from)*float64(i)/peakBars)
	}
	for _, r := range sample {
		bar := int((math.Log(float64(r.Peak)) - from) / (to - from) * peakBars)
		counts[max(0, min(bar, peakBars-1))]++
	}
	for i, n := range counts {
		titles[i] = fmt.Sprintf("%s to %s: %s", sizing.Bytes(edges[i]).Approx(), sizing.Bytes(edges[i+1]).Approx(), plural(int(n), "run"))
	}
	spec := chart.Spec{
		Title:   "Peaks",
		Summary: fmt.Sprintf("Histogram of the peaks of %s, from %s to %s", plural(len(sample), "run"), low.Approx(), high.Approx()),
		X:       chart.Axis{Label: "peak memory", Unit: chart.Memory, Log: true}, Y: chart.Axis{Label: "runs"},
		Series: []chart.Series{{Name: "runs", Colour: 2, Style: chart.Bars, X: edges, Y: counts, Titles: titles}},
	}
	for i, edge := range t.Bins {
		bin := chart.Marker{Colour: 5, At: float64(edge), Title: "bin up to " + edge.Approx()}
		if i == 0 {
			bin.Name = "bins"
		}
		spec.Markers = append(spec.Markers, bin)
	}
	if b := t.RequestedBytes; b != nil {
		spec.Markers = append(spec.Markers, chart.Marker{Name: "first request", Colour: 3, At: float64(*b)})
	}
	if b := t.GrantedBytes; b != nil && (t.RequestedBytes == nil || *t.RequestedBytes != *b) {
		spec.Markers = append(spec.Markers, chart.Marker{Name: "mean grant", Colour: 1, At: float64(*b)})
	}
	return spec.Draw()
}

const (
	minPromises       = 20 // with fewer promises there is no reliability diagram, because its intervals would be wide
	reliabilityGroups = 6  // largest number of groups of promises
)

// reliabilityFigure compares promised and realised risk in groups of equal size, ordered by promise; the last group
// may be smaller.
func reliabilityFigure(promises []sizing.Promise) chart.Figure {
	if len(promises) < minPromises {
		return chart.Figure{}
	}
	sorted := slices.Clone(promises)
	slices.SortStableFunc(sorted, func(a, b sizing.Promise) int { return cmp.Compare(a.Risk, b.Risk) })
	interval := chart.Series{Name: "95 % interval", Colour: 1, Style: chart.Ranges}
	realised := chart.Series{Name: "realised", Colour: 1, Style: chart.Dots}
	highest := 0.0
	for group := range slices.Chunk(sorted, (len(sorted)+reliabilityGroups-1)/reliabilityGroups) {
		promised, killed := 0.0, 0
		for _, p := range group {
			promised += p.Risk
			if p.Killed {
				killed++
			}
		}
		mean, low, high := 100*promised/float64(len(group)), 0.0, 0.0
		low, high = sizing.WilsonInterval(killed, len(group))
		share := 100 * float64(killed) / float64(len(group))
		interval.X, interval.Y, interval.Lower = append(interval.X, mean), append(interval.Y, 100*high), append(interval.Lower, 100*low)
		realised.X, realised.Y = append(realised.X, mean), append(realised.Y, share)
		realised.Titles = append(realised.Titles, fmt.Sprintf("%s promised, %s realised: %d of %d killed", percent(mean), percent(share), killed, len(group)))
		highest = max(highest, mean)
	}
	return chart.Spec{
		Title:   "Promised and realised risk",
		Summary: fmt.Sprintf("Realised share of OOM kills by promised risk, of %s", plural(len(promises), "first try")),
		X:       chart.Axis{Label: "promised", Unit: chart.Percent, Min: 0, Max: highest * 1.1}, Y: chart.Axis{Label: "realised", Unit: chart.Percent},
		Series: []chart.Series{{Name: "as promised", Colour: 3, Style: chart.Dashed, X: []float64{0, highest * 1.1}, Y: []float64{0, highest * 1.1}}, interval, realised},
	}.Draw()
}

// Driver is a feature that changes the grant.
type Driver struct {
	Name   string  `json:"name"`
	Factor float64 `json:"mean_factor"` // exp of the mean |Shapley value| in log bytes: 1 changes nothing
	Tries  int     `json:"tries"`       // number of explained tries with this feature
	Bar    float64 `json:"-"`           // width of the bar, in percent of that of the strongest driver
}

type drivers struct {
	list    []Driver       // the strongest first
	figures []chart.Figure // of the first features of list
}

const (
	explainedTries = 40 // largest number of recent tries whose grants are explained
	shownDrivers   = 8  // largest number of drivers on the page
	chartedDrivers = 2  // largest number of drivers with a chart
)

// newDrivers averages the absolute Shapley values of features (Lundberg et al. 2020).
func newDrivers(tries []service.TryFactors) *drivers {
	type values struct {
		sum    float64
		value  []string
		factor []float64
	}
	byName := map[string]*values{}
	for _, try := range tries {
		for _, term := range try.Terms {
			if term.Kind != taskmodel.TermFeature || !(term.Factor > 0) {
				continue
			}
			v := byName[term.Name]
			if v == nil {
				v = &values{}
				byName[term.Name] = v
			}
			v.sum += math.Abs(math.Log(term.Factor))
			v.value, v.factor = append(v.value, term.Value), append(v.factor, term.Factor)
		}
	}
	d := &drivers{}
	for name, v := range byName {
		d.list = append(d.list, Driver{Name: name, Factor: math.Exp(v.sum / float64(len(tries))), Tries: len(v.factor)})
	}
	slices.SortFunc(d.list, func(a, b Driver) int {
		return cmp.Or(cmp.Compare(b.Factor, a.Factor), strings.Compare(a.Name, b.Name))
	})
	d.list = d.list[:min(len(d.list), shownDrivers)]
	for i := range d.list {
		driver := &d.list[i]
		if strongest := math.Log(d.list[0].Factor); strongest > 0 {
			driver.Bar = 100 * math.Log(driver.Factor) / strongest
		}
		if v := byName[driver.Name]; i < chartedDrivers && len(v.factor) > 1 {
			d.figures = append(d.figures, dependenceFigure(driver.Name, v.value, v.factor))
		}
	}
	return d
}

func dependenceFigure(name string, values []string, factors []float64) chart.Figure {
	axis, x := chart.Axis{Label: name}, make([]float64, len(values))
	isNumber := true
	for i, v := range values {
		number, _, _ := strings.Cut(v, " ") // without the unit, as in "43 days"
		f, err := strconv.ParseFloat(number, 64)
		isNumber = isNumber && err == nil
		x[i] = f
	}
	if !isNumber {
		axis.Names = slices.Compact(slices.Sorted(slices.Values(values)))
		for i, v := range values {
			at, _ := slices.BinarySearch(axis.Names, v)
			x[i] = float64(at)
		}
	}
	titles := make([]string, len(values))
	for i := range values {
		titles[i] = fmt.Sprintf("%s = %s: × %s", name, values[i], sizing.FormatFactor(factors[i]))
	}
	return chart.Spec{
		Title:   "What " + name + " changes",
		Summary: fmt.Sprintf("Factor of the grant by %s, of %s", name, plural(len(values), "try")),
		X:       axis, Y: chart.Axis{Label: "factor", Log: slices.Min(factors) > 0},
		Series:  []chart.Series{{Colour: 5, Style: chart.Dots, X: x, Y: factors, Titles: titles}},
		Markers: []chart.Marker{{Name: "no change", Colour: 3, At: 1, OnY: true}},
	}.Draw()
}
