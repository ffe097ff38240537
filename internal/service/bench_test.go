package service_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
)

// BenchmarkPredict measures first tries of a trained task and of an unknown task:
//
//	go run ./internal/pglocal/pgtest/withpg go test -run '^$' -bench Predict -benchtime 20000x ./internal/service
func BenchmarkPredict(b *testing.B) {
	st, log := openStore(b)
	svc := service.New(st, trainer.New(st, trainer.Config{}, log), service.Config{}, log)
	runs := make([]sizing.Observation, 200)
	for i := range runs {
		runs[i] = success("load", i, len(runs))
	}
	_, err := svc.Observe(b.Context(), runs)
	require.NoError(b, err)
	_, err = svc.Train(b.Context(), task("load"))
	require.NoError(b, err)
	for _, name := range []string{"load", "unknown"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				a := ask(name, fmt.Sprint("bench-", i%1000))
				a.Features = rows(float64(i % 50))
				if _, err := svc.Predict(b.Context(), &a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func openStore(b *testing.B) (*postgres.Store, *slog.Logger) {
	b.Helper()
	log := slog.New(slog.DiscardHandler)
	st, err := postgres.Open(b.Context(), pgtest.Migrated(b), postgres.Config{Log: log})
	require.NoError(b, err)
	b.Cleanup(st.Close)
	return st, log
}
