package storetest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// receipt returns a receipt. It has no promise if promised is NaN.
func receipt(id string, try sizing.TryKey, promised float64, at time.Time) sizing.Receipt {
	r := sizing.Receipt{
		Ask: sizing.Ask{Try: try, Features: sizing.Features{"n": sizing.NumberValue(1)}},
		Allocation: sizing.Allocation{PredictionID: id, Task: try.TaskKey,
			Memory: sizing.Grant{Request: 2 * sizing.GiB, Limit: 2 * sizing.GiB}},
		At: at,
	}
	if !math.IsNaN(promised) {
		r.Allocation.Risk.Promised = &promised
	}
	return r
}

func testReceipts(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	save := func(t *testing.T, receipts ...sizing.Receipt) {
		t.Helper()
		require.NoError(t, st.SaveReceipts(t.Context(), receipts))
	}

	t.Run("a receipt is read back bit for bit", func(t *testing.T) {
		third, denormal, aboveOne := 1.0/3, math.SmallestNonzeroFloat64, math.Nextafter(1, 2)
		want := receipt("whole", sizing.TryKey{TaskKey: task("whole"), RunID: "r", MapIndex: 3, Number: 2}, third, noon.Add(time.Microsecond))
		want.Ask.Features = sizing.Features{"a": sizing.NumberValue(denormal), "b": sizing.TextValue("<ü & \"☃\">"), "c": sizing.TextValue("2020-01-03"), "d": sizing.BoolValue(false), "e": {}, "f": sizing.TextValue("2.5 GB")}
		want.Ask.Requested, want.Ask.MaxMemory = sizing.Resources{Memory: sizing.MaxBytes, CPU: 0.1}, 1
		a := &want.Allocation
		a.CPU, a.Duration = 0.1, &sizing.Duration{Median: time.Nanosecond, P95: time.Hour}
		a.Bins = &sizing.BinChoice{Upper: []sizing.Bytes{1, sizing.MaxBytes}, Probabilities: []float64{third, 1 - third}, Chosen: 1}
		a.Ladder, a.Source, a.Mode, a.Reason = []sizing.Bytes{1, 2}, sizing.FromModel, sizing.Shadow, "because"
		a.Risk.Target, a.Shadow = aboveOne, &sizing.Grant{Request: 1, Limit: 2}
		a.Model = &sizing.ModelRef{Version: 17, Family: "f", Observations: 1460, TrainedAt: noon}
		a.Guard = sizing.Guard{Version: math.MaxInt64, Params: []float64{third, math.Inf(1), math.Inf(-1), denormal, math.Copysign(0, -1)}}
		save(t, want)
		got, err := st.Receipt(t.Context(), "whole")
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.True(t, math.Signbit(got.Allocation.Guard.Params[4]))
	})

	t.Run("guard parameters may be NaN", func(t *testing.T) {
		r := receipt("nan", firstTry(task("nan"), "r"), 0.1, noon)
		r.Allocation.Guard.Params = []float64{math.NaN()}
		save(t, r)
		got, err := st.Receipt(t.Context(), "nan")
		require.NoError(t, err)
		require.True(t, math.IsNaN(got.Allocation.Guard.Params[0]))
	})

	t.Run("a stored id is not overwritten", func(t *testing.T) {
		first, second := receipt("known", firstTry(task("known"), "r"), 0.1, noon), receipt("known", firstTry(task("known"), "r"), 0.2, noon)
		save(t, first, receipt("batch 1", firstTry(task("known"), "s"), 0.1, noon))
		save(t, second, receipt("batch 2", firstTry(task("known"), "s"), 0.1, noon))
		got, err := st.Receipt(t.Context(), "known")
		require.NoError(t, err)
		require.Equal(t, first, got)
		_, err = st.Receipt(t.Context(), "batch 2")
		require.NoError(t, err)
	})

	t.Run("either all receipts or none are stored", func(t *testing.T) {
		bad := receipt("bad\x00", firstTry(task("none"), "r"), 0.1, noon)
		err := st.SaveReceipts(t.Context(), []sizing.Receipt{receipt("good", firstTry(task("none"), "r"), 0.1, noon), bad})
		requireKind(t, sizing.Invalid, err)
		_, err = st.Receipt(t.Context(), "good")
		requireKind(t, sizing.NotFound, err)
	})

	t.Run("ReceiptOfTry returns the receipt in force when the try ran", func(t *testing.T) {
		try := firstTry(task("newest"), "r")
		retry := try
		retry.Number = 2
		requireReceipt := func(want string) {
			t.Helper()
			got, err := st.ReceiptOfTry(t.Context(), try)
			require.NoError(t, err)
			require.Equal(t, want, got.Allocation.PredictionID)
		}
		late := noon.Add(time.Minute)
		save(t, receipt("n2", try, 0.2, late), receipt("n3", retry, 0.3, noon.Add(time.Hour)))
		requireReceipt("n2") // the try still runs
		o := success(try, sizing.GiB, 1)
		recordNew(t, st, o)  // ended at noon
		requireReceipt("n2") // the end is before the receipt, because the reporter's clock is slow
		save(t, receipt("n1", try, 0.1, noon), receipt("n0", try, 0.1, noon.Add(-time.Minute)))
		requireReceipt("n1") // n1 is now the newest receipt up to the end; n2 was predicted after the end
		o.PredictionID = "n0"
		record(t, st, o)
		requireReceipt("n0") // the report names this receipt
		o.PredictionID = "n3"
		record(t, st, o)
		requireReceipt("n0") // n3 is the receipt of another try

		try = firstTry(task("newest"), "imported")
		save(t, receipt("n4", try, 0.1, noon.Add(25*time.Hour)))
		recordNew(t, st, success(try, sizing.GiB, 1))
		_, err := st.ReceiptOfTry(t.Context(), try)
		requireKind(t, sizing.NotFound, err)
	})

	t.Run("a prediction without a run id is not a try and creates no task", func(t *testing.T) {
		noRun := firstTry(task("no run"), "")
		save(t, receipt("no run", noRun, 0.1, noon))
		_, err := st.ReceiptOfTry(t.Context(), noRun)
		requireKind(t, sizing.NotFound, err)
		_, err = st.Task(t.Context(), noRun.TaskKey)
		requireKind(t, sizing.NotFound, err)
		_, err = st.Receipt(t.Context(), "no run")
		require.NoError(t, err)
	})

	t.Run("an empty call is no error", func(t *testing.T) { save(t) })
}

func testCountUnreported(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	key := task("counted")
	reported, failed, unreported, repeated := firstTry(key, "reported"), firstTry(key, "failed"), firstTry(key, "unreported"), firstTry(key, "repeated")
	lifted := unreported
	lifted.Number = 2
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{
		receipt("0", firstTry(task("unknown"), "r"), 0.1, noon), // of a task without reports
		receipt("1", reported, 0.1, noon), receipt("2", failed, 0.1, noon), receipt("3", unreported, 0.1, noon),
		receipt("4", repeated, 0.1, noon), receipt("5", repeated, 0.1, noon),
		receipt("6", lifted, 0.1, noon), receipt("7", firstTry(key, ""), 0.1, noon), // a second try; a prediction without a run id
		receipt("8", firstTry(key, "newer"), 0.1, noon),
	}))
	obs := runs(key, 1)[0]
	obs.Try = reported
	recordNew(t, st, obs)
	obs.Try, obs.Outcome = failed, sizing.Failed
	recordNew(t, st, obs)

	for name, c := range map[string]struct {
		before            string
		limit             int
		tries, unreported int
	}{
		"a try with two receipts counts once, and a failed try is reported": {"8", 100, 5, 3},
		"the limit selects the newest receipts of first tries":              {"8", 3, 2, 2},
		"newer ids are omitted": {"3", 100, 3, 1},
		"no older receipts":     {"", 100, 0, 0},
		"limit 0":               {"8", 0, 0, 0},
	} {
		tries, count, err := st.CountUnreported(t.Context(), c.before, c.limit)
		require.NoError(t, err)
		require.Equal(t, [2]int{c.tries, c.unreported}, [2]int{tries, count}, name)
	}
}

func testRealised(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	key := task("realised")
	noPromise := math.NaN()
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	of := func(run string) sizing.TryKey { return firstTry(key, run) }
	second := of("killed")
	second.Number = 2
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{
		receipt("r1", of("fine"), 0.25, minute(1)),
		receipt("r2", of("killed"), 0.5, minute(2)),
		receipt("r3", second, 0.125, minute(3)),               // not a first try
		receipt("r4", of("running"), 0.5, minute(4)),          // has not ended
		receipt("r5", of("no promise"), noPromise, minute(5)), // without a promise
		receipt("r6", of("two receipts"), 0.5, minute(6)),
		receipt("r7", of("two receipts"), 0.0625, minute(7)), // the answer at launch
		receipt("r8", of(""), 0.5, minute(8)),                // without a run id, so not a try
		receipt("r9", firstTry(task("other"), "fine"), 0.5, minute(9)),
	}))
	ended := []sizing.Observation{success(of("fine"), sizing.GiB, 1), kill(of("killed"), 2*sizing.GiB), success(second, 3*sizing.GiB, 1),
		success(of("no promise"), sizing.GiB, 1), success(of("two receipts"), sizing.GiB, 1), success(of("no receipt"), sizing.GiB, 1)}
	for i := range ended {
		ended[i].EndedAt = minute(10)
	}
	recordNew(t, st, ended...)

	t.Run("history has the promised risk of each try", func(t *testing.T) {
		want := map[string]any{"fine 1": 0.25, "killed 1": 0.5, "killed 2": 0.125, "no promise 1": nil, "two receipts 1": 0.0625, "no receipt 1": nil}
		whole, err := st.History(t.Context(), key, store.HistoryLimits{})
		require.NoError(t, err)
		limited, err := st.History(t.Context(), key, store.HistoryLimits{Total: 5})
		require.NoError(t, err)
		since, err := st.Since(t.Context(), key, 0, 10)
		require.NoError(t, err)
		for _, h := range []sizing.History{whole, limited, since} {
			got := map[string]any{}
			for _, row := range h.Rows {
				got[fmt.Sprint(row.RunID, " ", row.Try)] = nil
				if row.Promised != nil {
					got[fmt.Sprint(row.RunID, " ", row.Try)] = *row.Promised
				}
			}
			require.GreaterOrEqual(t, len(got), 4)
			require.Subset(t, want, got)
		}
	})

	for name, c := range map[string]struct {
		task  sizing.TaskKey
		limit int
		want  sizing.RealisedRisk
	}{
		"ended first tries with a promise count": {key, 100, sizing.RealisedRisk{Tries: 3, Killed: 1, Promised: 0.25 + 0.5 + 0.0625}},
		"only the newest receipts are read":      {key, 3, sizing.RealisedRisk{Tries: 1, Promised: 0.0625}},
		"an unknown task has none":               {task("unknown"), 100, sizing.RealisedRisk{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := st.Realised(t.Context(), c.task, c.limit)
			require.NoError(t, err)
			require.Equal(t, c.want, got, fmt.Sprint(c.limit))
		})
	}
}

// testPromisedAtLaunch tests which of several receipts of a try gives its promise.
func testPromisedAtLaunch(t *testing.T, open func(*testing.T) store.Store) {
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	type promise struct {
		at       int // minutes after noon
		promised float64
	}
	noPromise := math.NaN()
	for name, c := range map[string]struct {
		receipts []promise
		ended    int // minutes after noon; 0: unknown, so that the time of the report is used
		named    int // 1, 2, …: the receipt that the report names; 0: none
		want     float64
	}{
		"a receipt after the end changes nothing":                                  {[]promise{{1, 0.25}, {20, 0.5}}, 10, 0, 0.25},
		"a receipt long after the end changes nothing":                             {[]promise{{1, 0.25}, {10_000, 0.5}}, 10, 0, 0.25},
		"several receipts after the end change nothing":                            {[]promise{{1, 0.25}, {20, 0.5}, {30, 0.75}}, 10, 0, 0.25},
		"a receipt after a try that waited for weeks changes nothing":              {[]promise{{1, 0.25}, {30_001, 0.5}}, 30_000, 0, 0.25},
		"the last receipt before the end counts":                                   {[]promise{{1, 0.25}, {5, 0.5}, {20, 0.75}}, 10, 0, 0.5},
		"a receipt named by the report counts":                                     {[]promise{{1, 0.25}, {5, 0.5}, {20, 0.75}}, 10, 1, 0.25},
		"a try launched without a promise takes none from a later receipt":         {[]promise{{1, noPromise}, {20, 0.5}}, 10, 0, noPromise},
		"a try whose named receipt has no promise takes none from another receipt": {[]promise{{1, noPromise}, {5, 0.5}}, 10, 1, noPromise},
		"a slow clock of the reporter hides no promise":                            {[]promise{{11, 0.25}, {20, 0.5}}, 10, 0, 0.25},
		"without an end, the time of the report counts instead":                    {[]promise{{1, 0.25}, {5, 0.5}}, 0, 0, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			st := open(t)
			key := task("launched")
			o := success(firstTry(key, "r"), sizing.GiB, 1)
			o.EndedAt = time.Time{}
			if c.ended > 0 {
				o.EndedAt = minute(c.ended)
			}
			var receipts []sizing.Receipt
			for i, a := range c.receipts {
				r := receipt(idAt(minute(a.at), i), o.Try, a.promised, minute(a.at))
				r.Allocation.Model = &sizing.ModelRef{Version: 1}
				receipts = append(receipts, r)
			}
			if c.named > 0 {
				o.PredictionID = receipts[c.named-1].Allocation.PredictionID
			}
			require.NoError(t, st.SaveReceipts(t.Context(), receipts))
			recordNew(t, st, o)
			promised := history(t, st, key).Rows[0].Promised
			realised, err := st.Realised(t.Context(), key, 100)
			require.NoError(t, err)
			evidence, err := st.Promises(t.Context(), key, 100)
			require.NoError(t, err)
			if math.IsNaN(c.want) {
				require.Nil(t, promised)
				require.Zero(t, realised.Tries)
				require.Empty(t, evidence)
				return
			}
			require.NotNil(t, promised)
			require.Equal(t, c.want, *promised)
			require.Equal(t, sizing.RealisedRisk{Tries: 1, Promised: c.want}, realised)
			require.Len(t, evidence, 1)
			require.Equal(t, c.want, evidence[0].Risk)
		})
	}
}

// testRecentTasks tests the list of tasks whose models a replica decodes first after its start.
func testRecentTasks(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	at := noon
	for i, name := range []string{"a", "b", "a", "c", "b"} {
		at = at.Add(time.Minute)
		try := sizing.TryKey{TaskKey: task(name), MapIndex: sizing.NoMap, Number: 1}
		id := fmt.Sprintf("0195%04d-0000-7000-8000-000000000000", i)
		require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{receipt(id, try, 0.01, at)}))
	}
	recent, err := st.RecentTasks(t.Context(), 100)
	require.NoError(t, err)
	require.Equal(t, []sizing.TaskKey{task("b"), task("c"), task("a")}, recent, "the tasks of the newest receipts must come first")
	recent, err = st.RecentTasks(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, []sizing.TaskKey{task("b"), task("c")}, recent)
}
