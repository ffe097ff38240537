package svm

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// points holds n standardised rows of p columns.
type points struct {
	p       int
	z       []float64 // n·p, row by row
	squares []float64 // n squared lengths
}

func (s *points) row(i int) []float64 { return s.z[i*s.p : (i+1)*s.p] }

func (s *points) add(z []float64) {
	s.z, s.squares = append(s.z, z...), append(s.squares, square(z))
}

func square(z []float64) (sum float64) {
	for _, v := range z {
		sum += v * v
	}
	return sum
}

// kernelRow writes K(z, point) = exp(−γ·‖z − point‖²) for all n points into k. It computes the
// distances as ‖z‖² + ‖point‖² − 2·z·point, which is many times faster than differences.
// The cancellation error of usual standardised values is far below the rounding of float32, in which the solver caches the
// values.
func (s *points) kernelRow(z []float64, gamma float64, k []float64) {
	clear(k)
	if s.p > 0 && len(k) > 0 {
		rows := blas64.General{Rows: len(k), Cols: s.p, Stride: s.p, Data: s.z}
		blas64.Gemv(blas.NoTrans, 1, rows, blas64.Vector{N: s.p, Inc: 1, Data: z}, 0, blas64.Vector{N: len(k), Inc: 1, Data: k})
	}
	own := square(z)
	for i, product := range k {
		k[i] = math.Exp(-gamma * max(0, own+s.squares[i]-2*product))
	}
}

// maxCached bounds the number of cached kernel values. 64 Mi values of four bytes are 256
// MiB, which is enough for the whole matrix of 8,192 rows.
const maxCached = 64 << 20

// kernel is an LRU cache of kernel matrix rows. It computes a row on first use, because rows far
// from the boundary are often never used.
type kernel struct {
	points  points
	gamma   float64
	cached  [][]float32 // n rows, float32 as in libsvm; nil: not cached
	lastUse []int       // by row: value of clock at its last use
	clock   int         // number of uses of rows
	free    int         // number of further rows that fit into the cache
	wide    []float64   // one row before conversion to float32
}

// newKernel returns a kernel that caches at most `limit` values, but at least the two rows of a solver step.
func newKernel(p points, gamma float64, limit int) *kernel {
	n := len(p.squares)
	return &kernel{
		points: p, gamma: gamma, free: max(2, limit/n),
		cached: make([][]float32, n), lastUse: make([]int, n), wide: make([]float64, n),
	}
}

// row returns K(i, ·). The next call of row leaves the slice valid; the call after that may overwrite it.
func (k *kernel) row(i int) []float32 {
	k.clock++
	k.lastUse[i] = k.clock
	if k.cached[i] == nil {
		k.cached[i] = k.space()
		k.points.kernelRow(k.points.row(i), k.gamma, k.wide)
		for j, v := range k.wide {
			k.cached[i][j] = float32(v)
		}
	}
	return k.cached[i]
}

func (k *kernel) space() []float32 {
	if k.free > 0 {
		k.free--
		return make([]float32, len(k.cached))
	}
	oldest := -1
	for i, row := range k.cached {
		if row != nil && (oldest < 0 || k.lastUse[i] < k.lastUse[oldest]) {
			oldest = i
		}
	}
	row := k.cached[oldest]
	k.cached[oldest] = nil
	return row
}
