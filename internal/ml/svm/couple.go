package svm

// couple writes into p the probabilities of k bins that agree best with the pairwise
// probabilities r[i·k+j] = P(i | i or j) in (0, 1). It uses the second method of Wu, Lin &
// Weng (2004): min Σ (r_ji·p_i − r_ij·p_j)² where Σ p = 1. It overwrites r.
//
// The sum is p′Qp, so p is proportional to the solution of (Q + ee′)·p = e, where e is the vector
// of ones. Q + ee′ is symmetric, positive definite and well conditioned: if the entries of p nearly cancel in
// e′p, then p′Qp is large. So Gaussian elimination without pivoting is accurate, and the
// iterative algorithm of the paper is not necessary.
func couple(r, p []float64) {
	k := len(p)
	for i := range k { // r becomes Q + ee′; the diagonal comes first, because it needs all of r
		sum := 1.0
		for j := range k {
			if j != i {
				sum += r[j*k+i] * r[j*k+i]
			}
		}
		r[i*k+i], p[i] = sum, 1
	}
	for i := range k {
		for j := range i {
			cross := 1 - r[i*k+j]*r[j*k+i]
			r[i*k+j], r[j*k+i] = cross, cross
		}
	}
	for c := range k {
		for i := c + 1; i < k; i++ {
			share := r[i*k+c] / r[c*k+c]
			for j := c; j < k; j++ {
				r[i*k+j] -= share * r[c*k+j]
			}
			p[i] -= share * p[c]
		}
	}
	total := 0.0
	for i := k - 1; i >= 0; i-- {
		for j := i + 1; j < k; j++ {
			p[i] -= r[i*k+j] * p[j]
		}
		p[i] /= r[i*k+i]
	}
	for i := range p {
		p[i] = max(0, p[i]) // rounding can make it slightly negative
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
}
