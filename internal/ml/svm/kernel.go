package svm

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// points are n standardised rows of p columns.
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

// near writes K(z, point) = exp(−γ·‖z − point‖²) for all n points into k. The
// distances come from products, ‖z‖² + ‖point‖² − 2·z·point, which is many times
// faster than from differences; what cancels is far below what a kernel value
// shows.
func (s *points) near(z []float64, gamma float64, k []float64) {
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

// mostCached bounds the kernel values kept at a time: 64 Mi of four bytes are 256
// MiB, which holds the whole matrix of 8,192 rows.
const mostCached = 64 << 20

// kernel gives the rows of one problem's kernel matrix, each made when it is first
// asked for: a row far from the border never is. Once there is no room, the one
// that was not asked for the longest makes way.
type kernel struct {
	points points
	gamma  float64
	kept   [][]float32 // n rows; nil: not kept. libsvm, too, keeps float32
	asked  []int       // when each was asked for last, by clock
	clock  int
	room   int       // rows that may still be kept
	wide   []float64 // one row before it is narrowed
}

// newKernel keeps most values, or the two rows that a step of the solver needs.
func newKernel(p points, gamma float64, most int) *kernel {
	n := len(p.squares)
	return &kernel{
		points: p, gamma: gamma, room: max(2, most/n),
		kept: make([][]float32, n), asked: make([]int, n), wide: make([]float64, n),
	}
}

// row is K(i, ·). It stays good while one other row is asked for.
func (k *kernel) row(i int) []float32 {
	k.clock++
	k.asked[i] = k.clock
	if k.kept[i] == nil {
		k.kept[i] = k.space()
		k.points.near(k.points.row(i), k.gamma, k.wide)
		for j, v := range k.wide {
			k.kept[i][j] = float32(v)
		}
	}
	return k.kept[i]
}

// space is a row to write to.
func (k *kernel) space() []float32 {
	if k.room > 0 {
		k.room--
		return make([]float32, len(k.kept))
	}
	oldest := -1
	for i, row := range k.kept {
		if row != nil && (oldest < 0 || k.asked[i] < k.asked[oldest]) {
			oldest = i
		}
	}
	row := k.kept[oldest]
	k.kept[oldest] = nil
	return row
}
