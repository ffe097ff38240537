package service_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/internal/trainer"
)

// BenchmarkPredictNeverSeen measures the prediction for the first run of a task without reports, in a
// namespace of 2,000 tasks with usage profiles:
//
//	go run ./internal/pglocal/pgtest/withpg go test -run '^$' -bench PredictNeverSeen -benchtime 5000x ./internal/service
func BenchmarkPredictNeverSeen(b *testing.B) {
	st, log := openStore(b)
	training := trainer.New(st, trainer.Config{ProfilesEvery: time.Hour}, log)
	svc := service.New(st, training, service.Config{}, log)
	for from := 0; from < 2000; from += 500 {
		reports := make([]sizing.Observation, 500)
		for i := range reports {
			reports[i] = owned(from+i, "first")
			reports[i].Metadata["image"] = []string{fmt.Sprint("image ", i%40)}
			reports[i].Metadata["tags"] = []string{"all", fmt.Sprint("tag ", i%20)}
		}
		_, err := svc.Observe(b.Context(), reports)
		require.NoError(b, err)
	}
	require.NoError(b, training.FindProfiles(b.Context(), time.Now()))
	_, err := svc.Train(b.Context(), task("task1"))
	require.NoError(b, err)
	newAsk := func(i int) sizing.Ask {
		a := askOwned(fmt.Sprint("never seen ", i), "first", "large")
		a.Metadata["image"], a.Metadata["tags"] = []string{fmt.Sprint("image ", i%50)}, []string{"all", fmt.Sprint("tag ", i%25)}
		return a
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- svc.Run(ctx) }()
	require.Eventually(b, func() bool { // the replica has loaded the cohort
		a := newAsk(0)
		p, err := svc.Predict(ctx, &a)
		return err == nil && p.Cohort != nil && p.Cohort.Confidence > 0 && p.Duration != nil && p.GPUMemory != nil
	}, testwait.Limit, 10*time.Millisecond)
	stop() // the background work would add to the time
	<-ended
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		a := newAsk(i)
		if _, err := svc.Predict(b.Context(), &a); err != nil {
			b.Fatal(err)
		}
	}
}
