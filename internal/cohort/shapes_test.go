package cohort

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/shape"
	"github.com/loadaware/loadaware/internal/sizing"
)

// shapedRows returns rows of tasks with shape 0 or 2, and the shapes. The image of a task decides on its shape, except for
// one task in ten. The run times of shape 2 vary more than those of shape 0.
func shapedRows(tasks int) (rows []Row, labels map[sizing.TaskKey]int) {
	rng := rand.New(rand.NewPCG(24, 1))
	labels = map[sizing.TaskKey]int{}
	for i := range tasks {
		key, image := sizing.TaskKey{Namespace: "n", DAG: "d", Task: fmt.Sprint("task", i)}, rng.IntN(2)
		labels[key] = 2 * image
		if i%10 == 9 {
			labels[key] = 2 * rng.IntN(2)
		}
		for range 10 {
			seconds := 60 * math.Exp((.02+.3*float64(labels[key]))*rng.NormFloat64())
			rows = append(rows, Row{Facts: shapedFacts(key, image), Peak: 1e9, Seconds: seconds})
		}
	}
	return rows, labels
}

func shapedFacts(key sizing.TaskKey, image int) Facts {
	load := .5
	return Facts{
		Task: key, Metadata: sizing.Metadata{"image": {fmt.Sprint("image", image)}, "owner": {"team"}},
		Placement: sizing.Placement{NodeType: "m5", ClusterLoad: &load},
	}
}

func TestShapesFollowTheMetadata(t *testing.T) {
	rows, labels := shapedRows(100)
	s := FitShapes(rows, labels)
	require.NotNil(t, s)
	for image, share := range []float64{41. / 44, 54. / 56} { // share of the tasks with the image that have shape 2*image
		f := shapedFacts(sizing.TaskKey{Namespace: "n", DAG: "new", Task: "new"}, image)
		given := s.Probabilities(&f)
		assert.InDelta(t, share, given[2*image], .07)
		assert.Zero(t, given[1], "no task has this shape")
		assert.InDelta(t, 1, given[0]+given[2], 1e-9)
	}
	assert.Nil(t, FitShapes(rows[:10*(minProfileTasks-1)], labels), "too few tasks must give no classifier")
	assert.Nil(t, FitShapes(rows, map[sizing.TaskKey]int{}), "no labels must give no classifier")
	for task := range labels {
		labels[task] = 1
	}
	assert.Nil(t, FitShapes(rows, labels), "a single shape must give no classifier")
	var none *Shapes
	assert.Zero(t, none.Probabilities(&rows[0].Facts))
}

// The facts do not predict the shape better than chance. In ten histories FitShapes may err once.
func TestFactsThatDoNotPredictTheShapeGiveNoShapes(t *testing.T) {
	fitted := 0
	for seed := range uint64(10) {
		rows, labels := shapedRows(60)
		rng := rand.New(rand.NewPCG(25, seed))
		for i := range 60 {
			labels[rows[10*i].Task] = rng.IntN(3)
		}
		if FitShapes(rows, labels) != nil {
			fitted++
		}
	}
	assert.LessOrEqual(t, fitted, 1)
}

func TestTheClusterLoadPredictsTheShape(t *testing.T) {
	rows, labels := shapedRows(100)
	for i := range rows {
		load := float64(labels[rows[i].Task]) / 2
		rows[i].Placement.ClusterLoad, rows[i].Metadata = &load, sizing.Metadata{"owner": {"team"}}
	}
	s := FitShapes(rows, labels)
	require.NotNil(t, s)
	f := rows[0].Facts
	busy := 1.
	f.Task.Task, f.Placement.ClusterLoad = "new", &busy
	assert.Greater(t, s.Probabilities(&f)[2], .9)
}

// A task with no or few runs has the upper quantiles of the tasks of its shape.
func TestTheTailFollowsTheShape(t *testing.T) {
	rows, labels := shapedRows(100)
	s := FitShapes(rows, labels)
	require.NotNil(t, s)
	m := fitRunTimes(rows)
	f := rows[0].Facts
	f.Task.Task = "new"
	for _, own := range []OwnRuns{{}, {Runs: 2, Mean: math.Log(60)}} {
		unshaped, ok := m.Predict(&f, own)
		require.True(t, ok)
		steady := s.WithShape(unshaped, own, &shape.Membership{Posterior: []float64{1, 0, 0}})
		varied := s.WithShape(unshaped, own, &shape.Membership{Posterior: []float64{0, 0, 1}})
		unknown := s.WithShape(unshaped, own, &shape.Membership{Posterior: []float64{0, 0, 0}, None: 1})
		mixed := s.WithShape(unshaped, own, &shape.Membership{Posterior: []float64{.5, 0, .5}})
		assert.Less(t, steady.Quantile(.95), 110.)
		assert.Greater(t, varied.Quantile(.95), 120.)
		assert.InEpsilon(t, unshaped.Quantile(.95), unknown.Quantile(.95), .1)
		assert.Greater(t, mixed.Quantile(.95), steady.Quantile(.95))
		assert.Less(t, mixed.Quantile(.95), varied.Quantile(.95))
		assert.InDelta(t, (steady.Above(100)+varied.Above(100))/2, mixed.Above(100), 1e-9)
	}
}

// With an infinite run time among the rows, the fit of the run-time trees fails, while that of the classifier
// succeeds. So the cross-validation gives no errors, and no shape has an error distribution of its own.
func TestShapesWithoutErrorsUseThoseOfAllTasks(t *testing.T) {
	rows, labels := shapedRows(100)
	m := fitRunTimes(rows)
	rows[0].Seconds = math.Inf(1)
	s := FitShapes(rows, labels)
	require.NotNil(t, s)
	require.Zero(t, s.unseen[0].weight())
	f := rows[0].Facts
	for _, own := range []OwnRuns{{}, {Runs: 2, Mean: math.Log(60)}} {
		unshaped, ok := m.Predict(&f, own)
		require.True(t, ok)
		shaped := s.WithShape(unshaped, own, &shape.Membership{Posterior: []float64{1, 0, 0}})
		assert.InEpsilon(t, unshaped.Quantile(.95), shaped.Quantile(.95), .1)
	}
}

func TestStoredShapesGiveTheSameAnswers(t *testing.T) {
	rows, labels := shapedRows(100)
	s := FitShapes(rows, labels)
	require.NotNil(t, s)
	blob, err := s.MarshalBinary()
	require.NoError(t, err)
	opened, err := OpenShapes(blob, 3)
	require.NoError(t, err)
	for i := range rows[:50] {
		assert.Equal(t, s.Probabilities(&rows[i].Facts), opened.Probabilities(&rows[i].Facts))
	}
	again, err := opened.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, blob, again)
	none, err := OpenShapes(nil, 3)
	require.NoError(t, err)
	assert.Nil(t, none, "shapes of an earlier release have no classifier")
	_, err = OpenShapes(blob, 2)
	require.Error(t, err, "a set of two shapes has no shape with the index 2")
	for name, damage := range map[string]func(*shapesBlob){
		"order":   func(b *shapesBlob) { b.Shapes[0], b.Shapes[1] = 2, 0 },
		"twice":   func(b *shapesBlob) { b.Shapes[0] = 2 },
		"sign":    func(b *shapesBlob) { b.Shapes[0] = -1 },
		"classes": func(b *shapesBlob) { b.Shapes = b.Shapes[:1] },
		"errors":  func(b *shapesBlob) { b.Own = nil },
		"error":   func(b *shapesBlob) { b.Own[0][0].Error = math.NaN() },
		"weight":  func(b *shapesBlob) { b.Unseen[0][0].Weight = -1 },
		"trees":   func(b *shapesBlob) { b.Trees = b.Trees[:10] },
	} {
		var b shapesBlob
		require.NoError(t, cbor.Unmarshal(blob, &b))
		damage(&b)
		damaged, err := cbor.Marshal(b)
		require.NoError(t, err)
		_, err = OpenShapes(damaged, 3)
		assert.Error(t, err, name)
	}
}

// The encoding of many tasks with 30 names of metadata, many values of each and all shapes stays small.
func TestStoredShapesAreBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 1))
	labels := map[sizing.TaskKey]int{}
	var rows []Row
	for i := range 1000 {
		key := sizing.TaskKey{Namespace: "n", DAG: fmt.Sprint("dag", i/2), Task: fmt.Sprint("task", i)}
		labels[key] = i % shape.MaxShapes
		metadata := sizing.Metadata{"image": {fmt.Sprint("image", i%shape.MaxShapes)}}
		for k := range 29 {
			metadata[fmt.Sprint("field", k)] = []string{fmt.Sprint(rng.IntN(400)), fmt.Sprint("v", i/3)}
		}
		for range 5 {
			rows = append(rows, Row{Facts: Facts{Task: key, Metadata: metadata}, Peak: 1e9, Seconds: 60 * math.Exp(rng.NormFloat64())})
		}
	}
	s := FitShapes(rows, labels)
	require.NotNil(t, s)
	blob, err := s.MarshalBinary()
	require.NoError(t, err)
	t.Logf("%d bytes", len(blob))
	assert.Less(t, len(blob), 900<<10)
	assert.Len(t, s.facts.Values, maxShapeValues)
}

func BenchmarkShapes(b *testing.B) {
	rows, labels := shapedRows(200)
	s, m := FitShapes(rows, labels), fitRunTimes(rows)
	f, own := rows[0].Facts, OwnRuns{Runs: 2, Mean: math.Log(60)}
	b.Run("probabilities", func(b *testing.B) {
		for b.Loop() {
			s.Probabilities(&f)
		}
	})
	for name, classifier := range map[string]*Shapes{"quantiles without": nil, "quantiles with": s} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, _ := m.Predict(&f, own)
				r = classifier.WithShape(r, own, &shape.Membership{Posterior: []float64{.5, 0, .5}})
				r.Quantile(.95)
				r.Quantile(.99)
				r.Above(100)
			}
		})
	}
}
