package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func TestCorruptExperimentModelIsAnError(t *testing.T) {
	dsn := pgtest.Migrated(t)
	st := open(t, dsn)
	id, err := st.SaveRun(t.Context(), store.Run{CreatedAt: time.Unix(0, 0)}, []store.RunModel{{Task: "a", Family: "svm", Blob: []byte{1, 2, 3}}})
	require.NoError(t, err)
	_, err = connect(t, dsn).Exec(t.Context(), `UPDATE experiment_model SET blob = '\x010203ff'`)
	require.NoError(t, err)
	models, err := st.RunModels(t.Context(), id)
	require.Equal(t, sizing.Internal, sizing.KindOf(err))
	require.ErrorContains(t, err, "the stored svm model of a is corrupt")
	require.Empty(t, models)
}
