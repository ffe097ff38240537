package dashboard

import (
	"context"

	"github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/store"
)

// pageSavings reads the savings sums of one page; all its calls have the same filter. It computes the total from
// the rows that it has read, because a query for the total takes as long as a query for the rows.
type pageSavings struct {
	report.Source
	rows []store.SavingsSum
}

// SavingsSums returns sums grouped by a key. For store.ByAll it returns the total of the sums that the last call
// read; it queries the total only if there was no such call.
func (p *pageSavings) SavingsSums(ctx context.Context, f store.SavingsFilter, by store.SavingsKey) ([]store.SavingsSum, error) {
	if by == store.ByAll && p.rows != nil {
		return totalOf(p.rows), nil
	}
	rows, err := p.Source.SavingsSums(ctx, f, by)
	if p.rows = rows; rows == nil {
		p.rows = []store.SavingsSum{}
	}
	return rows, err
}

func totalOf(rows []store.SavingsSum) []store.SavingsSum {
	if len(rows) == 0 {
		return nil
	}
	total := store.SavingsSum{First: rows[0].First, Last: rows[0].Last}
	for i := range rows {
		r := &rows[i]
		if r.First.Before(total.First) {
			total.First = r.First
		}
		if r.Last.After(total.Last) {
			total.Last = r.Last
		}
		total.Tries, total.Successes, total.Kills = total.Tries+r.Tries, total.Successes+r.Successes, total.Kills+r.Kills
		total.Unaccounted, total.Unmeasured, total.NoRequest = total.Unaccounted+r.Unaccounted, total.Unmeasured+r.Unmeasured, total.NoRequest+r.NoRequest
		for _, amount := range []struct {
			sum   **float64
			added *float64
		}{
			{&total.Hours, r.Hours}, {&total.Requested, r.Requested}, {&total.Granted, r.Granted}, {&total.Used, r.Used}, {&total.UsedHours, r.UsedHours},
			{&total.Killed, r.Killed}, {&total.Wasted, r.Wasted}, {&total.Saved, r.Saved}, {&total.SavedCPU, r.SavedCPU},
		} {
			addTo(amount.sum, amount.added)
		}
	}
	return []store.SavingsSum{total}
}

// addTo adds a number to a sum. Both may be nil, which means unknown.
func addTo(sum **float64, added *float64) {
	switch {
	case added == nil:
	case *sum == nil:
		first := *added
		*sum = &first
	default:
		**sum += *added
	}
}
