package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/migrations"
)

// BenchmarkPredictUnderGC measures the effect of the heap ballast: garbage collections per
// 10,000 predictions and the share of CPU time in the collector, with five models loaded.
//
//	go run ./internal/pglocal/pgtest/withpg go test -run '^$' -bench PredictUnderGC -benchtime 20000x ./internal/app
func BenchmarkPredictUnderGC(b *testing.B) {
	handler := predictHandler(b, 5)
	for _, c := range []struct {
		name    string
		percent int
		ballast bool
	}{{"ballast", gcPercent, true}, {"gogc16", gcPercent, false}, {"gogc100", 100, false}} {
		b.Run(c.name, func(b *testing.B) {
			runtime.GC()
			defer debug.SetGCPercent(debug.SetGCPercent(c.percent))
			if c.ballast {
				defer setGCPace()()
			}
			before := readGC()
			for b.Loop() {
				response := httptest.NewRecorder()
				handler.ServeHTTP(response, predictRequest())
				if response.Code != http.StatusOK {
					b.Fatal(response.Body)
				}
			}
			after := readGC()
			b.ReportMetric(float64(after.cycles-before.cycles)/float64(b.N)*10_000, "GCs/10k")
			b.ReportMetric(100*(after.gcSeconds-before.gcSeconds)/(after.allSeconds-before.allSeconds), "gc-cpu-%")
		})
	}
}

// predictHandler returns the handler of a server whose tasks t0, t1 and so on are trained.
func predictHandler(b *testing.B, tasks int) http.Handler {
	dsn, log := pgtest.DSN(b), slog.New(slog.DiscardHandler)
	require.NoError(b, migrations.Up(b.Context(), dsn))
	st, err := postgres.Open(b.Context(), dsn, postgres.Config{Log: log})
	require.NoError(b, err)
	b.Cleanup(st.Close)
	svc := service.New(st, trainer.New(st, trainer.Config{}, log), service.Config{}, log)
	for n := range tasks {
		var observations []sizing.Observation
		for run := range 200 {
			key := sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "etl", Task: fmt.Sprintf("t%d", n)}
			observations = append(observations, sizing.Observation{
				Try:       sizing.TryKey{TaskKey: key, RunID: fmt.Sprint(run), MapIndex: sizing.NoMap, Number: 1},
				Features:  sizing.Features{"rows": sizing.NumberValue(float64(run % 50))},
				Outcome:   sizing.Success,
				MemoryMax: sizing.GiB + sizing.Bytes(run%50)*20*sizing.MiB,
				Duration:  time.Minute,
			})
		}
		_, err := svc.Observe(b.Context(), observations)
		require.NoError(b, err)
		_, err = svc.Train(b.Context(), observations[0].Try.TaskKey)
		require.NoError(b, err)
	}
	return httpapi.New(svc, httpapi.Config{Auth: auth.Config{Disabled: true}, Metrics: httpapi.NewMetrics(), Log: log})
}

func predictRequest() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/predict", strings.NewReader(`{"dag_id": "etl", "task_id": "t0", "features": {"rows": 7}, "requested": {"memory": "8Gi"}}`))
	r.Header.Set("Content-Type", "application/json")
	return r
}

// gcStats are totals since the start of the process.
type gcStats struct {
	cycles                uint64
	gcSeconds, allSeconds float64
}

func readGC() gcStats {
	samples := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(samples)
	gc := samples[1].Value.Float64()
	return gcStats{samples[0].Value.Uint64(), gc, gc + samples[2].Value.Float64()}
}
