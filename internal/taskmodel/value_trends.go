package taskmodel

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/loadaware/loadaware/internal/sizing"
)

// valueTrends are the trends of the rows with each frequent value of one category or bool. If the category names an algorithm, one
// algorithm may need memory in proportion to a number and another one in proportion to the square of the number, and the runs of
// the two may have different ranges. The ranges and the slopes of all rows then say little about a number that is large for one of
// the values.
type valueTrends struct {
	Field  int          `cbor:",omitzero"` // of the category or bool, by index in the schema
	Trends []valueTrend `cbor:",omitempty"`
}

type valueTrend struct {
	Value   sizing.Value
	Peaks   trend
	RunTime runTimeTrend `cbor:",omitzero"`

	RunTimeErrors runTimeTrend `cbor:",omitzero"` // of the run times divided by those that the line predicts
}

const (
	maxTrendValues    = 8    // largest number of values with a trend, the most frequent ones
	maxValueColumns   = 4    // largest number of categories and bools that are compared
	maxValueTrendRows = 1000 // newest rows on which they are compared; with more, a fit takes longer
	minValueShare     = 0.2  // smallest share of the squared errors that the trends by value must remove; these are the errors of the trend of all rows with a separate level for each value
	valuePenalty      = 2.0  // penalty of each parameter of the trends by value, in units of the logarithm of the number of rows
)

// trendOf returns the trend of the peaks for a row: that of the value of its category or, without one, that of all rows. While
// PeakTrend has any remote number, it is that of all rows for every row: the trends by value do not store remote numbers.
func (m *models) trendOf(cells []sizing.Value) *trend {
	if v := m.valueTrendOf(cells); v != nil {
		return &v.Peaks
	}
	return &m.PeakTrend
}

func (m *models) valueTrendOf(cells []sizing.Value) *valueTrend {
	v := &m.ValueTrends
	if len(v.Trends) == 0 || v.Field >= len(cells) || len(m.PeakTrend.Remote) > 0 {
		return nil
	}
	i := slices.IndexFunc(v.Trends, func(t valueTrend) bool { return t.Value == cells[v.Field] })
	if i < 0 {
		return nil
	}
	return &v.Trends[i]
}

// observeInputs widens the ranges by the inputs of a row. r is the row, with which remote numbers are stored; nil if the models are
// not fitted yet. See trend.observe.
func (m *models) observeInputs(cells []sizing.Value, r *row) {
	m.PeakTrend.observe(cells, r)
	if v := m.valueTrendOf(cells); v != nil {
		v.Peaks.observe(cells, nil)
	}
}

// fitValueTrends sets ValueTrends if the trends by value of a category or bool predict the peaks clearly better than the trend of all
// rows.
func (m *models) fitValueTrends(rows []row) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Isolated })
	newest := rows[max(0, len(rows)-maxValueTrendRows):]
	most := 0.0
	var best valueSplit
	for _, split := range m.splitByValue(newest) {
		trends := m.newValueTrends(&split, newest)
		if gain := trends.gain(&split, newest); gain > most {
			most, best, m.ValueTrends = gain, split, trends
		}
	}
	if most == 0 {
		return
	}
	if len(newest) < len(rows) {
		best = m.splitBy(best.field, rows)
		m.ValueTrends = m.newValueTrends(&best, rows)
	}
	for k := range m.ValueTrends.Trends {
		v := &m.ValueTrends.Trends[k]
		own := rowsAt(rows, best.rows[k])
		for i := range own {
			v.Peaks.observeHighest(own[i].Cells)
		}
		v.RunTime = v.Peaks.fitRunTime(own)
	}
}

// valueSplit groups rows by the frequent values of a category or bool.
type valueSplit struct {
	field   int
	values  []sizing.Value
	rows    [][]int // by value
	squares float64 // squared errors of the trend of all rows, with a level per value
}

// splitByValue returns the splits of at least two values, those with the smallest errors.
func (m *models) splitByValue(rows []row) (splits []valueSplit) {
	for j := range m.Enc.Columns {
		c := &m.Enc.Columns[j]
		if c.Kind == sizing.Bool || c.Kind == sizing.Category && !c.hasTextColumns() {
			if split := m.splitBy(j, rows); len(split.values) > 1 {
				splits = append(splits, split)
			}
		}
	}
	slices.SortStableFunc(splits, func(a, b valueSplit) int { return cmp.Compare(a.squares, b.squares) })
	return splits[:min(maxValueColumns, len(splits))]
}

func (m *models) splitBy(j int, rows []row) valueSplit {
	split := valueSplit{field: j}
	byValue := map[sizing.Value][]int{}
	for i := range rows {
		if v := rows[i].Cells[j]; v.Kind != sizing.Missing {
			byValue[v] = append(byValue[v], i)
			if len(byValue[v]) == minTrendRows {
				split.values = append(split.values, v)
			}
		}
	}
	slices.SortStableFunc(split.values, func(a, b sizing.Value) int { return cmp.Compare(len(byValue[b]), len(byValue[a])) })
	split.values = split.values[:min(maxTrendValues, len(split.values))]
	for _, v := range split.values {
		split.rows = append(split.rows, byValue[v])
		split.squares += m.PeakTrend.squaredErrors(rows, byValue[v])
	}
	return split
}

// squaredErrors returns the sum of the squared errors of the log peak about their mean, in the rows with the given indices. A row for
// which a linear trend predicts a negative peak is left out.
func (t *trend) squaredErrors(rows []row, indices []int) float64 {
	errors := make([]float64, 0, len(indices))
	for _, i := range indices {
		predicted := 0.0
		if len(t.Slopes) > 0 {
			predicted = t.predict(rows[i].Cells)
		}
		if !math.IsNaN(predicted) {
			errors = append(errors, math.Log(rows[i].Peak)-predicted)
		}
	}
	return sumOfSquares(errors)
}

func rowsAt(rows []row, indices []int) []row {
	at := make([]row, len(indices))
	for k, i := range indices {
		at[k] = rows[i]
	}
	return at
}

func (m *models) newValueTrends(split *valueSplit, rows []row) valueTrends {
	trends := valueTrends{Field: split.field}
	for k, value := range split.values {
		own := rowsAt(rows, split.rows[k])
		y := make([]float64, len(own))
		for i := range own {
			y[i] = math.Log(own[i].Peak)
		}
		v := valueTrend{Value: value, Peaks: trend{Units: m.PeakTrend.Units}}
		v.Peaks.addInputs(m.Enc)
		for i := range own {
			v.Peaks.observe(own[i].Cells, nil)
		}
		v.Peaks.fit(own, y)
		trends.Trends = append(trends.Trends, v)
	}
	return trends
}

// gain returns by how much the trends by value lower a criterion of the log peaks like the BIC (Schwarz 1978), but with valuePenalty
// times its penalty; zero or less if they are not clearly better than the trend of all rows with a level per value.
func (t *valueTrends) gain(split *valueSplit, rows []row) float64 {
	squares, parameters, n := 0.0, 0, 0
	for k := range t.Trends {
		squares += t.Trends[k].Peaks.squaredErrors(rows, split.rows[k])
		parameters += len(t.Trends[k].Peaks.Slopes)
		n += len(split.rows[k])
	}
	if parameters == 0 || squares > (1-minValueShare)*split.squares {
		return 0
	}
	floor := spreadFloor * spreadFloor * float64(n)
	return float64(n)*math.Log((split.squares+floor)/(squares+floor)) - valuePenalty*float64(parameters)*math.Log(float64(n))
}

// fitRunTimeErrors fits the trends of the errors of the run time, because the line has one slope for all values.
func (m *models) fitRunTimeErrors(rows []row) {
	var x, tree []float64
	for k := range m.ValueTrends.Trends {
		v := &m.ValueTrends.Trends[k]
		var own []row
		for _, r := range rows {
			if !r.Isolated && !r.Untimed && r.Cells[m.ValueTrends.Field] == v.Value {
				x, tree = m.Enc.encode(r.Cells, x[:0], tree[:0])
				r.Seconds = math.Expm1(math.Log1p(r.Seconds) - m.lineRunTime(x))
				own = append(own, r)
			}
		}
		v.RunTimeErrors = v.Peaks.fitRunTime(own)
	}
}

// runTimeError returns the predicted error of the run time that the line predicts for a row, as a log factor.
func (m *models) runTimeError(cells []sizing.Value) float64 {
	v := m.valueTrendOf(cells)
	if v == nil || len(v.RunTimeErrors.Slopes) == 0 {
		return 0
	}
	t := v.Peaks.with(&v.RunTimeErrors)
	if e := t.predictInRange(cells); !math.IsNaN(e) {
		return e
	}
	return 0
}

// hasRange reports whether learned rows have input j.
func (t *trend) hasRange(j int) bool { return j < len(t.Ranges) && t.rangeOf(j).Rows > 0 }

func (t *valueTrends) bytes() (size int64) {
	for i := range t.Trends {
		v := &t.Trends[i]
		size += int64(unsafe.Sizeof(*v)) + int64(len(v.Value.Text)) + v.Peaks.bytes() + sliceBytes(v.RunTime.Slopes) + sliceBytes(v.RunTimeErrors.Slopes)
	}
	return size
}
