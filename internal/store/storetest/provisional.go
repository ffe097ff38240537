package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// testLookups reports tries from Prometheus before or after their reporter does. The clocks of the two sources differ.
func testLookups(t *testing.T, st store.Store) {
	lookedUp := func(name string, outcome sizing.Outcome) sizing.Observation {
		return sizing.Observation{Try: firstTry(task("pod "+name), "r"), Outcome: outcome, Provisional: true, MemorySampled: 3 * sizing.GiB / 2,
			StartedAt: noon.Add(-40 * time.Second), EndedAt: noon, Duration: 40 * time.Second, Allocated: sizing.Resources{Memory: 2 * sizing.GiB}}
	}
	reported := func(o sizing.Observation, outcome sizing.Outcome) sizing.Observation {
		return sizing.Observation{Try: o.Try, Outcome: outcome, Allocated: o.Allocated,
			StartedAt: noon.Add(-44 * time.Second), EndedAt: noon.Add(3 * time.Second), Duration: 47 * time.Second}
	}
	row := func(o sizing.Observation) sizing.HistoryRow {
		h := history(t, st, o.Try.TaskKey)
		require.Len(t, h.Rows, 1)
		return h.Rows[0]
	}
	counts := func(o sizing.Observation) []int {
		p, err := st.Task(t.Context(), o.Try.TaskKey)
		require.NoError(t, err)
		return []int{p.Observations, p.Kills}
	}

	t.Run("a report replaces the lookup of its pod and keeps the sampled peak", func(t *testing.T) {
		for _, outcome := range []sizing.Outcome{sizing.Success, sizing.OOMKilled, sizing.Failed, sizing.Evicted} {
			o := lookedUp(outcome.String(), outcome)
			recordNew(t, st, o)
			late := reported(o, outcome)
			late.MemoryMax = 7 * sizing.GiB / 4
			recorded := record(t, st, late, late)
			require.Equal(t, []any{amended, true, duplicate}, []any{statusOf(recorded[0]), recorded[0].Replaced != nil, statusOf(recorded[1])})
			require.Equal(t, []any{outcome, 7 * sizing.GiB / 4, 3 * sizing.GiB / 2, 47 * time.Second},
				[]any{row(o).Outcome, row(o).MemoryMax, row(o).MemorySampled, row(o).Duration})
			late.Duration += time.Second
			requireConflict(t, "duration_seconds", record(t, st, late)[0])
			requireConflict(t, "duration_seconds", record(t, st, o)[0]) // a lookup replaces no report
		}
	})

	t.Run("the kill of the pod explains a failure in either order", func(t *testing.T) {
		for _, outcome := range []sizing.Outcome{sizing.Failed, sizing.Killed} {
			o := lookedUp("kill before "+outcome.String(), sizing.OOMKilled)
			recordNew(t, st, o)
			late := reported(o, outcome)
			replaced := record(t, st, late)[0]
			require.Equal(t, []any{amended, true, true}, []any{statusOf(replaced), replaced.Explained, replaced.Replaced != nil})
			require.Equal(t, duplicate, statusOf(record(t, st, late)[0]))
			require.Equal(t, []any{sizing.OOMKilled, 47 * time.Second}, []any{row(o).Outcome, row(o).Duration})
			require.Equal(t, []int{1, 1}, counts(o))

			o = lookedUp("kill after "+outcome.String(), sizing.OOMKilled)
			late = reported(o, outcome)
			recordNew(t, st, late)
			recorded := record(t, st, o)[0]
			require.Equal(t, []any{amended, true, true}, []any{statusOf(recorded), recorded.Explained, recorded.Replaced == nil})
			require.Equal(t, duplicate, statusOf(record(t, st, late)[0]), "the repeated report must not contradict the kill")
			require.Equal(t, []any{sizing.OOMKilled, 3 * sizing.GiB / 2}, []any{row(o).Outcome, row(o).MemorySampled})
			require.Equal(t, []int{1, 1}, counts(o))
		}
		o := lookedUp("kill of a success", sizing.OOMKilled)
		recordNew(t, st, reported(o, sizing.Success))
		requireConflict(t, "outcome", record(t, st, o)[0])
		require.Equal(t, []int{1, 0}, counts(o))
	})

	t.Run("a report with another cause replaces the kill of the pod", func(t *testing.T) {
		for _, outcome := range []sizing.Outcome{sizing.Success, sizing.AppOOM, sizing.Evicted} {
			o := lookedUp("cause "+outcome.String(), sizing.OOMKilled)
			recordNew(t, st, o)
			require.NotNil(t, record(t, st, reported(o, outcome))[0].Replaced)
			require.Equal(t, outcome, row(o).Outcome)
		}
	})

	t.Run("a provisional report with a series is stored as a final one", func(t *testing.T) {
		o := lookedUp("series", sizing.Success)
		o.Series = sizing.NewSeries(1, []int64{1, 2}, nil)
		recordNew(t, st, o)
		requireConflict(t, "duration_seconds", record(t, st, reported(o, sizing.Success))[0])
	})
}

// testProvisional reports provisional kills: kills that only a request for a lift has reported.
func testProvisional(t *testing.T, st store.Store) {
	provisional := func(name string) sizing.Observation {
		o := kill(firstTry(task(name), "r"), 2*sizing.GiB)
		o.EndedAt, o.Provisional = time.Time{}, true
		return o
	}

	t.Run("the report of a provisional kill amends the kill once", func(t *testing.T) {
		o := provisional("provisional")
		recordNew(t, st, o)
		require.Equal(t, duplicate, statusOf(record(t, st, o)[0]), "a repeated lift request must be a duplicate")
		reported := completeKill(o.Try.TaskKey)
		reported.Try, reported.Allocated.Memory = o.Try, o.Allocated.Memory
		require.Equal(t, amended, statusOf(record(t, st, reported)[0]))
		require.Equal(t, duplicate, statusOf(record(t, st, reported)[0]))
		h := history(t, st, o.Try.TaskKey)
		require.Len(t, h.Rows, 1)
		require.Equal(t, 7*sizing.GiB, h.Rows[0].MemoryMax)
		require.Equal(t, noon, h.Rows[0].At)
	})

	t.Run("a report without new fields makes a provisional kill final", func(t *testing.T) {
		o := provisional("settled")
		recordNew(t, st, o)
		reported := o
		reported.Provisional = false
		require.Equal(t, amended, statusOf(record(t, st, reported)[0]))
		require.Equal(t, duplicate, statusOf(record(t, st, reported)[0]))
		require.Equal(t, duplicate, statusOf(record(t, st, o)[0]), "a late lift request must change nothing")
		require.Equal(t, duplicate, statusOf(record(t, st, reported)[0]))
	})

	t.Run("a report with another allocation replaces a provisional kill", func(t *testing.T) {
		o := provisional("other allocation")
		before := record(t, st, o)[0]
		reported := o
		reported.Provisional, reported.Allocated.Memory = false, 3*sizing.GiB
		recorded := record(t, st, reported)[0]
		require.Equal(t, []any{amended, true}, []any{statusOf(recorded), recorded.Replaced != nil})
		require.Greater(t, recorded.Seq, before.Seq)
		h := history(t, st, o.Try.TaskKey)
		require.Len(t, h.Rows, 1)
		require.Equal(t, 3*sizing.GiB, h.Rows[0].Allocated.Memory)
		reported.Allocated.Memory = 4 * sizing.GiB
		requireConflict(t, "allocated.memory_bytes", record(t, st, reported)[0])
	})

	t.Run("a report of another outcome replaces a provisional kill", func(t *testing.T) {
		for _, outcome := range []sizing.Outcome{sizing.Success, sizing.Failed, sizing.AppOOM} {
			o := provisional("replaced by " + outcome.String())
			o.Features = sizing.Features{"rows": sizing.NumberValue(7)}
			before := record(t, st, o)[0]
			reported := success(o.Try, sizing.GiB, 1)
			reported.Outcome, reported.Features = outcome, nil
			recorded := record(t, st, reported, reported)
			require.Equal(t, []any{amended, true, duplicate}, []any{statusOf(recorded[0]), recorded[0].Replaced != nil, statusOf(recorded[1])})
			require.Greater(t, recorded[0].Seq, before.Seq, "the new row must have a higher seq, so that readers of Since see it")
			h := history(t, st, o.Try.TaskKey)
			require.Equal(t, outcome, h.Rows[0].Outcome)
			require.Equal(t, 1, h.Total)
			require.Equal(t, []float64{7}, h.Rows[0].Features, "omitted features must keep their stored values")
			p, err := st.Task(t.Context(), o.Try.TaskKey)
			require.NoError(t, err)
			wantKills := 0
			if outcome.OOM() {
				wantKills = 1
			}
			require.Equal(t, []int{1, wantKills}, []int{p.Observations, p.Kills})
			if late := record(t, st, o)[0]; outcome == sizing.Success { // a late lift request
				requireConflict(t, "outcome", late)
			} else {
				require.Equal(t, duplicate, statusOf(late))
			}
		}
	})

	t.Run("a lift request does not change the stored report of a try that did not succeed", func(t *testing.T) {
		for _, outcome := range []sizing.Outcome{sizing.OOMKilled, sizing.AppOOM, sizing.Failed, sizing.Killed, sizing.Evicted} {
			for _, isKnown := range []bool{true, false} {
				o := completeKill(task(fmt.Sprint("asked after ", outcome, isKnown)))
				o.Outcome = outcome
				if !isKnown {
					o = sizing.Observation{Try: o.Try, Outcome: outcome, EndedAt: o.EndedAt}
				}
				recordNew(t, st, o)
				before := history(t, st, o.Try.TaskKey).Rows
				liftRequest := kill(o.Try, 5*sizing.GiB)
				liftRequest.EndedAt, liftRequest.Provisional = time.Time{}, true
				liftRequest.Requested, liftRequest.Features = sizing.Resources{Memory: 99 * sizing.GiB, CPU: 9}, sizing.Features{"count": sizing.NumberValue(-5)}
				recorded := record(t, st, liftRequest)[0]
				require.Equal(t, duplicate, statusOf(recorded))
				require.Equal(t, o.Allocated.Memory, recorded.Allocated)
				after := history(t, st, o.Try.TaskKey).Rows
				require.Equal(t, before, after)
				require.Equal(t, duplicate, statusOf(record(t, st, o)[0]), "the request must not contradict a repeated report")
			}
		}
	})

	t.Run("a lift request does not change an earlier one", func(t *testing.T) {
		o := provisional("asked twice")
		recordNew(t, st, o)
		o.Outcome, o.Allocated.Memory, o.Requested.Memory = sizing.AppOOM, 3*sizing.GiB, 8*sizing.GiB
		recorded := record(t, st, o)[0]
		require.Equal(t, []any{duplicate, 2 * sizing.GiB}, []any{statusOf(recorded), recorded.Allocated})
		row := history(t, st, o.Try.TaskKey).Rows[0]
		require.Equal(t, []any{sizing.OOMKilled, sizing.Resources{Memory: 2 * sizing.GiB}, sizing.Resources{}}, []any{row.Outcome, row.Allocated, row.Requested})
	})

	t.Run("a report of another outcome keeps what a lookup has measured", func(t *testing.T) {
		o := provisional("looked up")
		recordNew(t, st, o)
		o.MemorySampled, o.MemoryMax, o.CPUMax = sizing.GiB, 3*sizing.GiB/2, 2
		require.Equal(t, amended, statusOf(record(t, st, o)[0]))
		reported := sizing.Observation{Try: o.Try, Outcome: sizing.Success, EndedAt: noon, CPUMax: 3}
		require.NotNil(t, record(t, st, reported)[0].Replaced)
		row := history(t, st, o.Try.TaskKey).Rows[0]
		require.Equal(t, []sizing.Bytes{sizing.GiB, 3 * sizing.GiB / 2}, []sizing.Bytes{row.MemorySampled, row.MemoryMax})
		require.Equal(t, sizing.Cores(3), row.CPUMax, "the value in the report must take precedence")
	})

	t.Run("a report of another outcome does not replace a final report", func(t *testing.T) {
		o := provisional("certain")
		recordNew(t, st, o)
		o.Provisional = false
		record(t, st, o)
		requireConflict(t, "outcome", record(t, st, success(o.Try, sizing.GiB, 1))[0])
	})
}
