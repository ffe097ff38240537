package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// newValues hold what the rows since the last fit show about values that no row of this fit had: values of closed categories
// (see isClosed), further values of categories and bools that were constant in this fit, and combinations of known values. Until
// the next fit, the line does not know these values, and the trees know at most the mean log peak of a new value of a category.
// So without newValues, each later run with such a value would be predicted nearly like the first run with it.
type newValues map[uint64]newValue // by key of the column and the value, or of the combination

// newValue sums the errors of LineTrees, without the effect of new values, over the rows with a new value.
type newValue struct {
	_      struct{} `cbor:",toarray"`
	Errors float64  // in log bytes
	Rows   float64
}

// normalLogDeviation is exp(E[log |z|]) of a standard normal z. It converts the mean of log |residual| to a deviation.
const normalLogDeviation = 0.53

// effect returns the estimated effect of a new value on the log peak. It is the mean error, shrunk by the positive-part
// James–Stein factor (Efron & Morris 1973), and at least 0: one low peak does not show that the next one is low.
func (v newValue) effect(deviation float64) float64 {
	mean := v.Errors / v.Rows
	if mean <= 0 {
		return 0
	}
	return mean * max(0, 1-deviation*deviation/(v.Rows*mean*mean))
}

// newEffect returns the effect on the log peak of the new value of a row; 0: none. If the row has several new values, the one
// with the most rows counts. j is its column; −1: a combination, or no new value.
func (m *models) newEffect(cells []sizing.Value) (effect float64, j int) {
	var known newValue
	j = -1
	if len(m.NewValues) > 0 {
		m.visitNew(cells, func(column int, key uint64, _ bool) {
			if v := m.NewValues[key]; v.Rows > known.Rows {
				known, j = v, column
			}
		})
	}
	if known.Rows == 0 {
		return 0, -1
	}
	return known.effect(math.Exp(m.Base) / normalLogDeviation), j
}

// newKeys returns the keys of the new values of a row. It must run before the encoding learns the row.
func (m *models) newKeys(cells []sizing.Value) (keys []uint64) {
	m.visitNew(cells, func(_ int, key uint64, isFirst bool) {
		if _, isKnown := m.NewValues[key]; isKnown || isFirst {
			keys = append(keys, key)
		}
	})
	return keys
}

// learnNew adds a row to its new values, whose keys are given. It must run after the encoding has learned the row: the mean log
// peak of a category is an input of the trees, so the trees may then predict a part of the effect.
func (m *models) learnNew(keys []uint64, r *row) {
	if len(keys) == 0 {
		return
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.line, b.tree = m.Enc.encode(r.Cells, b.line[:0], b.tree[:0])
	err := math.Log(r.Peak) - m.lineTrees(r.Cells, b)
	if m.NewValues == nil {
		m.NewValues = newValues{}
	}
	for _, key := range keys {
		v := m.NewValues[key]
		m.NewValues[key] = newValue{Errors: v.Errors + err, Rows: v.Rows + 1}
	}
}

// visitNew calls visit with the column and the key of each value of a row that may be new, and with −1 and the key of a new
// combination. isFirst is true for a combination, and for a value that no learned row had.
func (m *models) visitNew(cells []sizing.Value, visit func(j int, key uint64, isFirst bool)) {
	for j := range m.Enc.Columns {
		c, v := &m.Enc.Columns[j], cells[j]
		isFirst := c.isUnlikeConstant(v) || m.Enc.isUnseen(j, cells) && c.isClosed()
		if isFirst || len(m.NewValues) > 0 && (v.Kind == sizing.Category || v.Kind == sizing.Bool) {
			visit(j, uint64(noValues.with(c, v)), isFirst)
		}
	}
	if m.Combinations.isNew(m.Enc, cells) {
		visit(-1, groupKey(m.Enc.Columns, cells, m.Combinations.Columns), true)
	}
}

// isNewCombination reports whether a row has a combination of known values that no learned row had, see combinations.isNew.
func (m *models) isNewCombination(cells []sizing.Value) bool {
	if !m.Combinations.isNew(m.Enc, cells) {
		return false
	}
	_, isKnown := m.NewValues[groupKey(m.Enc.Columns, cells, m.Combinations.Columns)]
	return !isKnown
}
