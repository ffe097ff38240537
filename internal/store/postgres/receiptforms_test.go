package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
)

// receiptAt returns receipt i, whose time is i ns after `at`. Receipts with even i are of task t, the other receipts of task u.
// Each run has three tries of both tasks.
func receiptAt(i int, at time.Time) sizing.Receipt {
	key := sizing.TaskKey{Namespace: "default", DAG: "d", Task: []string{"t", "u"}[i%2]}
	promised := 0.01 + float64(i)/1000
	r := sizing.Receipt{
		At: at.Add(time.Duration(i)),
		Ask: sizing.Ask{
			Try:       sizing.TryKey{TaskKey: key, RunID: fmt.Sprint("r", i/6), MapIndex: sizing.NoMap, Number: 1 + i/2%3},
			Features:  sizing.Features{"n": sizing.NumberValue(float64(i)), "text": sizing.TextValue("a repeated text")},
			Requested: sizing.Resources{Memory: 1 << 30, CPU: 0.3}, MaxMemory: 1 << 40,
		},
		Allocation: sizing.Allocation{
			PredictionID: fmt.Sprintf("%s-7000-8000-%012x", store.FirstID(at), i), Task: key,
			Memory: sizing.Grant{Request: 1 << 29, Limit: sizing.Bytes(1<<29 + i)}, Risk: sizing.Risk{Promised: &promised, Target: 0.015},
			Source: sizing.FromModel, Mode: sizing.Enforce, Model: &sizing.ModelRef{Version: 3, Family: "experts", Observations: 5, TrainedAt: at},
			Reason: fmt.Sprintf("%dMi: the reason of a model", i), Guard: sizing.Guard{Version: int64(i), Params: []float64{1, promised / 3, 1, 1 + float64(i%4), 0.1}},
		},
	}
	if r.Ask.Try.Number > 1 {
		r.Allocation.Source = sizing.FromLift
	}
	return r
}

func readDerived(t *testing.T, st *postgres.Store, saved []sizing.Receipt, from time.Time) map[string]any {
	t.Helper()
	ctx, found := t.Context(), map[string]any{}
	add := func(name string, v any, err error) {
		t.Helper()
		require.NoError(t, err, name)
		found[name] = v
	}
	for i := range saved {
		r, err := st.Receipt(ctx, saved[i].Allocation.PredictionID)
		add("receipt "+saved[i].Allocation.PredictionID, r, err)
		r, err = st.ReceiptOfTry(ctx, saved[i].Ask.Try)
		add(fmt.Sprint("try ", saved[i].Ask.Try), r, err)
		inputs, err := st.RunInputs(ctx, saved[i].Ask.Try)
		add(fmt.Sprint("inputs ", saved[i].Ask.Try), inputs, err)
	}
	for _, name := range []string{"t", "u"} {
		key := sizing.TaskKey{Namespace: "default", DAG: "d", Task: name}
		history, err := st.History(ctx, key, store.HistoryLimits{})
		add("history "+name, history.Rows, err)
		for _, limit := range []int{5, 1000} {
			realised, err := st.Realised(ctx, key, limit)
			add(fmt.Sprint("realised ", name, limit), realised, err)
			promises, err := st.Promises(ctx, key, limit)
			add(fmt.Sprint("promises ", name, limit), promises, err)
			granted, err := st.GrantedTries(ctx, key, from, limit)
			add(fmt.Sprint("granted ", name, limit), granted, err)
		}
	}
	for _, limit := range []int{7, 1000} {
		tries, unreported, err := st.CountUnreported(ctx, "f", limit)
		add(fmt.Sprint("unreported ", limit), [2]int{tries, unreported}, err)
		receipts, err := st.UnreportedReceipts(ctx, store.Window{From: from, To: from.Add(time.Hour), Now: from.Add(time.Hour), Limit: limit})
		add(fmt.Sprint("unreported receipts ", limit), receipts, err)
	}
	return found
}

// The store derives the same results from JSON and from compact receipts, from a mixture of both,
// and from compact receipts that were converted to JSON.
func TestReceiptsOfBothFormsGiveTheSameResults(t *testing.T) {
	const n = 60
	from := time.Now().UTC().Truncate(time.Second).Add(-time.Minute)
	var saved []sizing.Receipt
	for i := range n {
		saved = append(saved, receiptAt(i, from.Add(time.Duration(i)*time.Second)))
	}
	var reported []sizing.Observation
	for i := 0; i < n; i += 5 { // half of the reports name their receipt
		o := sizing.Observation{Try: saved[i].Ask.Try, Outcome: sizing.Success, MemoryMax: sizing.Bytes(i + 1), EndedAt: from.Add(time.Duration(i+1) * time.Second)}
		if i%2 == 0 {
			o.PredictionID = saved[i].Allocation.PredictionID
		}
		if i%3 == 0 {
			o.Outcome, o.Allocated.Memory = sizing.OOMKilled, saved[i].Allocation.Memory.Limit
		}
		reported = append(reported, o)
	}
	fill := func(dsn, compactFrom string) *postgres.Store {
		st := openWithCompactFrom(t, dsn, compactFrom)
		for i := 0; i < n; i += 10 { // several writes, so that texts become words
			require.NoError(t, st.SaveReceipts(t.Context(), saved[i:i+10]))
		}
		require.NoError(t, st.SaveReceipts(t.Context(), saved), "receipts that are already stored must be ignored")
		_, err := st.Record(t.Context(), reported)
		require.NoError(t, err)
		return st
	}
	want := readDerived(t, fill(pgtest.Migrated(t), "infinity"), saved, from)
	require.Equal(t, saved[7], want["receipt "+saved[7].Allocation.PredictionID])
	require.Equal(t, want, readDerived(t, fill(pgtest.Migrated(t), from.Add(n/2*time.Second).Format(time.RFC3339)), saved, from), "the results must not change if half of the receipts are compact")

	dsn := pgtest.Migrated(t)
	st := fill(dsn, "-infinity")
	require.Equal(t, want, readDerived(t, st, saved, from), "the results must not change if all receipts are compact")
	require.NoError(t, st.ExpandReceipts(t.Context()))
	var compact, json int
	require.NoError(t, connect(t, dsn).QueryRow(t.Context(), "SELECT (SELECT count(*) FROM receipt_compact), (SELECT count(*) FROM receipt)").Scan(&compact, &json))
	require.Equal(t, []int{0, n}, []int{compact, json})
	require.Equal(t, want, readDerived(t, st, saved, from), "the results must not change if all receipts were converted to JSON")
}

// A try may have a compact receipt and a JSON receipt, for example because the id of the JSON receipt is no UUID. The older
// receipt is not listed, even if the newer receipt is outside the window.
func TestOnlyTheNewestReceiptOfATryIsListedAsUnreported(t *testing.T) {
	st := open(t, pgtest.Migrated(t))
	from := time.Now().UTC().Truncate(time.Second)
	save := func(i int, run string, at time.Time, id string) string {
		r := receiptAt(i, at)
		r.Ask.Try.RunID = run
		if id != "" {
			r.Allocation.PredictionID = id
		}
		require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{r}))
		return r.Allocation.PredictionID
	}
	later := from.Add(time.Minute)
	save(0, "a", from, "an old JSON receipt")
	compact := save(0, "a", later, "")
	save(0, "b", from, "")
	json := save(0, "b", later.Add(time.Second), "a new JSON receipt")
	for _, c := range []struct {
		to    time.Time
		limit int
		want  []string
	}{{later, 10, nil}, {later.Add(time.Hour), 10, []string{compact, json}}, {later.Add(time.Hour), 1, []string{compact}}} {
		receipts, err := st.UnreportedReceipts(t.Context(), store.Window{From: from, To: c.to, Now: c.to, Limit: c.limit})
		require.NoError(t, err)
		var ids []string
		for i := range receipts {
			ids = append(ids, receipts[i].Allocation.PredictionID)
		}
		require.Equal(t, c.want, ids)
	}
}

// A rename keeps the receipts of both names, and a deletion removes them, while another replica
// has cached the vocabulary of the task.
func TestCompactReceiptsFollowRenameAndDeletion(t *testing.T) {
	dsn := pgtest.Migrated(t)
	st, other := open(t, dsn), reopen(t, dsn)
	from := time.Now().UTC().Truncate(time.Second)
	key := func(name string) sizing.TaskKey { return sizing.TaskKey{Namespace: "default", DAG: "d", Task: name} }
	save := func(st *postgres.Store, i int, name string) string {
		r := receiptAt(i, from)
		r.Ask.Try.TaskKey, r.Allocation.Task = key(name), key(name)
		require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{r}))
		return r.Allocation.PredictionID
	}
	nameOf := func(id string) string {
		r, err := st.Receipt(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, r.Ask.Try.TaskKey, r.Allocation.Task)
		return r.Ask.Try.Task
	}
	_, err := st.Record(t.Context(), []sizing.Observation{run(1)})
	require.NoError(t, err)
	a, b := save(other, 1, "t"), save(st, 2, "new")
	require.NoError(t, st.Rename(t.Context(), key("t"), key("new")))
	require.Equal(t, []string{"new", "new"}, []string{nameOf(a), nameOf(b)})
	c := save(other, 3, "t")
	require.Equal(t, "t", nameOf(c), "a receipt under a name that no task has any more")
	d := save(other, 4, "new")
	require.Equal(t, "new", nameOf(d))

	require.NoError(t, st.DeleteTask(t.Context(), key("new")))
	for _, id := range []string{a, b, d} {
		_, err := other.Receipt(t.Context(), id)
		require.Equal(t, sizing.NotFound, sizing.KindOf(err))
	}
	require.Equal(t, "new", nameOf(save(other, 5, "new")))
	require.Equal(t, "t", nameOf(c))
}
