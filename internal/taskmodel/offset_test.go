package taskmodel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// offsetTask returns a model fitted on n runs. The peak is gibs(rows, stores) with a noise of 5 %.
func offsetTask(t *testing.T, n int, gibs func(rows, stores float64) float64) *Model {
	rng := rand.New(rand.NewPCG(5, 3))
	m, h := New(), sizing.History{}
	for i := range n {
		rows, stores := math.Exp(10*rng.Float64()), 1+float64(rng.IntN(50))
		f := sizing.Features{"rows": sizing.NumberValue(rows), "stores": sizing.NumberValue(stores)}
		h.LastSeq, h.Total = int64(i+1), i+1
		h.Schema.Extend(f)
		h.Rows = append(h.Rows, sizing.HistoryRow{
			Seq: int64(i + 1), At: time.Unix(int64(i), 0), RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Try: 1, Outcome: sizing.Success, Weight: 1,
			MemoryMax: sizing.Bytes(gibs(rows, stores) * math.Exp(0.05*rng.NormFloat64()) * float64(sizing.GiB)), Duration: time.Minute, Features: h.Schema.Row(f, nil),
		})
	}
	fitted, _, err := Fit(&h, m)
	require.NoError(t, err)
	return fitted
}

func baseAndProduct(rows, stores float64) float64 { return 2 + 1e-4*rows*stores }

func lineError(m *Model, gibs func(rows, stores float64) float64) float64 {
	rng, sum := rand.New(rand.NewPCG(8, 1)), 0.0
	const n = 200
	for range n {
		rows, stores := math.Exp(10*rng.Float64()), 1+float64(rng.IntN(50))
		var p experts.Point
		m.Models.predictRow(m.cells(sizing.Features{"rows": sizing.NumberValue(rows), "stores": sizing.NumberValue(stores)}, nil), &p, new(buffers))
		e := p.Level[experts.Line] - math.Log(gibs(rows, stores)*float64(sizing.GiB))
		sum += e * e / n
	}
	return math.Sqrt(sum)
}

func TestTheLineFindsTheMemoryThatEveryRunNeeds(t *testing.T) {
	for _, n := range []int{40, 400} {
		m := offsetTask(t, n, baseAndProduct)
		require.InEpsilon(t, 2, m.Models.Offset/float64(sizing.GiB), 0.3, n)
		with := lineError(m, baseAndProduct)
		m.Models.Offset, m.Models.Above = 0, nil
		require.Less(t, with, 0.6*lineError(m, baseAndProduct), n)
	}
}

func TestAPeakThatIsAPowerOfItsInputsHasNoOffset(t *testing.T) {
	product := func(rows, stores float64) float64 { return 0.01 * math.Sqrt(rows*stores) }
	m := offsetTask(t, 200, product)
	require.Zero(t, m.Models.Offset)
	require.Less(t, lineError(m, product), 0.1)
}

// A model with an offset has a format that earlier releases reject, because they would ignore the offset.
func TestABlobWithAnOffsetHasANewFormat(t *testing.T) {
	m := offsetTask(t, 200, baseAndProduct)
	for j := range m.Models.Enc.Columns {
		m.Models.Enc.Columns[j].LogUnit = 0 // a unit needs a newer format than an offset
	}
	blob, err := m.Blob()
	require.NoError(t, err)
	require.EqualValues(t, offsetVersion, binary.BigEndian.Uint16(blob[len(magic):]))
	back, err := Open(blob)
	require.NoError(t, err)
	require.Equal(t, m.Models.Offset, back.Models.Offset)
	require.Equal(t, lineError(m, baseAndProduct), lineError(back, baseAndProduct))

	for _, damaged := range []float64{0, -1, math.Inf(1), math.NaN()} {
		m.Models.Offset = damaged
		blob, err = m.Blob()
		require.NoError(t, err)
		_, err = Open(blob)
		require.ErrorIs(t, err, ErrFormat, damaged)
	}
	m.Models.Offset, m.Models.Above = 0, nil
	blob, err = m.Blob()
	require.NoError(t, err)
	require.Less(t, binary.BigEndian.Uint16(blob[len(magic):]), uint16(FormatVersion))
}

func TestFeatureTermsWithAnOffsetSumToTheLevel(t *testing.T) {
	m := offsetTask(t, 200, baseAndProduct)
	b := new(buffers)
	cells := m.cells(sizing.Features{"rows": sizing.NumberValue(20_000), "stores": sizing.NumberValue(45)}, nil)
	var p experts.Point
	m.Models.predictRow(cells, &p, b)
	a := m.explainLevel(cells, &p, &[experts.ModelCount]float64{experts.Line: 1}, b)
	require.Len(t, a.phi, 2)
	require.InDelta(t, p.Level[experts.Line], a.base+a.phi[0]+a.phi[1], 1e-9)
	require.Greater(t, min(a.phi[0], a.phi[1]), 0.1)
}

// The feature `rows` stands for a counter: it does not influence the peak, and the next value of a counter is always slightly
// above its range. Such a value must not be extrapolated, also if the line has an offset.
func TestOffsetCausesNoExtrapolationOfACounter(t *testing.T) {
	m := offsetTask(t, 200, func(_, stores float64) float64 { return 2 + 0.3*stores })
	require.Positive(t, m.Models.Offset)
	outside := func(name string, value float64) bool {
		f := sizing.Features{"rows": sizing.NumberValue(100), "stores": sizing.NumberValue(20)}
		f[name] = sizing.NumberValue(value)
		return m.Models.findOutside(m.cells(f, nil), new(extrapolation))
	}
	require.True(t, outside("stores", 52))
	require.False(t, outside("rows", 24_000))
}

// The memory that every run needs falls from 4 to 1 GiB in the newest 40 of 5,000 rows.
func TestTheOffsetFollowsAFall(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 6))
	rows := newOffsetRows(5000, 1)
	for i := range 5000 {
		x, base := rng.Float64(), 4.0
		if i >= 4960 {
			base = 1
		}
		rows.add([]float64{math.Log(x)}, math.Log((base+x)*float64(sizing.GiB)), 1)
	}
	best, err := rows.newest(maxComparedRows).best(startShares[:])
	require.NoError(t, err)
	require.NoError(t, best.try(otherShares[:]))
	require.Positive(t, best.offset)
	require.Less(t, best.offset, 1.1*float64(sizing.GiB))
}
