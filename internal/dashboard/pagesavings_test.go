package dashboard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
)

// The total of the rows equals the total that a query returns, even if some amounts are unknown.
func TestTotalOfRowsEqualsQueriedTotal(t *testing.T) {
	st, err := postgres.Open(t.Context(), pgtest.Migrated(t), postgres.Config{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	var reports []sizing.Observation
	for i := range 60 {
		o := sizing.Observation{Try: sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "n", DAG: "d", Task: string(rune('a' + i%4))}, RunID: time.Duration(i).String(), MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, MemoryMax: sizing.GiB + sizing.Bytes(i)*sizing.MiB, Duration: time.Duration(1+i%7) * time.Minute, EndedAt: time.Date(2026, 3, 1+i%5, 0, 0, 0, 0, time.UTC),
			Allocated: sizing.Resources{Memory: 3 * sizing.GiB, CPU: 1}, Features: sizing.Features{}}
		switch i % 4 {
		case 0:
			o.Requested = sizing.Resources{Memory: 5 * sizing.GiB, CPU: 2}
		case 1: // the request is not known
		case 2:
			o.Duration = 0
		case 3:
			o.Outcome, o.MemoryMax, o.Requested.Memory = sizing.OOMKilled, 0, 5*sizing.GiB
		}
		reports = append(reports, o)
	}
	_, err = st.Record(t.Context(), reports)
	require.NoError(t, err)
	filter := store.SavingsFilter{Scopes: []store.Scope{{}}}
	want, err := st.SavingsSums(t.Context(), filter, store.ByAll)
	require.NoError(t, err)
	for _, by := range []store.SavingsKey{store.ByDay, store.ByDAG, store.ByTask, store.ByOwner, store.ByDAGOwner} {
		rows, err := st.SavingsSums(t.Context(), filter, by)
		require.NoError(t, err)
		got := totalOf(rows)
		require.Len(t, got, 1)
		for _, amount := range [][2]*float64{{want[0].Hours, got[0].Hours}, {want[0].Requested, got[0].Requested}, {want[0].Granted, got[0].Granted}, {want[0].Used, got[0].Used},
			{want[0].UsedHours, got[0].UsedHours}, {want[0].Killed, got[0].Killed}, {want[0].Wasted, got[0].Wasted}, {want[0].Saved, got[0].Saved}, {want[0].SavedCPU, got[0].SavedCPU}} {
			require.NotNil(t, amount[0])
			require.NotNil(t, amount[1], by)
			assert.InDelta(t, *amount[0], *amount[1], 1e-9, by)
		}
		assert.Equal(t, []any{want[0].Tries, want[0].Successes, want[0].Kills, want[0].Unaccounted, want[0].Unmeasured, want[0].First, want[0].Last},
			[]any{got[0].Tries, got[0].Successes, got[0].Kills, got[0].Unaccounted, got[0].Unmeasured, got[0].First, got[0].Last}, by)
		assert.InDelta(t, want[0].NoRequest, got[0].NoRequest, 1e-9, by)
	}
	assert.Empty(t, totalOf(nil))
}
