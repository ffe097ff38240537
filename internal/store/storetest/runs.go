package storetest

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// experiment returns a run with all fields except the id.
func experiment(name string) store.Run {
	return store.Run{Name: name, CreatedAt: noon.Add(time.Microsecond), Fingerprint: "00ff",
		Parameters: []byte(`{"seeds": 5,  "families":["final"]}`), Rows: []byte(`[ {"u_score":1.50} ]`), Report: []byte(`"☃\u0000"`)}
}

func saveRun(t *testing.T, st store.Store, r store.Run, models ...store.RunModel) (id int64) {
	t.Helper()
	id, err := st.SaveRun(t.Context(), r, models)
	require.NoError(t, err)
	return id
}

func testRuns(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("a run is read back byte for byte, by id and by name", func(t *testing.T) {
		want := experiment("naïve; DROP")
		want.ID = saveRun(t, st, want)
		for _, ref := range []string{strconv.FormatInt(want.ID, 10), "naïve; DROP"} {
			got, err := st.Run(t.Context(), ref)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})

	t.Run("unknown fields stay unknown", func(t *testing.T) {
		want := store.Run{CreatedAt: noon}
		want.ID = saveRun(t, st, want)
		got, err := st.Run(t.Context(), strconv.FormatInt(want.ID, 10))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})

	t.Run("names are unique, and optional", func(t *testing.T) {
		require.Less(t, saveRun(t, st, experiment("")), saveRun(t, st, experiment("")))
		first := saveRun(t, st, experiment("taken"))
		other := experiment("taken")
		other.Fingerprint = "another"
		_, err := st.SaveRun(t.Context(), other, nil)
		requireKind(t, sizing.Conflict, err)
		got, err := st.Run(t.Context(), "taken")
		require.NoError(t, err)
		require.Equal(t, first, got.ID)
		require.Equal(t, "00ff", got.Fingerprint)
	})

	t.Run("SaveRun ignores the id of the run", func(t *testing.T) {
		r := experiment("with an id")
		r.ID = saveRun(t, st, experiment("previous"))
		require.Less(t, r.ID, saveRun(t, st, r))
	})

	t.Run("an unknown run is not found", func(t *testing.T) {
		for _, ref := range []string{"unknown", "", "0", "-1", "9223372036854775807", "9223372036854775808"} {
			_, err := st.Run(t.Context(), ref)
			requireKind(t, sizing.NotFound, err)
		}
	})

	t.Run("one of several concurrent saves under one name succeeds", func(t *testing.T) {
		var mu sync.Mutex
		var winners []int64
		inParallel(t, 8, func(ctx context.Context, _ int) error {
			id, err := st.SaveRun(ctx, experiment("wanted"), nil)
			if sizing.KindOf(err) == sizing.Conflict {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			winners = append(winners, id)
			return err
		})
		require.Len(t, winners, 1)
	})

	testInvalidRuns(t, st)
	testRunModels(t, st)
	testRunPages(t, open(t))
}

func testInvalidRuns(t *testing.T, st store.Store) {
	for name, invalidate := range map[string]func(*store.Run, *store.RunModel){
		"a numeric name":       func(r *store.Run, _ *store.RunModel) { r.Name = "-12" },
		"a name with NUL":      func(r *store.Run, _ *store.RunModel) { r.Name = "bad\x00" },
		"malformed parameters": func(r *store.Run, _ *store.RunModel) { r.Parameters = []byte(`{`) },
		"malformed rows":       func(r *store.Run, _ *store.RunModel) { r.Rows = []byte(`[NaN]`) },
		"a malformed report":   func(r *store.Run, _ *store.RunModel) { r.Report = []byte(``) },
		"an empty model":       func(_ *store.Run, m *store.RunModel) { m.Blob = nil },
		"a task name with NUL": func(_ *store.Run, m *store.RunModel) { m.Task = "\x00" },
	} {
		t.Run("a run with "+name+" is rejected as a whole", func(t *testing.T) {
			before, err := st.Runs(t.Context(), 0, 1000)
			require.NoError(t, err)
			good := store.RunModel{Task: "a", Family: "cart", Blob: []byte{1}}
			r, bad := experiment("invalid: "+name), good
			invalidate(&r, &bad)
			id, err := st.SaveRun(t.Context(), r, []store.RunModel{good, bad})
			requireKind(t, sizing.Invalid, err)
			require.Zero(t, id)
			after, err := st.Runs(t.Context(), 0, 1000)
			require.NoError(t, err)
			require.Equal(t, before, after)
		})
	}
}

func testRunModels(t *testing.T, st store.Store) {
	t.Run("models keep their order, also with equal names", func(t *testing.T) {
		want := []store.RunModel{
			{Task: "z", Family: "svm", Blob: bytes.Repeat([]byte{0, 255, 7}, 100_000)},
			{Task: "a", Family: "final", Blob: []byte{1}},
			{Task: "z", Family: "svm", Blob: []byte{2}},
		}
		id, other := saveRun(t, st, experiment("models"), want...), saveRun(t, st, experiment("other models"), want[1])
		got, err := st.RunModels(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = st.RunModels(t.Context(), other)
		require.NoError(t, err)
		require.Equal(t, want[1:2], got)
	})

	t.Run("a run may have no models, and an unknown run is not found", func(t *testing.T) {
		id := saveRun(t, st, experiment("no models"))
		models, err := st.RunModels(t.Context(), id)
		require.NoError(t, err)
		require.Empty(t, models)
		_, err = st.RunModels(t.Context(), id+1000)
		requireKind(t, sizing.NotFound, err)
	})

	t.Run("renaming or deleting a task does not change experiments", func(t *testing.T) {
		key := createTaskData(t, st, "renamed in experiments")
		want := []store.RunModel{{Task: key.Task, Family: "final", Blob: []byte{1}}}
		id := saveRun(t, st, experiment("of a task"), want...)
		renamed := task("new name in experiments")
		require.NoError(t, st.Rename(t.Context(), key, renamed))
		require.NoError(t, st.DeleteTask(t.Context(), renamed))
		got, err := st.RunModels(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func testRunPages(t *testing.T, st store.Store) {
	var ids []int64
	for i := range 5 {
		r := experiment("")
		r.CreatedAt = noon.Add(-time.Duration(i) * time.Hour) // descending, because pages must be ordered by id and not by time
		ids = append(ids, saveRun(t, st, r, store.RunModel{Task: "a", Family: "cart", Blob: []byte{1}}))
	}
	for name, c := range map[string]struct {
		before int64
		limit  int
		want   []int64
	}{
		"all are listed, the last saved first":   {0, 10, []int64{ids[4], ids[3], ids[2], ids[1], ids[0]}},
		"a page ends at its limit":               {0, 2, []int64{ids[4], ids[3]}},
		"the next page starts below the last id": {ids[3], 2, []int64{ids[2], ids[1]}},
		"the last page is short":                 {ids[1], 2, []int64{ids[0]}},
		"nothing is below the first id":          {ids[0], 2, nil},
		"the largest id is valid":                {math.MaxInt64, 1, []int64{ids[4]}},
		"an id beyond 32 bits is valid":          {1 << 31, 1, []int64{ids[4]}},
		"limit 0 gives an empty page":            {0, 0, nil},
		"a negative limit gives an empty page":   {0, -1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			runs, err := st.Runs(t.Context(), c.before, c.limit)
			require.NoError(t, err)
			var got []int64
			for _, r := range runs {
				got = append(got, r.ID)
				require.Nil(t, r.Report, "a list must omit the reports")
				require.Equal(t, experiment("").Rows, r.Rows)
				require.Equal(t, experiment("").Parameters, r.Parameters)
			}
			require.Equal(t, c.want, got)
		})
	}
}
