// Package trackingtest saves experiments for tests.
package trackingtest

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/experiment/tracking"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
)

// Row returns a row of predict_demand with the bins {30;350}.
func Row(family string, seed uint64, u, accuracy float64) experiment.Row {
	return experiment.Row{Task: "predict_demand", BinsGB: []float64{30, 350}, Family: family, Oversampling: "none", Split: "stratified",
		Seed: seed, UScore: u, Accuracy: accuracy, URate: 0.125, Optimal: 0.5, TimeOptimal: 0.25, Estimated: 0.375}
}

// SaveTwo saves two experiments in a new database and returns the URL of the database. Both experiments have rows of the
// family final with the seeds 0 and 1. In the second experiment the u scores of these rows are lower by 1 and 2. Only the
// first experiment has a name, a row of the family cart and a model. Only the second experiment has a row of the family svm
// and the given fingerprint.
func SaveTwo(t *testing.T, fingerprint string) (dsn string) {
	t.Helper()
	dsn = pgtest.Migrated(t)
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer st.Close()
	save := func(name, fingerprint string, models []store.RunModel, rows ...experiment.Row) {
		report := &experiment.Report{Trace: "retail.csv", Fingerprint: fingerprint, Rows: rows}
		require.NoError(t, tracking.Save(t.Context(), tracking.NewDatabaseStore(st, "a test"), io.Discard, name, map[string]any{"seeds": 2}, report, models))
	}
	save("first", strings.Repeat("ab", 32), []store.RunModel{{Task: "predict_demand", Family: "final", Blob: []byte("abc")}},
		Row("final", 0, 4, 0.75), Row("final", 1, 6, 0.5), Row("cart", 0, 10, 0.25))
	save("", fingerprint, nil, Row("svm", 0, 20, 0.125), Row("final", 0, 3, 0.75), Row("final", 1, 4, 1))
	return dsn
}
