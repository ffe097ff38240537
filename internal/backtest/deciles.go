package backtest

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/loadaware/loadaware/internal/sizing"
)

type promise struct {
	risk   float64
	killed bool
	task   int // taskCosts.number
	limit  sizing.Bytes
	rank   float64 // position of the limit among those of the task, from 0 to 1; equal limits keep their order; rankLimits sets it
}

// Decile compares the promised with the realised risk of a tenth of the first tries.
type Decile struct {
	Rows     int     `json:"rows"`
	Promised float64 `json:"promised_percent"` // the mean promise
	Realised float64 `json:"realised_percent"`
}

const decileCount = 10

func byRisk(a, b promise) int { return cmp.Compare(a.risk, b.risk) }

func byRank(a, b promise) int { return cmp.Compare(a.rank, b.rank) }

// rankLimits sets the ranks of the promises, and changes their order. A rank compares the limit only with the limits of the
// same task, because limits of different tasks say little about which of their runs are large.
func rankLimits(promises []promise) {
	slices.SortStableFunc(promises, func(a, b promise) int {
		return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.limit, b.limit))
	})
	for from := 0; from < len(promises); {
		to := from
		for to < len(promises) && promises[to].task == promises[from].task {
			to++
		}
		for i := from; i < to; i++ {
			promises[i].rank = (float64(i-from) + 0.5) / float64(to-from)
		}
		from = to
	}
}

// decilesOf divides promises into ten groups of nearly equal size in the given order; nil if there are fewer than ten
// promises. It changes the order of its argument.
func decilesOf(promises []promise, order func(a, b promise) int) []Decile {
	if len(promises) < decileCount {
		return nil
	}
	slices.SortStableFunc(promises, order)
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

// decileTable returns one row per policy with deciles, which `of` selects.
func (r *Report) decileTable(of func(*Result) []Decile) table {
	t := table{header: []string{"policy"}}
	for k := range decileCount {
		t.header = append(t.header, strconv.Itoa(k+1))
	}
	for i := range r.Results {
		deciles := of(&r.Results[i])
		if deciles == nil {
			continue
		}
		cells := []string{r.Results[i].Policy}
		for _, d := range deciles {
			cells = append(cells, decimals(d.Promised, 2)+"/"+decimals(d.Realised, 2))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}
