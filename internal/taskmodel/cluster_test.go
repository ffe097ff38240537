package taskmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// drawClusters draws clusters of ten residuals, and c learns them. A residual is the sum of two normal errors: one of its
// cluster, with the standard deviation "between", and one of its own, with the standard deviation "within". drawClusters
// returns the number of all residuals and the number of those that the experts learn.
func drawClusters(c *intraClass, kind *clusterKind, between, within float64, clusters int) (all, charged int) {
	rng := rand.New(rand.NewPCG(1, 77))
	for range clusters {
		var k cluster
		common := between * rng.NormFloat64()
		for range 10 {
			all++
			if c.learn(&k, common+within*rng.NormFloat64(), 0.3, kind).isCharged {
				charged++
			}
		}
	}
	return all, charged
}

func TestIntraClassCorrelation(t *testing.T) {
	for _, example := range []struct{ between, within, want float64 }{{0.3, 0.3, 0.5}, {0.3, 0.03, 0.99}, {0, 0.3, 0}, {0.1, 0.3, 0.1}} {
		var c intraClass
		drawClusters(&c, &clusterKind{}, example.between, example.within, 500)
		assert.InDelta(t, example.want, c.correlation(0.3, &clusterKind{}), 0.05, "deviations %v and %v", example.between, example.within)
	}
}

func TestPriorCorrelationBeforeAnyCluster(t *testing.T) {
	var c intraClass
	assert.InDelta(t, 0.5, c.correlation(0.3, &featureClusters), 1e-9, "instances with the same features")
	assert.Zero(t, c.correlation(0.3, &runClusters), "instances with different features")
}

func TestNearlyAllIndependentInstancesAreLearned(t *testing.T) {
	var c intraClass
	all, charged := drawClusters(&c, &runClusters, 0, 0.3, 50)
	assert.GreaterOrEqual(t, charged, all-5, "the experts may skip at most five instances: the first ones may look correlated by chance")
}

// If the instances of a cluster have almost equal errors, the experts learn only the first instance, and those with a larger
// error than all before.
func TestCorrelatedInstancesCountAsOne(t *testing.T) {
	var c intraClass
	drawClusters(&c, &featureClusters, 0.3, 0.001, 50)
	var k cluster
	for i, residual := range []float64{0.1, 0.0999, 0.0998, 0.1001, 0.1} {
		in := c.learn(&k, residual, 0.3, &featureClusters)
		assert.Equal(t, i == 0 || i == 3, in.isCharged, "instance %d", i)
	}
	assert.InDelta(t, 1, k.Effective, 0.02)
}

// n instances count as n / (1 + (n − 1) rho) rows.
func TestDesignEffect(t *testing.T) {
	for _, rho := range []float64{0, 0.2, 0.5, 1} {
		var k cluster
		sum := 0.0
		for range 20 {
			sum += k.count(rho)
		}
		assert.InDelta(t, 20/(1+19*rho), sum, 1e-9, "rho %v", rho)
	}
}

func TestOutlyingClusterHardlyChangesTheCorrelation(t *testing.T) {
	var c intraClass
	drawClusters(&c, &clusterKind{}, 0, 0.3, 100)
	var k cluster
	for range 10 {
		c.learn(&k, 50, 0.3, &clusterKind{})
	}
	assert.Less(t, c.correlation(0.3, &clusterKind{}), 0.3)
	assert.False(t, math.IsNaN(c.Products))
}
