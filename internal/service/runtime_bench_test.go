package service_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/internal/trainer"
)

// BenchmarkPredictWithRunTimes measures what the run time adds to a prediction. The runs of the tasks
// "timed" and "untimed" are equal, except that those of "untimed" have no durations. Blocks of predictions of these tasks
// alternate. The metric is the median of (time of a block of "timed") / (time of the next block, which is of "untimed"):
//
//	go run ./internal/pglocal/pgtest/withpg go test -run '^$' -bench PredictWithRunTimes -benchtime 200x ./internal/service
func BenchmarkPredictWithRunTimes(b *testing.B) {
	st, log := openStore(b)
	training := trainer.New(st, trainer.Config{ShapesEvery: time.Hour}, log)
	svc := service.New(st, training, service.Config{}, log)
	for _, name := range []string{"timed", "other", "untimed"} { // two timed tasks, so that there are shapes
		runs := make([]sizing.Observation, 200)
		for i := range runs {
			runs[i] = success(name, i, len(runs))
			runs[i].Duration = time.Duration(i%50+1) * time.Second
			if name == "untimed" {
				runs[i].Duration = 0
			}
		}
		_, err := svc.Observe(b.Context(), runs)
		require.NoError(b, err)
		_, err = svc.Train(b.Context(), task(name))
		require.NoError(b, err)
	}
	require.NoError(b, training.LearnShapes(b.Context(), time.Now()))
	svc = service.New(st, training, service.Config{}, log)
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- svc.Run(ctx) }()
	require.Eventually(b, func() bool { // the replica has loaded the models and the shapes
		a := ask("timed", "first")
		p, err := svc.Predict(ctx, &a)
		return err == nil && p.Duration != nil && p.Duration.Shape != ""
	}, testwait.Limit, 10*time.Millisecond)
	stop() // the background work would add to the times of both tasks
	<-ended
	// Fractional parts of multiples of the golden ratio spread the inputs evenly over those of the learned runs, and never
	// repeat an input. An answer to a repeated input would come from the memo.
	goldenRatio := (1 + math.Sqrt(5)) / 2
	predict := func(name string, from, n int) time.Duration {
		start := time.Now()
		for i := range n {
			a := ask(name, fmt.Sprint("bench-", i))
			a.Features, a.Timeout = rows(1+7*math.Mod(float64(from+i)*goldenRatio, 1)), time.Minute
			p, err := svc.Predict(b.Context(), &a)
			if err != nil {
				b.Fatal(err)
			}
			if hasRunTime := p.Duration != nil; hasRunTime != (name == "timed") {
				b.Fatalf("prediction of %s: run time %v", name, p.Duration)
			}
		}
		return time.Since(start)
	}
	const block = 100 // predictions
	var ratios []float64
	for b.Loop() {
		from := len(ratios) * block
		ratios = append(ratios, float64(predict("timed", from, block))/float64(predict("untimed", from, block)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "with/without")
}
