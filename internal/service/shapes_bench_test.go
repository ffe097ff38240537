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
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/internal/trainer"
)

// plainNamespace has the same tasks as the default namespace, but its shapes have no classifier.
const plainNamespace = "plain"

// shapedRun returns run i of a task, whose image names its kind. Every fourth run of a task of kind 1 takes three times as
// long.
func shapedRun(namespace, name string, kind, i int) sizing.Observation {
	o := success(name, i, 30)
	o.Try.Namespace = namespace
	o.Metadata = shapedMetadata(kind)
	o.Duration = time.Duration((100 + i%3) * int(time.Second))
	if kind == 1 && i%4 == 3 {
		o.Duration *= 3
	}
	return o
}

func shapedMetadata(kind int) sizing.Metadata {
	return sizing.Metadata{
		"image": {fmt.Sprint("registry/image-", kind)}, "operator": {"KubernetesPodOperator"}, "owner": {"team"}, "pool": {"default_pool"}, "tags": {"daily", "etl"},
	}
}

// BenchmarkPredictShape measures what the classifier of shapes adds to a prediction of a task with few runs.
// Blocks of predictions of equal tasks in two namespaces alternate, and the metric is the median ratio of the
// time of a block with the classifier to that of the next block, without it:
//
//	go run ./internal/pglocal/pgtest/withpg go test -run '^$' -bench PredictShape -benchtime 200x ./internal/service
func BenchmarkPredictShape(b *testing.B) {
	st, log := openStore(b)
	training, withoutCohorts := trainer.New(st, trainer.Config{ShapesEvery: time.Hour}, log), trainer.New(st, trainer.Config{NoCohorts: true}, log)
	svc := service.New(st, withoutCohorts, service.Config{}, log)
	runs := map[string]int{"with 3 runs": 3, "with 8 runs": 8, "with 30 runs": 30}
	for _, namespace := range []string{sizing.DefaultNamespace, plainNamespace} {
		for i := range 24 {
			runs[fmt.Sprint("task", i)] = 24
		}
		for name, n := range runs {
			kind := 1                                // of the benchmarked tasks
			_, _ = fmt.Sscanf(name, "task%d", &kind) // the kinds of the numbered tasks alternate
			var reports []sizing.Observation
			for i := range n {
				reports = append(reports, shapedRun(namespace, name, kind%2, i))
			}
			_, err := svc.Observe(b.Context(), reports)
			require.NoError(b, err)
			_, err = svc.Train(b.Context(), reports[0].Try.TaskKey)
			require.NoError(b, err)
		}
	}
	for _, namespace := range []string{sizing.DefaultNamespace, plainNamespace} { // trains the cohort of each namespace
		_, err := training.TrainNow(b.Context(), shapedRun(namespace, "task0", 0, 0).Try.TaskKey)
		require.NoError(b, err)
	}
	require.NoError(b, training.LearnShapes(b.Context(), time.Now()))
	removeClassifier(b, st)
	svc = service.New(st, training, service.Config{}, log)
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- svc.Run(ctx) }()
	shaped := func(namespace, name, run string, x float64) sizing.Ask {
		a := ask(name, run)
		a.Try.Namespace, a.Metadata, a.Features, a.Timeout = namespace, shapedMetadata(1), rows(x), time.Minute
		return a
	}
	require.Eventually(b, func() bool { // the replica has loaded the cohorts, the models and the shapes
		loaded := 0
		for _, namespace := range []string{sizing.DefaultNamespace, plainNamespace} {
			for _, name := range []string{"with 3 runs", "with 8 runs", "with 30 runs"} {
				a := shaped(namespace, name, "first", 4)
				if p, err := svc.Predict(ctx, &a); err == nil && p.Duration != nil {
					loaded++
				}
			}
		}
		return loaded == 6 && svc.Readiness().Ready
	}, testwait.Limit, 100*time.Millisecond)
	stop() // the background work would add to the times of both namespaces
	<-ended
	goldenRatio := (1 + math.Sqrt(5)) / 2 // see BenchmarkPredictWithRunTimes
	predict := func(namespace, name string, from, n int) time.Duration {
		start := time.Now()
		for i := range n {
			a := shaped(namespace, name, fmt.Sprint("bench-", i), 1+7*math.Mod(float64(from+i)*goldenRatio, 1))
			if _, err := svc.Predict(b.Context(), &a); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start)
	}
	const block = 100 // predictions
	for _, name := range []string{"with 3 runs", "with 8 runs", "with 30 runs"} {
		b.Run(name, func(b *testing.B) {
			var ratios []float64
			for b.Loop() {
				from := len(ratios) * block
				ratios = append(ratios, float64(predict(sizing.DefaultNamespace, name, from, block))/float64(predict(plainNamespace, name, from, block)))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "with/without")
		})
	}
}

func removeClassifier(b *testing.B, st store.Store) {
	for _, namespace := range []string{sizing.DefaultNamespace, plainNamespace} {
		stored, err := st.Shapes(b.Context(), namespace)
		require.NoError(b, err)
		set, classifier, err := taskmodel.ReadShapes(stored.Content)
		require.NoError(b, err)
		require.NotEmpty(b, classifier)
		if namespace == plainNamespace {
			stored.Content, err = taskmodel.EncodeShapes(set, nil)
			require.NoError(b, err)
			_, err = st.SaveShapes(b.Context(), stored)
			require.NoError(b, err)
		}
	}
}
