package taskmodel

// cluster summarises the errors of instances that have causes in common. The instances of a cluster say less about the
// errors of the models than as many independent runs.
type cluster struct {
	_            struct{} `cbor:",toarray"`
	Rows         float64  // number of instances
	Sum, Squares float64  // of their residuals, clipped at maxClusterError
	Effective    float64  // effective number of rows: sum of the weights, see count
	Charged      float64  // number of instances that the experts learned
	Largest      float64  // largest residual
}

// maxClusterError is the magnitude, in log units, at which a residual counts in a correlation: a single outlier says little
// about what the instances have in common.
const maxClusterError = 1.0

// moments returns the mean product of the residuals of two instances, and the mean square; zero with one instance.
func (c *cluster) moments() (product, square float64) {
	if c.Rows < 2 {
		return 0, 0
	}
	return (c.Sum*c.Sum - c.Squares) / (c.Rows * (c.Rows - 1)), c.Squares / c.Rows
}

// intraClass estimates the correlation between the errors of two instances of a cluster (intra-class correlation, Fisher
// 1925), from the sums of the moments of all clusters.
type intraClass struct {
	_                 struct{} `cbor:",toarray"`
	Products, Squares float64
}

// clusterKind holds what is assumed about a kind of clusters.
type clusterKind struct {
	prior     float64 // correlation before any cluster
	tolerated float64 // correlation up to which all instances count as independent
}

// Instances with the same features have no known difference, so their errors are assumed to be correlated. With different
// features the first DAG runs decide: a correlation above the prior counts at once. A small one is tolerated, because a
// task then loses more by the rows that it does not learn than by too small a margin.
var (
	featureClusters = clusterKind{prior: 0.5}
	runClusters     = clusterKind{prior: 0.5, tolerated: 0.5}
)

// priorClusters is the weight of the prior correlation, in clusters of the expected deviation.
const priorClusters = 2

// correlation returns the posterior mean. deviation is the expected deviation of the residuals.
func (c *intraClass) correlation(deviation float64, kind *clusterKind) float64 {
	weight := priorClusters * deviation * deviation
	rho := (c.Products + kind.prior*weight) / (c.Squares + weight)
	return max(0, min(1, rho)-kind.tolerated) / (1 - kind.tolerated)
}

// count adds an instance to a cluster and returns its weight: what it adds to the effective number of rows (Kish 1965), n
// divided by the design effect 1 + (n − 1) · rho.
func (c *cluster) count(rho float64) float64 {
	c.Rows++
	effective := c.Rows / (1 + (c.Rows-1)*rho)
	weight := effective - c.Effective
	c.Effective = effective
	return max(0, min(1, weight))
}

// learn adds the residual of an instance to a cluster. The experts learn the first instance, then one for each effective
// row, and each instance with a larger residual than all before, because the margins must cover the largest.
func (c *intraClass) learn(k *cluster, residual, deviation float64, kind *clusterKind) instance {
	product, square := k.moments()
	in := instance{weight: k.count(c.correlation(deviation, kind)), isPredicted: true}
	const rounding = 1e-9
	if in.isCharged = k.Rows == 1 || residual > k.Largest || k.Effective >= k.Charged+1-rounding; in.isCharged {
		k.Charged++
	}
	if k.Rows == 1 || residual > k.Largest {
		k.Largest = residual
	}
	clipped := max(-maxClusterError, min(maxClusterError, residual))
	k.Sum += clipped
	k.Squares += clipped * clipped
	newProduct, newSquare := k.moments()
	c.Products += newProduct - product
	c.Squares += newSquare - square
	return in
}
