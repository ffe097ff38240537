package postgres_test

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/store/storetest"
	"github.com/loadaware/loadaware/migrations"
)

func TestStore(t *testing.T) {
	t.Parallel() // this test and the next mostly wait for the database
	storetest.Run(t, func(t *testing.T) store.Store { return reopen(t, pgtest.Migrated(t)) })
}

// A database in use stores receipts as JSON for a day after the migration.
func TestStoreWithReceiptsAsJSON(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("repeats the tests of receipts with another form, which is too slow under the race detector")
	}
	storetest.RunReceipts(t, func(t *testing.T) store.Store { return openWithCompactFrom(t, pgtest.Migrated(t), "infinity") })
}

// openWithCompactFrom returns a store that writes receipts of the time compactFrom and later in the compact form.
func openWithCompactFrom(t testing.TB, dsn, compactFrom string) *postgres.Store {
	t.Helper()
	st := reopen(t, dsn)
	_, err := connect(t, dsn).Exec(t.Context(), "UPDATE receipt_format SET compact_from = $1::text::timestamptz", compactFrom)
	require.NoError(t, err)
	return st
}

func open(t testing.TB, dsn string) *postgres.Store {
	t.Helper()
	require.NoError(t, migrations.Up(context.Background(), dsn))
	return reopen(t, dsn)
}

func reopen(t testing.TB, dsn string) *postgres.Store {
	t.Helper()
	st, err := postgres.Open(context.Background(), dsn, postgres.Config{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st
}

func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(i int) sizing.Observation {
	return sizing.Observation{
		Try:     sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "d", Task: "t"}, RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Number: 1},
		Outcome: sizing.Success, MemoryMax: sizing.Bytes(i + 1), Features: sizing.Features{"n": sizing.NumberValue(float64(i))},
	}
}

func requireUnavailable(t *testing.T, err error, advice string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, sizing.Unavailable, sizing.KindOf(err), "%v", err)
	require.ErrorContains(t, err, advice)
}

func TestDatabaseErrorsSayWhatToDo(t *testing.T) {
	dsn := pgtest.DSN(t)
	with := func(change func(*url.URL)) string {
		u, err := url.Parse(dsn)
		require.NoError(t, err)
		change(u)
		return u.String()
	}
	recordWith := func(dsn string) error {
		_, err := reopen(t, dsn).Record(t.Context(), []sizing.Observation{run(1)})
		return err
	}
	requireUnavailable(t, recordWith(dsn), "loadaware migrate up")
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.NoError(t, recordWith(dsn))
	requireUnavailable(t, recordWith(with(func(u *url.URL) { u.Path = "/none" })), "create it")
	requireUnavailable(t, recordWith(with(func(u *url.URL) { u.User = url.User("unknown user") })), "DATABASE_URL")
	requireUnavailable(t, recordWith("postgres://localhost:1/none?connect_timeout=2"), "check that it runs")
	requireUnavailable(t, recordWith(with(func(u *url.URL) {
		q := u.Query()
		q.Set("default_transaction_read_only", "on")
		u.RawQuery = q.Encode()
	})), "read-only")
}

func TestClosedStoreIsUnavailable(t *testing.T) {
	st, err := postgres.Open(t.Context(), pgtest.Migrated(t), postgres.Config{})
	require.NoError(t, err)
	st.Close()
	st.Close()
	_, err = st.Record(t.Context(), []sizing.Observation{run(1)})
	requireUnavailable(t, err, "")
	requireUnavailable(t, st.Ping(t.Context()), "")
}

// The test terminates connections while callers report runs. As in Airflow, each caller repeats
// reports that were not acknowledged.
func TestAcknowledgedReportsAreStoredOnceDespiteBrokenConnections(t *testing.T) {
	dsn := pgtest.Migrated(t)
	st, admin := reopen(t, dsn), connect(t, dsn)
	const callers, terminations = 8, 8
	stop := make(chan struct{}) // closed after the last termination
	var acknowledged, failed atomic.Int64
	report := func(caller int) {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			obs := make([]sizing.Observation, []int{1, 150}[i%2]) // below and above directRows, from which on a call uses its own transaction
			for j := range obs {
				obs[j] = run(caller*1_000_000 + i*1000 + j)
			}
			_, err := st.Record(t.Context(), obs)
			for ; err != nil; _, err = st.Record(t.Context(), obs) {
				failed.Add(1)
				if !assert.Equal(t, sizing.Unavailable, sizing.KindOf(err), "%v", err) {
					return
				}
			}
			acknowledged.Add(int64(len(obs)))
		}
	}
	var running sync.WaitGroup
	for caller := range callers {
		running.Go(func() { report(caller) })
	}
	for n := 0; n < terminations || failed.Load() == 0; n++ {
		time.Sleep(100 * time.Millisecond) // so that connections have work in progress
		terminateConnections(t, admin)
	}
	close(stop)
	running.Wait()

	h, err := reopen(t, dsn).History(t.Context(), run(0).Try.TaskKey, store.HistoryLimits{Total: 1_000_000})
	require.NoError(t, err)
	require.EqualValues(t, acknowledged.Load(), h.Total)
	require.Len(t, h.Rows, h.Total, "the tally must equal the number of rows")
}

func terminateConnections(t *testing.T, admin *pgx.Conn) {
	t.Helper()
	_, err := admin.Exec(t.Context(), `
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	require.NoError(t, err)
}

func TestWriterNoticesRenameAndDeletion(t *testing.T) {
	dsn := pgtest.Migrated(t)
	writer, other := open(t, dsn), reopen(t, dsn)
	key, renamed := run(0).Try.TaskKey, sizing.TaskKey{Namespace: "default", DAG: "d", Task: "renamed"}
	report := func(i, count int) { // count is below or above directRows, from which on a call uses its own transaction
		obs := make([]sizing.Observation, count)
		for j := range obs {
			obs[j] = run(i + j)
		}
		recorded, err := writer.Record(t.Context(), obs)
		require.NoError(t, err)
		require.NoError(t, recorded[0].Err)
	}
	total := func(key sizing.TaskKey) int {
		h, err := other.History(t.Context(), key, store.HistoryLimits{})
		require.NoError(t, err)
		return h.Total
	}
	report(0, 1)
	require.NoError(t, other.Rename(t.Context(), key, renamed))
	report(1, 2)
	require.Equal(t, []int{1, 2}, []int{total(renamed), total(key)})

	require.NoError(t, other.DeleteTask(t.Context(), key))
	report(100, 200)
	require.Equal(t, []int{1, 200}, []int{total(renamed), total(key)})
}

func TestChangesReturnsAnErrorIfItsConnectionBreaks(t *testing.T) {
	dsn := pgtest.Migrated(t)
	st, admin := reopen(t, dsn), connect(t, dsn)
	err := st.Changes(t.Context(), func() { terminateConnections(t, admin) }, func(sizing.TaskKey) {})
	requireUnavailable(t, err, "try again")
}

// The JSON has the form in which the first release wrote it.
func TestReceiptsOfTheFirstReleaseAreReadable(t *testing.T) {
	dsn := pgtest.Migrated(t)
	st := open(t, dsn)
	_, err := connect(t, dsn).Exec(t.Context(), `
		INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number, at, guard, body)
		VALUES ('old', 'default', 'd', 't', 'r', 0, 1, '2024-05-01 12:00Z', '{1,Infinity}',
			'{"Ask": {"Try": {"Namespace": "default", "DAG": "d", "Task": "t", "RunID": "r", "MapIndex": 0, "Number": 1},
				"Features": {"n": {"Kind": 1, "Num": 0.1, "Text": ""}}, "Requested": {"Memory": 5, "CPU": 0.5}, "MaxMemory": 9},
			"Allocation": {"PredictionID": "old", "Memory": {"Request": 3, "Limit": 4}, "CPU": 1.5, "Ladder": [3, 4],
				"Bins": {"Upper": [3, 4], "Probabilities": [0.75, 0.25], "Chosen": 1},
				"Risk": {"Promised": 0.01, "Target": 0.015}, "Source": "model", "Mode": "shadow", "Shadow": {"Request": 1, "Limit": 2},
				"Model": {"Version": 17, "Family": "f", "Observations": 6, "TrainedAt": "2024-05-01T12:00:00Z"},
				"Reason": "why", "Guard": {"Version": 8}}, "At": "2024-05-01T12:00:00Z"}')`)
	require.NoError(t, err)
	r, err := st.Receipt(t.Context(), "old")
	require.NoError(t, err)
	noon, promised := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC), 0.01
	try := sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "d", Task: "t"}, RunID: "r", Number: 1}
	require.Equal(t, sizing.Receipt{At: noon,
		Ask: sizing.Ask{Try: try, Features: sizing.Features{"n": sizing.NumberValue(0.1)}, Requested: sizing.Resources{Memory: 5, CPU: 0.5}, MaxMemory: 9},
		Allocation: sizing.Allocation{PredictionID: "old", Task: try.TaskKey, Memory: sizing.Grant{Request: 3, Limit: 4}, CPU: 1.5, Ladder: []sizing.Bytes{3, 4},
			Bins: &sizing.BinChoice{Upper: []sizing.Bytes{3, 4}, Probabilities: []float64{0.75, 0.25}, Chosen: 1},
			Risk: sizing.Risk{Promised: &promised, Target: 0.015}, Source: sizing.FromModel, Mode: sizing.Shadow, Shadow: &sizing.Grant{Request: 1, Limit: 2},
			Model:  &sizing.ModelRef{Version: 17, Family: "f", Observations: 6, TrainedAt: noon},
			Reason: "why", Guard: sizing.Guard{Version: 8, Params: []float64{1, math.Inf(1)}}},
	}, r)
}
