package taskmodel

// cluster summarises the errors of mapped instances of one DAG run (mapped.go). One kind of cluster contains the instances with
// the same features, the other kind one instance for each set of features. The peaks in a cluster have causes in common, so n
// instances say less about the errors of the models than n independent runs.
type cluster struct {
	_            struct{} `cbor:",toarray"`
	Rows         float64  // number of instances
	Sum, Squares float64  // sum and sum of squares of the residuals, clipped at maxClusterError
	Effective    float64  // effective number of rows, see cluster.count
	Charged      float64  // number of instances that the experts learned
	Largest      float64  // largest residual
}

// maxClusterError is the largest magnitude with which a residual, a difference of natural logarithms, counts in a correlation:
// a single outlier says little about what the instances have in common.
const maxClusterError = 1.0

// moments returns the mean product of the clipped residuals of two instances, and the mean square of all clipped residuals;
// both are zero if there are fewer than two instances.
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
	Products, Squares float64  // sums of the two results of cluster.moments
}

type clusterKind struct {
	prior     float64 // assumed correlation before any cluster is learned
	tolerated float64 // correlation up to which all instances count as independent
}

// Instances with the same features have no known difference, so their errors are assumed to be correlated (prior 0.5). For
// instances with different features a correlation of up to 0.5 counts as 0, because at such a correlation a task loses more by
// ignored instances than by slightly too small margins. Their prior is 0.5, too, so that a larger correlation counts from the
// first DAG run on.
var (
	featureClusters = clusterKind{prior: 0.5}                 // instances with the same features
	runClusters     = clusterKind{prior: 0.5, tolerated: 0.5} // instances with different features
)

// priorClusters is the weight of the prior correlation, as a number of clusters whose residuals have the expected standard
// deviation. A larger value delays the effect of the observed correlation.
const priorClusters = 2

// correlation returns the posterior mean of the correlation, rescaled so that `kind.tolerated` becomes 0 and 1 stays 1.
// `deviation` is the expected standard deviation of the residuals.
func (c *intraClass) correlation(deviation float64, kind *clusterKind) float64 {
	weight := priorClusters * deviation * deviation
	rho := (c.Products + kind.prior*weight) / (c.Squares + weight)
	return max(0, min(1, rho)-kind.tolerated) / (1 - kind.tolerated)
}

// effectiveShare returns the effective number of rows of n instances, divided by n: the inverse of the design effect
// 1 + (n − 1) · rho (Kish 1965).
func effectiveShare(n, rho float64) float64 { return 1 / (1 + (n-1)*rho) }

// count adds an instance to a cluster and returns its weight, 0 to 1: the increase of the effective number of rows.
func (c *cluster) count(rho float64) float64 {
	c.Rows++
	effective := c.Rows * effectiveShare(c.Rows, rho)
	weight := effective - c.Effective
	c.Effective = effective
	return max(0, min(1, weight))
}

// learn adds the residual of an instance to cluster k, and returns how to learn from the instance. The experts learn the
// first instance, then one instance for each effective row, and each instance whose residual is larger than all before,
// because the margins must cover the largest residual.
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
