package backtest

import (
	"cmp"
	"slices"
	"strconv"
)

// promise is the promised risk of a first try, and whether this try was killed.
type promise struct {
	risk   float64
	killed bool
}

// Decile compares the promised with the realised risk of a tenth of the first tries.
type Decile struct {
	Rows     int     `json:"rows"`
	Promised float64 `json:"promised_percent"` // the mean promise
	Realised float64 `json:"realised_percent"`
}

const decileCount = 10

// decilesOf divides promises into ten groups of nearly equal size by ascending risk; nil if there are fewer than ten. It
// changes the order of the promises.
func decilesOf(promises []promise) []Decile {
	if len(promises) < decileCount {
		return nil
	}
	slices.SortStableFunc(promises, func(a, b promise) int { return cmp.Compare(a.risk, b.risk) })
	deciles := make([]Decile, decileCount)
	for k := range deciles {
		group := promises[k*len(promises)/decileCount : (k+1)*len(promises)/decileCount]
		sum, killed := 0.0, 0
		for _, p := range group {
			sum += p.risk
			killed += count(p.killed)
		}
		deciles[k] = Decile{Rows: len(group), Promised: 100 * sum / float64(len(group)), Realised: percent(killed, len(group))}
	}
	return deciles
}

// decileTable returns a table with one row per policy with Deciles; it has no rows if no policy has any.
func (r *Report) decileTable() table {
	t := table{header: []string{"policy"}}
	for k := range decileCount {
		t.header = append(t.header, strconv.Itoa(k+1))
	}
	for i := range r.Results {
		if r.Results[i].Deciles == nil {
			continue
		}
		cells := []string{r.Results[i].Policy}
		for _, d := range r.Results[i].Deciles {
			cells = append(cells, decimals(d.Promised, 2)+"/"+decimals(d.Realised, 2))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}
