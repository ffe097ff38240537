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

// experiment is a run of an experiment with everything known of it.
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

func examineRuns(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("an experiment is read back byte for byte, by its id and by its name", func(t *testing.T) {
		want := experiment("naïve; DROP")
		want.ID = saveRun(t, st, want)
		for _, ref := range []string{strconv.FormatInt(want.ID, 10), "naïve; DROP"} {
			got, err := st.Run(t.Context(), ref)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})

	t.Run("what is not known comes back as not known", func(t *testing.T) {
		want := store.Run{CreatedAt: noon}
		want.ID = saveRun(t, st, want)
		got, err := st.Run(t.Context(), strconv.FormatInt(want.ID, 10))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})

	t.Run("many may be unnamed, but a name is given once", func(t *testing.T) {
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

	t.Run("the id that a run brings is not looked at", func(t *testing.T) {
		r := experiment("with an id")
		r.ID = saveRun(t, st, experiment("its neighbour"))
		require.Less(t, r.ID, saveRun(t, st, r))
	})

	t.Run("what was never saved is not found", func(t *testing.T) {
		for _, ref := range []string{"unknown", "", "0", "-1", "9223372036854775807", "9223372036854775808"} {
			_, err := st.Run(t.Context(), ref)
			requireKind(t, sizing.NotFound, err)
		}
	})

	t.Run("of many who save under one name one wins", func(t *testing.T) {
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

	examineRefusedRuns(t, st)
	examineRunModels(t, st)
	examineRunPages(t, open(t))
}

func examineRefusedRuns(t *testing.T, st store.Store) {
	for claim, spoil := range map[string]func(*store.Run, *store.RunModel){
		"a name that reads as a number": func(r *store.Run, _ *store.RunModel) { r.Name = "-12" },
		"a name that is no text":        func(r *store.Run, _ *store.RunModel) { r.Name = "bad\x00" },
		"parameters that are no JSON":   func(r *store.Run, _ *store.RunModel) { r.Parameters = []byte(`{`) },
		"rows that are no JSON":         func(r *store.Run, _ *store.RunModel) { r.Rows = []byte(`[NaN]`) },
		"a report that is no JSON":      func(r *store.Run, _ *store.RunModel) { r.Report = []byte(``) },
		"a model without bytes":         func(_ *store.Run, m *store.RunModel) { m.Blob = nil },
		"a model of a task of no text":  func(_ *store.Run, m *store.RunModel) { m.Task = "\x00" },
	} {
		t.Run("nothing is stored of a run with "+claim, func(t *testing.T) {
			before, err := st.Runs(t.Context(), 0, 1000)
			require.NoError(t, err)
			good := store.RunModel{Task: "a", Family: "cart", Blob: []byte{1}}
			r, bad := experiment("refused: "+claim), good
			spoil(&r, &bad)
			id, err := st.SaveRun(t.Context(), r, []store.RunModel{good, bad})
			requireKind(t, sizing.Invalid, err)
			require.Zero(t, id)
			after, err := st.Runs(t.Context(), 0, 1000)
			require.NoError(t, err)
			require.Equal(t, before, after)
		})
	}
}

func examineRunModels(t *testing.T, st store.Store) {
	t.Run("models are read back in the order they were given, also twins", func(t *testing.T) {
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

	t.Run("a run without models has none, and an unknown one is not found", func(t *testing.T) {
		id := saveRun(t, st, experiment("no models"))
		models, err := st.RunModels(t.Context(), id)
		require.NoError(t, err)
		require.Empty(t, models)
		_, err = st.RunModels(t.Context(), id+1000)
		requireKind(t, sizing.NotFound, err)
	})

	t.Run("to rename or delete a task leaves experiments as they were", func(t *testing.T) {
		key := furnish(t, st, "renamed in experiments")
		want := []store.RunModel{{Task: key.Task, Family: "final", Blob: []byte{1}}}
		id := saveRun(t, st, experiment("of a task"), want...)
		moved := task("moved in experiments")
		require.NoError(t, st.Rename(t.Context(), key, moved))
		require.NoError(t, st.DeleteTask(t.Context(), moved))
		got, err := st.RunModels(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func examineRunPages(t *testing.T, st store.Store) {
	var ids []int64
	for i := range 5 {
		r := experiment("")
		r.CreatedAt = noon.Add(-time.Duration(i) * time.Hour) // the order is that of saving
		ids = append(ids, saveRun(t, st, r, store.RunModel{Task: "a", Family: "cart", Blob: []byte{1}}))
	}
	for claim, c := range map[string]struct {
		before int64
		limit  int
		want   []int64
	}{
		"all are listed, newest first":      {0, 10, []int64{ids[4], ids[3], ids[2], ids[1], ids[0]}},
		"a page ends at its limit":          {0, 2, []int64{ids[4], ids[3]}},
		"the next begins below the last":    {ids[3], 2, []int64{ids[2], ids[1]}},
		"the last page is short":            {ids[1], 2, []int64{ids[0]}},
		"below the first is nothing":        {ids[0], 2, nil},
		"no id is too large to start below": {math.MaxInt64, 1, []int64{ids[4]}},
		"nor is one beyond 32 bits":         {1 << 31, 1, []int64{ids[4]}},
		"a page of nothing is an empty one": {0, 0, nil},
		"so is one of less than nothing":    {0, -1, nil},
	} {
		t.Run(claim, func(t *testing.T) {
			runs, err := st.Runs(t.Context(), c.before, c.limit)
			require.NoError(t, err)
			var got []int64
			for _, r := range runs {
				got = append(got, r.ID)
				require.Nil(t, r.Report, "left out")
				require.Equal(t, experiment("").Rows, r.Rows)
				require.Equal(t, experiment("").Parameters, r.Parameters)
			}
			require.Equal(t, c.want, got)
		})
	}
}
