package experts

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func namespaceOf(deviations ...float64) *Namespace {
	rng, n := rand.New(rand.NewPCG(7, 1)), &Namespace{}
	for _, deviation := range deviations {
		var p Pool
		for range 20 {
			p.RecordResidual(deviation * rng.NormFloat64())
		}
		n.Add(&p)
	}
	return n
}

func repeated(n int, values ...float64) (all []float64) {
	for range n {
		all = append(all, values...)
	}
	return all
}

func TestANewDAGStartsFromTheDeviationOfOtherDAGs(t *testing.T) {
	var dag Pool
	assert.InDelta(t, 0.3, dag.deviation(0.3, &Namespace{}), 1e-12, "without other DAGs, the deviation is the prior")
	assert.InDelta(t, 0.15, dag.deviation(0.3, namespaceOf(repeated(30, 0.14)...)), 0.02)
	assert.InDelta(t, 0.8, dag.deviation(0.3, namespaceOf(repeated(30, 0.85)...)), 0.1)
}

// A DAG with few residuals differs from the other DAGs of its namespace. The more those DAGs differ from each other, the less
// they count against the residuals of this DAG.
func TestOtherDAGsCountLessIfTheyDiffer(t *testing.T) {
	rng, noisy := rand.New(rand.NewPCG(8, 1)), Pool{}
	for range 20 {
		noisy.RecordResidual(0.8 * rng.NormFloat64())
	}
	_, alike := namespaceOf(repeated(30, 0.14)...).variance(0.3)
	_, unlike := namespaceOf(repeated(15, 0.14, 0.8)...).variance(0.3)
	assert.Greater(t, alike, 50.0)
	assert.Less(t, unlike, 10.0)
	assert.Less(t, noisy.deviation(0.3, namespaceOf(repeated(30, 0.14)...)), 0.4)
	assert.InDelta(t, 0.8, noisy.deviation(0.3, namespaceOf(repeated(15, 0.14, 0.8)...)), 0.15)
}

func outcomesOf(promised float64, killed int) *Pool {
	var p Pool
	p.RecordResidual(0.1)
	for i := range 100 {
		p.RecordOutcome(1, promised/100, i < killed)
	}
	return &p
}

// Six DAGs have promised one kill each at age 0 and had none. With the prior of two kills, the ratio at this age is 2/8. The
// other ages have the same ratio, because they have no outcomes.
func TestPromisesAreCorrectedByTheKillsOfOtherDAGs(t *testing.T) {
	steady, dag := &Namespace{}, Pool{}
	for range 6 {
		steady.Add(outcomesOf(1, 0))
	}
	assert.InDelta(t, 0.25, dag.promiseFactor(1, steady), 0.02)
	assert.InDelta(t, 0.25, dag.promiseFactor(8, steady), 0.02)
	assert.Equal(t, 1.0, dag.promiseFactor(1, &Namespace{}))
	assert.Greater(t, outcomesOf(1, 4).promiseFactor(1, steady), 1.0, "four kills of the DAG itself outweigh the others")

	large := &Namespace{}
	large.Add(outcomesOf(1000, 0))
	assert.InDelta(t, 2.0/7, dag.promiseFactor(1, large), 0.01, "a DAG counts as at most five promised kills")
	for range 100 {
		large.Add(outcomesOf(5, 0))
	}
	assert.InDelta(t, 0.1, dag.promiseFactor(1, large), 1e-9, "the ratio is at least 0.1")
}

func TestANamespaceWithoutTheDAGIsEmpty(t *testing.T) {
	p := outcomesOf(1, 3)
	p.SlopeOf(3).Add(1, 0.1)
	p.RecordResidual(0.7)
	var n Namespace
	n.Add(p)
	assert.Less(t, n.SlopeOf(3, 0.7), 0.7)
	n.Remove(p)
	assert.Equal(t, p.promiseFactor(1, nil), p.promiseFactor(1, &n))
	assert.Equal(t, p.deviation(0.3, nil), p.deviation(0.3, &n))
	assert.Equal(t, 0.7, n.SlopeOf(3, 0.7))
}
