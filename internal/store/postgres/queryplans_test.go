package postgres

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Without statistics on a new table the planner chooses any index with matching columns. Both without and
// with statistics, the statements must not read all receipts of the task for each try.
func TestQueryPlansDoNotReadAllReceiptsForEachTry(t *testing.T) {
	for form, compactFrom := range map[string]string{"JSON": "infinity", "compact": "-infinity"} {
		t.Run(form, func(t *testing.T) { testQueryPlans(t, compactFrom) })
	}
}

func testQueryPlans(t *testing.T, compactFrom string) {
	const receipts, tries = 16_000, 60
	dsn := pgtest.Migrated(t)
	st, err := Open(t.Context(), dsn, Config{})
	require.NoError(t, err)
	defer st.Close()
	_, err = st.pool.Exec(t.Context(), "UPDATE receipt_format SET compact_from = $1::text::timestamptz", compactFrom)
	require.NoError(t, err)
	saved, reported := make([]sizing.Receipt, receipts), make([]sizing.Observation, tries)
	for i := range saved {
		saved[i] = receiptNumber(i)
	}
	for i := range reported { // half of the tries have no receipt
		reported[i] = sizing.Observation{Try: receiptNumber(receipts - tries/2 + i).Ask.Try, Outcome: sizing.Success, MemoryMax: 1, EndedAt: time.Now()}
	}
	require.NoError(t, st.SaveReceipts(t.Context(), saved))
	_, err = st.Record(t.Context(), reported)
	require.NoError(t, err)

	wanted := pointers(saved[:tries])
	var id int64
	require.NoError(t, st.pool.QueryRow(t.Context(), "SELECT id FROM task").Scan(&id))
	soon := time.Now().Add(time.Hour)
	check := func(t *testing.T) {
		for _, c := range []struct {
			name, sql string
			args      []any
			maxRead   float64 // bound of the receipts that a good plan reads
		}{
			{"a complete history", allSQL, []any{id, "default", "d", "t"}, 4 * tries},
			{"new rows of a history", sinceSQL, []any{id, "default", "d", "t", 0, math.MaxInt64, tries}, 4 * tries},
			{"newest rows of a history", newestSinceSQL, []any{id, "default", "d", "t", 0, math.MaxInt64, tries}, 4 * tries},
			{"the receipt of a try before its end", receiptBeforeEndSQL, []any{"default", "d", "t", saved[7].Ask.Try.RunID, -1, 1, soon}, 2},
			{"the receipt of a try without a report", receiptBeforeEndSQL, []any{"default", "d", "t", saved[7].Ask.Try.RunID, -1, 1, nil}, 2},
			{"the receipt of a try after its end", receiptAfterEndSQL, []any{"default", "d", "t", saved[7].Ask.Try.RunID, -1, 1, saved[0].At.Add(-time.Hour)}, 2},
			{"features from receipts", receiptFeaturesSQL, []any{
				column(wanted, func(r *sizing.Receipt) string { return r.Ask.Try.Namespace }),
				column(wanted, func(r *sizing.Receipt) string { return r.Ask.Try.DAG }),
				column(wanted, func(r *sizing.Receipt) string { return r.Ask.Try.Task }),
				column(wanted, func(r *sizing.Receipt) string { return r.Ask.Try.RunID }),
				column(wanted, func(r *sizing.Receipt) int32 { return int32(r.Ask.Try.MapIndex) }),
				column(wanted, func(r *sizing.Receipt) int16 { return int16(r.Ask.Try.Number) }),
			}, 4 * tries},
			{"compact unreported receipts", unreportedCompactSQL, []any{soon.Add(-2 * time.Hour), soon, soon, tries}, 4 * receipts},
			{"unreported receipts", unreportedReceiptsSQL, []any{soon.Add(-2 * time.Hour), soon, soon, tries}, 4 * receipts},
		} {
			t.Run(c.name, func(t *testing.T) {
				assert.LessOrEqual(t, receiptsRead(t, st, c.sql, c.args...), c.maxRead)
			})
		}
	}
	t.Run("without statistics", check)
	_, err = st.pool.Exec(t.Context(), "ANALYZE")
	require.NoError(t, err)
	t.Run("with statistics", check)
}

func receiptNumber(i int) sizing.Receipt {
	try := sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "d", Task: "t"}, RunID: fmt.Sprintf("manual__2026-11-22T02:05:58.%06d+00:00__of_a_pipeline_with_a_name", i), MapIndex: sizing.NoMap, Number: 1}
	return sizing.Receipt{At: time.Now(), Ask: sizing.Ask{Try: try, Features: sizing.Features{"n": sizing.NumberValue(float64(i))}},
		Allocation: sizing.Allocation{PredictionID: uuid.Must(uuid.NewV7()).String(), Task: try.TaskKey}}
}

func receiptsRead(t *testing.T, st *Store, sql string, args ...any) float64 {
	t.Helper()
	return rowsRead(t, st, "receipt", sql, args...)
}

// rowsRead returns the number of rows that a statement reads from the tables whose names begin with `table`, except
// receipt_name. Rows that a filter removes count, too. It runs the statement in the transaction mode of History.
func rowsRead(t *testing.T, st *Store, table, sql string, args ...any) (n float64) {
	t.Helper()
	require.NoError(t, st.inTx(t.Context(), "explain", snapshot, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), preferIndexesSQL); err != nil {
			return err
		}
		var plans []map[string]any
		err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "+sql, args...).Scan(&plans)
		n = rowsReadBy(plans[0]["Plan"].(map[string]any), table)
		return err
	}))
	return n
}

func rowsReadBy(node map[string]any, table string) (n float64) {
	if relation, ok := node["Relation Name"].(string); ok && strings.HasPrefix(relation, table) && relation != "receipt_name" {
		filtered, _ := node["Rows Removed by Filter"].(float64)
		n = (node["Actual Rows"].(float64) + filtered) * node["Actual Loops"].(float64)
	}
	children, _ := node["Plans"].([]any)
	for _, child := range children {
		n += rowsReadBy(child.(map[string]any), table)
	}
	return n
}

func TestInsertSQLUsesPlausibleTime(t *testing.T) {
	assert.Contains(t, insertSQL, plausibleTime)
}
