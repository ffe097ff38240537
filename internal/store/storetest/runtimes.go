package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func testShapes(t *testing.T, open func(*testing.T) store.Store) {
	st, ctx := open(t), t.Context()
	_, err := st.Shapes(ctx, "a")
	require.Equal(t, sizing.NotFound, sizing.KindOf(err))
	first := store.Shapes{Namespace: "a", LearnedAt: noon, Content: []byte{1, 2}}
	version, err := st.SaveShapes(ctx, first)
	require.NoError(t, err)
	require.Equal(t, 1, version)
	_, err = st.SaveShapes(ctx, first)
	require.Equal(t, sizing.Conflict, sizing.KindOf(err), "the save must be a conflict, because version 1 is stored already")

	second := store.Shapes{Namespace: "a", Version: 1, LearnedAt: noon.AddDate(0, 0, 1), Content: []byte{3}}
	version, err = st.SaveShapes(ctx, second)
	require.NoError(t, err)
	require.Equal(t, 2, version)
	_, err = st.SaveShapes(ctx, second)
	require.Equal(t, sizing.Conflict, sizing.KindOf(err))

	got, err := st.Shapes(ctx, "a")
	require.NoError(t, err)
	second.Version = 2
	require.Equal(t, second, got)

	_, err = st.SaveShapes(ctx, store.Shapes{Namespace: "b", LearnedAt: noon, Content: make([]byte, store.MaxShapes+1)})
	require.Error(t, err, "content above MaxShapes must be rejected")
	versions, err := st.ShapeVersions(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 2}, versions)
}

func testStructure(t *testing.T, open func(*testing.T) store.Store) {
	st, ctx := open(t), t.Context()
	_, err := st.Structure(ctx, "a", "etl")
	require.Equal(t, sizing.NotFound, sizing.KindOf(err))
	first := sizing.Structure{Namespace: "a", DAG: "etl", UpdatedAt: noon, Tasks: []sizing.StructureTask{{TaskID: "load", Upstream: []string{}}}}
	require.NoError(t, st.SetStructure(ctx, first))
	got, err := st.Structure(ctx, "a", "etl")
	require.NoError(t, err)
	require.Zero(t, got.ChangedAt)
	second := first
	second.UpdatedAt, second.ChangedAt = noon.AddDate(0, 0, 2), noon.AddDate(0, 0, 1)
	second.Tasks = append(second.Tasks, sizing.StructureTask{TaskID: "fit", Upstream: []string{"load"}})
	require.NoError(t, st.SetStructure(ctx, second))
	got, err = st.Structure(ctx, "a", "etl")
	require.NoError(t, err)
	require.Equal(t, second, got)
	_, err = st.Structure(ctx, "b", "etl")
	require.Equal(t, sizing.NotFound, sizing.KindOf(err))
}
