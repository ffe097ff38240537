package forecast

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/loadaware/loadaware/internal/sizing"
)

// conditionSignificance is the level of the test of whether a fact depends on a property.
const conditionSignificance = .01

// condition is a property of a run: the value of a bool or a category, the weekday or the hour of a date.
type condition struct {
	hasProperty    []float64 // for each past run 1 if it has the property, 0 if not, NaN if that is unknown
	newHasProperty float64   // the same number for the new run
	p              float64   // the smallest p-value of the dependence of a fact on the property
}

// Alike returns which past runs are like a new run. `inputs` has the inputs of the new run, and `past` those of the
// past runs. `facts` says for each fact, such as that a task ran, in which past runs it is true. If a fact clearly
// depends on a property (Fisher's exact test), only those runs are alike that agree with the new run: both have the
// property, or both lack it. Alike applies the clearest property first, and ignores a property that would leave no
// run. Without a clear property, all runs are alike.
func Alike(facts [][]bool, past []sizing.Features, inputs sizing.Features) []bool {
	var all []condition
	for _, name := range inputs.Names() {
		all = append(all, conditionsOf(past, name, inputs[name])...)
	}
	alike := slices.Repeat([]bool{true}, len(past))
	for i := range all {
		all[i].p = 1
		for _, fact := range facts {
			all[i].p = min(all[i].p, fisherTest(all[i].hasProperty, fact))
		}
	}
	slices.SortStableFunc(all, func(a, b condition) int { return cmp.Compare(a.p, b.p) })
	for _, c := range all {
		if c.p >= conditionSignificance/float64(len(all)*max(1, len(facts))) { // Bonferroni correction
			break
		}
		both := slices.Clone(alike)
		for k, hasProperty := range c.hasProperty {
			both[k] = both[k] && hasProperty == c.newHasProperty
		}
		if slices.Contains(both, true) {
			alike = both
		}
	}
	return alike
}

// conditionsOf returns the conditions on the input `name`, which has the value `v` in the new run: one for each value, weekday
// or hour that at least two past runs have.
func conditionsOf(past []sizing.Features, name string, v sizing.Value) (all []condition) {
	for _, property := range propertiesOf(v.Kind) {
		var known []any
		for _, f := range past {
			if input := f[name]; input.Kind == v.Kind && !slices.Contains(known, property(input)) {
				known = append(known, property(input))
			}
		}
		for _, value := range known {
			c, shared := condition{hasProperty: make([]float64, len(past))}, 0
			for k, f := range past {
				switch input := f[name]; {
				case input.Kind != v.Kind:
					c.hasProperty[k] = math.NaN()
				case property(input) == value:
					c.hasProperty[k] = 1
					shared++
				}
			}
			if shared < 2 {
				continue
			}
			if property(v) == value {
				c.newHasProperty = 1
			}
			all = append(all, c)
		}
	}
	return all
}

func propertiesOf(kind sizing.ValueKind) []func(v sizing.Value) any {
	switch kind {
	case sizing.Bool:
		return []func(sizing.Value) any{func(v sizing.Value) any { return v.Num }}
	case sizing.Category:
		return []func(sizing.Value) any{func(v sizing.Value) any { return v.Text }}
	case sizing.Date:
		return []func(sizing.Value) any{func(v sizing.Value) any { return sizing.Weekday(v.LocalDays()) }, func(v sizing.Value) any { return sizing.Hour(v.LocalDays()) }}
	}
	return nil
}

// fisherTest returns the two-sided p-value of Fisher's exact test of the dependence of `fact` on `hasProperty`.
func fisherTest(hasProperty []float64, fact []bool) float64 {
	var table [2][2]int // by property and fact
	for k, h := range hasProperty {
		switch {
		case math.IsNaN(h):
		case fact[k]:
			table[int(h)][1]++
		default:
			table[int(h)][0]++
		}
	}
	logBinomial := combin.LogGeneralizedBinomial
	withProperty, isTrue := table[1][0]+table[1][1], table[0][1]+table[1][1]
	n := table[0][0] + table[0][1] + withProperty
	// logOf returns the logarithm of the probability that the fact is true in exactly k of the runs with the property.
	logOf := func(k int) float64 {
		return logBinomial(float64(withProperty), float64(k)) + logBinomial(float64(n-withProperty), float64(isTrue-k)) -
			logBinomial(float64(n), float64(isTrue))
	}
	observed, p := logOf(table[1][1]), 0.0
	for k := max(0, isTrue-(n-withProperty)); k <= min(withProperty, isTrue); k++ {
		if l := logOf(k); l <= observed+1e-9 {
			p += math.Exp(l)
		}
	}
	return p
}
