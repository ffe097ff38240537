package taskmodel_test

import (
	gobytes "bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// mappedTask draws DAG runs of ten instances. A peak is a linear function of the DAG run's number of rows, times a lognormal
// factor of the DAG run, times a lognormal factor of the instance and, with regions, times a fixed factor of the region.
type mappedTask struct {
	name      string
	hasRegion bool    // each instance has its own region; otherwise all instances of a DAG run have the same features
	deviation float64 // of the logarithm of the factor of the DAG run
}

func (m *mappedTask) draw(rng *rand.Rand) (features []sizing.Features, gibs []float64) {
	rows := 50 + 950*rng.Float64()
	common := (0.3 + rows/128) * noise(rng, m.deviation)
	for i := range 10 {
		f, factor := sizing.Features{"rows": sizing.NumberValue(rows)}, 1.0
		if m.hasRegion {
			f["region"], factor = sizing.TextValue(fmt.Sprint("r", i)), 1+float64(i)/5
		}
		features, gibs = append(features, f), append(gibs, common*factor*noise(rng, 0.03))
	}
	return features, gibs
}

func (k *task) reportMapped(run int, features []sizing.Features, gibs []float64) {
	k.t.Helper()
	for i := range features {
		k.reportInstance(run, i, features[i], gibs[i])
	}
	k.train()
}

// reportInstance reports an instance of a DAG run. All instances of the DAG run start before the first report.
func (k *task) reportInstance(run, mapIndex int, f sizing.Features, gibs float64) {
	r := measuredRun(gibs)
	r.RunID = fmt.Sprint("dag-run-", run)
	k.learnInstance(mapIndex, f, r, 1) // before the first report
}

// learnInstance reports an instance of a mapped task that started at `start`, in Unix seconds; 0: one duration before its end.
func (k *task) learnInstance(mapIndex int, f sizing.Features, r sizing.HistoryRow, start int64) {
	row := k.row(f, r)
	row.MapIndex = mapIndex
	t := taskmodel.NewTrainingRow(&k.history.Schema, row)
	if start > 0 {
		t.StartedAt = start
	}
	k.model.Learn(t)
}

// All instances of a DAG run are sized before the first of them is reported. Their kills come in clusters, so the bound is
// wide. A model that learned the instances as independent runs, one after another, had 9 to 13 times the promised kills.
func TestPromisesForMappedInstances(t *testing.T) {
	const learning, runs = 8, 60
	for _, m := range []mappedTask{
		{"same features, small deviation", false, 0.1}, {"same features", false, 0.3}, {"regions", true, 0.3},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			promised, kills := 0.0, 0.0
			for seed := range uint64(3) {
				k, rng := newTask(t), newRand(seed)
				for run := range runs {
					features, gibs := m.draw(rng)
					for i := range features {
						if run < learning {
							break
						}
						sized := k.model.Size(question(features[i]))
						require.NotNil(t, sized.Promised)
						promised += *sized.Promised
						if bytes(gibs[i]) > sized.Limit {
							kills++
						}
					}
					k.reportMapped(run, features, gibs)
				}
			}
			t.Logf("%v killed, %.1f promised", kills, promised)
			assert.Less(t, kills, 5*promised)
		})
	}
}

// The first DAG runs of a task must show that its instances have common causes although their features differ. A model that
// assumed no correlation before the first errors had 2.8 times the promised kills.
func TestPromisesForFirstMappedInstances(t *testing.T) {
	t.Parallel()
	promised, kills := 0.0, 0.0
	for _, deviation := range []float64{0.01, 0.1, 0.3} {
		m := mappedTask{hasRegion: true, deviation: deviation}
		for seed := range uint64(12) {
			k, rng := newTask(t), newRand(seed)
			for run := range 12 {
				features, gibs := m.draw(rng)
				for i := range features {
					if sized := k.model.Size(question(features[i])); run > 0 && sized.Promised != nil {
						promised += *sized.Promised
						if bytes(gibs[i]) > sized.Limit {
							kills++
						}
					}
				}
				k.reportMapped(run, features, gibs)
			}
		}
	}
	t.Logf("%v killed, %.1f promised", kills, promised)
	assert.Less(t, kills, 1.6*promised)
}

// No feature explains the peaks of the forty instances of a DAG run, which are reported in the order of their peaks, the
// smallest first. A model that learned the errors of the first DAG run, during which it knew only smaller peaks, had 93 killed
// instances of 160 in the second DAG run.
func TestPromisesWhenSmallInstancesAreReportedFirst(t *testing.T) {
	for _, hasDay := range []bool{false, true} {
		promised, kills := 0.0, 0.0
		for seed := range uint64(4) {
			k, rng := newTask(t), newRand(seed)
			for run := range 4 {
				features, gibs := make([]sizing.Features, 40), make([]float64, 40)
				for i := range features {
					features[i] = sizing.Features{"rows": sizing.NumberValue(float64(1000 + rng.IntN(1000)))}
					if hasDay {
						features[i]["day"] = sizing.NumberValue(float64(run))
					}
					gibs[i] = 0.2 + 5.8*rng.Float64()
				}
				for i := range features {
					if sized := k.model.Size(question(features[i])); run > 0 && sized.Promised != nil {
						promised += *sized.Promised
						if bytes(gibs[i]) > sized.Limit {
							kills++
						}
					}
				}
				slices.Sort(gibs)
				k.reportMapped(run, features, gibs)
			}
		}
		t.Logf("%v killed, %.1f promised", kills, promised)
		assert.LessOrEqual(t, kills, 1.5*promised)
		assert.Less(t, promised, 0.1*4*3*40)
	}
}

// Each map index has its own factor, which no feature shows. The instances of a DAG run start together, or one after another. A
// model that learned all errors from the first prediction of the DAG run had 4 times the promised kills if they start one after
// another. A model that compared the cold-start rule with the experts only on the first instance of each DAG run had 20 times
// the promised kills if they start together.
func TestPromisesForInstancesThatAlwaysDiffer(t *testing.T) {
	t.Parallel()
	for _, areTogether := range []bool{false, true} {
		promised, kills := 0.0, 0.0
		for seed := range uint64(12) {
			k, rng := newTask(t), newRand(seed)
			factors := make([]float64, 10)
			for i := range factors {
				factors[i] = noise(rng, 0.5)
			}
			for run := range 40 {
				p, n := k.sizeAndReport(run, factors, areTogether, rng)
				if run >= 20 {
					promised, kills = promised+p, kills+n
				}
				k.train()
			}
		}
		t.Logf("together %v: %v killed, %.1f promised", areTogether, kills, promised)
		assert.LessOrEqual(t, kills-promised, max(promised/2, 3*math.Sqrt(promised)))
	}
}

// sizeAndReport sizes and reports the instances of a DAG run, whose peaks are the factors in GiB times noise, and returns the
// sums of their promises and kills. If areTogether is true, it sizes all instances before it reports the first one.
func (k *task) sizeAndReport(run int, factors []float64, areTogether bool, rng *rand.Rand) (promised, kills float64) {
	var reports []func()
	for i, factor := range factors {
		sized, gibs, start := k.model.Size(question(nil)), factor*noise(rng, 0.1), int64(0)
		if sized.Promised != nil {
			promised += *sized.Promised
			if bytes(gibs) > sized.Limit {
				kills++
			}
		}
		if areTogether {
			start = 1
		}
		report := func() {
			r := measuredRun(gibs)
			r.RunID = fmt.Sprint("dag-run-", run)
			k.learnInstance(i, nil, r, start)
		}
		if areTogether {
			reports = append(reports, report)
		} else {
			report()
		}
	}
	for _, report := range reports {
		report()
	}
	return promised, kills
}

// An instance was killed and retried. The prediction for its first try was made before the first report of its DAG run, so the
// model learns its error with those of the other instances, and not as that of an instance that started later.
func TestRetryOfAKilledInstanceCountsFromItsFirstTry(t *testing.T) {
	k := newTask(t)
	for run := range 3 {
		k.reportMapped(run, make([]sizing.Features, 2), []float64{1, 1})
	}
	kill := killed(1)
	kill.RunID = "dag-run-3"
	k.learnInstance(1, nil, kill, 1)
	k.reportInstance(3, 0, nil, 1)
	before := len(k.model.DAGRuns)
	for _, model := range []*task{k, k.fork()} {
		retry := measuredRun(2)
		retry.RunID, retry.Try = "dag-run-3", 2
		model.learnInstance(1, nil, retry, 0)
		assert.Len(t, model.model.DAGRuns, before)
		later := measuredRun(1)
		later.RunID = "dag-run-3"
		model.learnInstance(2, nil, later, 0)
		assert.Len(t, model.model.DAGRuns, before+1, "an instance that started after a report must not count as launched before it")
		assert.Empty(t, model.model.KilledStarts)
	}
}

// A model that was stored between two reports of a DAG run learns the other reports like one that stayed in memory.
func TestModelStoredBetweenInstancesLearnsTheSame(t *testing.T) {
	m := mappedTask{hasRegion: true, deviation: 0.3}
	k, rng := newTask(t), newRand(4)
	for run := range 6 {
		features, gibs := m.draw(rng)
		k.reportMapped(run, features, gibs)
	}
	features, gibs := m.draw(rng)
	features[7] = features[2] // two instances with the same features
	k.reportMapped(6, features[:5], gibs[:5])
	stored := k.fork()
	for _, other := range []*task{k, stored} {
		for i := 5; i < len(features); i++ {
			other.reportInstance(6, i, features[i], gibs[i])
		}
	}
	require.True(t, gobytes.Equal(blobOf(t, k.model), blobOf(t, stored.model)))
}

// The instances of the last DAG run have a flag that only one of many earlier DAG runs had, so they are exceptions
// (rare_values.go). The first instance needs little, so that the experts still grant less than the prediction.
func TestModelStoredBetweenInstancesOfAnExceptionLearnsTheSame(t *testing.T) {
	k, rng := newTask(t), newRand(0)
	draw := func(isFull bool) (features []sizing.Features, gibs []float64) {
		f := sizing.Features{"full_refresh": sizing.BoolValue(isFull), "rows": sizing.NumberValue(float64(900 + rng.IntN(200)))}
		peak := map[bool]float64{true: 10, false: 1}[isFull]
		return []sizing.Features{f, f}, []float64{peak, peak * (1.1 + 0.1*rng.Float64())}
	}
	for run := range 110 {
		features, gibs := draw(run == 100)
		k.reportMapped(run, features, gibs)
	}
	features, gibs := draw(true)
	k.reportInstance(110, 0, features[0], gibs[0]/10)
	stored := k.fork()
	for _, other := range []*task{k, stored} {
		other.reportInstance(110, 1, features[1], gibs[1])
	}
	require.True(t, gobytes.Equal(blobOf(t, k.model), blobOf(t, stored.model)))
}

// After twenty DAG runs, instances with the run id of the first one are reported. They are predicted by models that know other
// DAG runs, so the model learns their errors.
func TestTheFirstDAGRunIsForgotten(t *testing.T) {
	k, rng := newTask(t), newRand(5)
	m := mappedTask{hasRegion: true, deviation: 0.1}
	for run := range 20 {
		features, gibs := m.draw(rng)
		k.reportMapped(run, features, gibs)
	}
	before := len(k.model.OutOfSample)
	features, gibs := m.draw(rng)
	for i := range features {
		k.reportInstance(0, i, features[i], gibs[i])
	}
	require.Len(t, k.model.OutOfSample, before+len(features))
}

// After DAG runs of five instances and one of a thousand instances comes another DAG run of a thousand instances, which all
// need 2.2 times as much as predicted. The correction by this common error must not exceed the error by much. Single seeds
// differ by chance, so the median of many seeds has the closest bound. A model whose stack learned the instances as independent
// runs multiplied amounts of the next DAG run by 8 with one seed and by 81 with another, and granted 10 and 15 times the peaks.
func TestCorrectionAfterManyInstancesWithACommonError(t *testing.T) {
	t.Parallel()
	const commonError = 2.2
	var medians []float64
	for seed := range uint64(24) {
		k, rng := newTask(t), newRand(seed)
		draw := func(n int, factor float64) (features []sizing.Features, gibs []float64) {
			for range n {
				rows := noise(rng, 0.6)
				features = append(features, sizing.Features{"rows": sizing.NumberValue(1e6 * rows)})
				gibs = append(gibs, factor*(0.2+1.4*rows)*noise(rng, 0.1))
			}
			return features, gibs
		}
		report := func(run, n int, factor float64) {
			features, gibs := draw(n, factor)
			k.reportMapped(run, features, gibs)
		}
		for run := range 15 {
			report(run, 5, 1)
		}
		report(15, 1000, 1)
		report(16, 5, 1)
		report(17, 1000, commonError)
		features, gibs := draw(100, 1)
		ratios := make([]float64, len(gibs))
		for i := range features {
			explanation := k.model.Explain(question(features[i]))
			ratios[i] = float64(explanation.Granted) / float64(bytes(gibs[i]))
			for _, term := range explanation.Terms {
				if term.Name == "recent errors of the model" {
					require.LessOrEqual(t, term.Factor, 1.6*commonError)
				}
			}
		}
		slices.Sort(ratios)
		medians = append(medians, ratios[len(ratios)/2])
	}
	slices.Sort(medians)
	t.Logf("median grant, in multiples of the peak, by seed: %.2f", medians)
	assert.Less(t, medians[len(medians)-1], 7.5)
	assert.Less(t, medians[len(medians)/2], 2.2, "a fit must not count a thousand instances with a common error as a thousand runs")
}

// The experts read the ratio of kills to promises at the age of the task in independent runs, so the pool must record it at
// this age: sixty instances with the same features are few independent runs.
func TestOutcomesOfMappedInstancesHaveTheAgeInIndependentRuns(t *testing.T) {
	k, rng := newTask(t), newRand(1)
	promised := 0.25
	for run := range 4 {
		f, common := sizing.Features{"rows": sizing.NumberValue(float64(100 + run))}, noise(rng, 0.3)
		for i := range 60 {
			r := measuredRun(common * noise(rng, 0.01))
			r.RunID, r.Promised = fmt.Sprint("dag-run-", run), &promised
			k.learnInstance(i, f, r, 1)
		}
	}
	independent := k.model.Experts.LearnedRows - k.model.Experts.DependentRows
	require.Less(t, independent, 32)
	for age, p := range k.model.Share.Promised {
		assert.Equal(t, age <= int(math.Log2(float64(independent))), p > 0, "age %d", age)
	}
}
