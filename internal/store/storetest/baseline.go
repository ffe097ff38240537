package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func testBaseline(t *testing.T, st store.Store) {
	baselines := func() []store.Baseline {
		all, err := st.Baselines(t.Context(), store.SavingsFilter{Scopes: allScopes})
		require.NoError(t, err)
		return all
	}
	key, n := task("a"), 0
	newReceipt := func(request sizing.Resources, run string, at time.Time) sizing.Receipt {
		n++
		return sizing.Receipt{At: at, Ask: sizing.Ask{Try: firstTry(key, run), Requested: request},
			Allocation: sizing.Allocation{PredictionID: fmt.Sprintf("%06d", n), Task: key}}
	}
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{newReceipt(sizing.Resources{Memory: 1e9}, "", noon)}))
	recordNew(t, st, sizing.Observation{Try: firstTry(key, "r0"), Outcome: sizing.Success, EndedAt: noon, Duration: time.Hour,
		Allocated: sizing.Resources{Memory: 10e9}})
	require.Empty(t, baselines(), "a prediction without a run id is not a try, so it must set no baseline")
	sum := savings(t, st, store.ByAll)[0]
	require.Nil(t, sum.Requested)
	require.Nil(t, sum.Saved)
	require.InDelta(t, 10, sum.NoRequest, 1e-9)

	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{newReceipt(sizing.Resources{Memory: 20e9}, "r1", noon)}))
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{newReceipt(sizing.Resources{Memory: 20e9, CPU: 4}, "r2", noon.Add(time.Hour))}))
	sum = savings(t, st, store.ByAll)[0]
	require.InDelta(t, 10, *sum.Saved, 1e-9, "the baseline must also apply to earlier tries")
	require.Zero(t, sum.NoRequest)

	tomorrow := noon.Add(24 * time.Hour)
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{newReceipt(sizing.Resources{Memory: 30e9, CPU: 4}, "r3", tomorrow)}))
	later := success(firstTry(key, "r4"), 1e9, 0)
	later.EndedAt, later.Requested = tomorrow.Add(48*time.Hour), sizing.Resources{Memory: 5e9}
	recordNew(t, st, later)
	require.Equal(t, []store.Baseline{{
		Task: key, Request: sizing.Resources{Memory: 20e9, CPU: 4}, MemoryAt: noon, CPUAt: noon.Add(time.Hour),
		Changes: []store.RequestChange{
			{At: tomorrow, Request: sizing.Resources{Memory: 30e9, CPU: 4}},
			{At: later.EndedAt, Request: sizing.Resources{Memory: 5e9, CPU: 4}},
		},
	}}, baselines())
	require.InDelta(t, 10, *savings(t, st, store.ByAll)[0].Saved, 1e-9)
}

// testBaselineOfImport reports the tries of a task in one call, in another order than that of their times. Some are retries with
// a lifted request.
func testBaselineOfImport(t *testing.T, st store.Store) {
	key := task("imported")
	var reports []sizing.Observation
	for i := range 10 {
		o := success(firstTry(key, fmt.Sprint("r", i)), 1e9, 0)
		o.EndedAt, o.Requested = noon.Add(time.Duration(i)*24*time.Hour), sizing.Resources{Memory: 16e9, CPU: 2}
		if i >= 6 {
			o.Requested = sizing.Resources{Memory: 4e9, CPU: 1}
		}
		retry := o
		retry.Try.Number, retry.EndedAt, retry.Requested.Memory = 2, o.EndedAt.Add(-time.Hour), 30e9
		reports = append(reports, retry, o)
	}
	slices.Reverse(reports)
	recordNew(t, st, reports...)
	all, err := st.Baselines(t.Context(), store.SavingsFilter{Scopes: allScopes})
	require.NoError(t, err)
	require.Equal(t, []store.Baseline{{
		Task: key, Request: sizing.Resources{Memory: 16e9, CPU: 2}, MemoryAt: noon, CPUAt: noon,
		Changes: []store.RequestChange{{At: noon.Add(6 * 24 * time.Hour), Request: sizing.Resources{Memory: 4e9, CPU: 1}}},
	}}, all)
}
