package linear

import (
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

func newSymmetric(n int) blas64.Symmetric {
	return blas64.Symmetric{N: n, Stride: n, Data: make([]float64, n*n), Uplo: blas.Upper}
}

// symmetricPool holds unused matrices: a training solves hundreds of regressions, and a matrix of 150 columns has 180 kB.
var symmetricPool = sync.Pool{New: func() any { return new(blas64.Symmetric) }}

// takeSymmetric returns an n × n matrix with arbitrary contents from symmetricPool. The caller should put it back.
func takeSymmetric(n int) *blas64.Symmetric {
	s := symmetricPool.Get().(*blas64.Symmetric)
	*s = blas64.Symmetric{N: n, Stride: n, Data: slices.Grow(s.Data[:0], n*n)[:n*n], Uplo: blas.Upper}
	return s
}

// solveDefinite replaces b by the solution x of a·x = b, and the upper triangle of a by its Cholesky factor. If a is not
// positive definite, it returns false and leaves b unchanged. Unlike mat.Cholesky, it does not estimate the condition
// number of a: for a small system the estimate takes as long as the solution, and the penalty bounds the error anyway.
func solveDefinite(a blas64.Symmetric, b blas64.General) bool {
	factor, ok := lapack64.Potrf(a)
	if ok {
		lapack64.Potrs(factor, b)
	}
	return ok
}
