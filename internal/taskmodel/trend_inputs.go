package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/sizing"
)

// inputPair is the difference of two dates in days, or of two numbers, as an input of the trend.
type inputPair struct {
	_        struct{} `cbor:",toarray"`
	From, To int      // indices in the schema
	Range    interval // of the difference: the value of To minus the value of From
}

// Two inputs are duplicates if the squared correlation of their logarithms is larger than this.
const (
	duplicateShare = 0.98     // for a pair and a number
	multipleShare  = 1 - 1e-6 // for two numbers: one is then a multiple or a power of the other, except for rounding
)

func (t *trend) addInputs(e *encoder) {
	for _, pair := range e.Pairs {
		t.Pairs = append(t.Pairs, inputPair{From: pair[0], To: pair[1], Range: noInterval})
	}
	for j := range e.Columns {
		c := &e.Columns[j]
		for k := range c.textNumberCount() {
			if c.Kind == sizing.Category && !slices.Contains(c.Dates.Inside, k) {
				t.Texts = append(t.Texts, textInput{Field: j, Number: k, Range: noInterval, column: c})
			}
		}
		if c.IsNegative {
			t.Negative = append(t.Negative, j)
		}
	}
}

func (p *inputPair) difference(cells []sizing.Value) (d float64, known bool) {
	from, to := &cells[p.From], &cells[p.To]
	if from.Kind != to.Kind || from.Kind != sizing.Date && from.Kind != sizing.Number {
		return 0, false
	}
	return to.Num - from.Num, true
}

// moveToRange moves the larger of the two values so that the difference is at the nearer edge of its range. To keep its
// weekday, a date moves by whole weeks, up to six days further into the range, if the range is wide enough.
func (p *inputPair) moveToRange(cells []sizing.Value) {
	d, _ := p.difference(cells)
	edge := p.Range.edge(d)
	const week = 7
	if weeks := d + week*math.Copysign(math.Ceil(math.Abs(edge-d)/week), edge-d); cells[p.To].Kind == sizing.Date && p.Range.edge(weeks) == weeks {
		edge = weeks
	}
	if d >= 0 {
		cells[p.To].Num = cells[p.From].Num + edge
	} else {
		cells[p.From].Num = cells[p.To].Num - edge
	}
}

// keepDifference restores the difference that two values had before one or both were moved into their ranges: positions in
// a log and times grow with every run, and only the difference of two of them says how much a run reads.
func (p *inputPair) keepDifference(before, moved []sizing.Value) {
	d, known := p.difference(before)
	from, to := &moved[p.From], &moved[p.To]
	switch {
	case !known:
	case from.Num != before[p.From].Num:
		to.Num = from.Num + d
	case to.Num != before[p.To].Num:
		from.Num = to.Num - d
	}
}

// firstInput returns the smallest index of an input; see trend.
func (t *trend) firstInput() int { return -len(t.Pairs) - len(t.Texts) }

func (t *trend) isPair(j int) bool { return j < 0 && ^j < len(t.Pairs) }

func (t *trend) isInText(j int) bool { return ^j >= len(t.Pairs) }

func (t *trend) inText(j int) *textInput { return &t.Texts[^j-len(t.Pairs)] }

func (t *trend) rangeOf(j int) *interval {
	switch {
	case t.isInText(j):
		return &t.inText(j).Range
	case t.isPair(j):
		return &t.Pairs[^j].Range
	}
	return &t.Ranges[j]
}

func (t *trend) value(j int, cells []sizing.Value) (x float64, known bool) {
	switch {
	case t.isInText(j):
		return t.inText(j).read(cells)
	case t.isPair(j):
		return t.Pairs[^j].difference(cells)
	}
	return t.signOf(j) * cells[j].Num, cells[j].Kind == sizing.Number
}

func (t *trend) setValue(j int, cells []sizing.Value, x float64) {
	switch {
	case t.isInText(j):
		t.inText(j).write(cells, x)
	case t.isPair(j):
		cells[t.Pairs[^j].To].Num = cells[t.Pairs[^j].From].Num + x
	default:
		cells[j].Num = t.signOf(j) * x
	}
}

// signOf returns -1 if the value of an input is the magnitude of a number that was never positive.
func (t *trend) signOf(j int) float64 {
	if slices.Contains(t.Negative, j) {
		return -1
	}
	return 1
}

var noInterval = interval{Low: math.Inf(1), High: math.Inf(-1)}

func (s *interval) include(x float64) {
	s.Low, s.High, s.Rows = min(s.Low, x), max(s.High, x), s.Rows+1
}

// distance is described at trend.distance; offset is the log offset of the input.
func (s *interval) distance(x, offset float64) float64 {
	edge := s.edge(x)
	if x == edge {
		return 0
	}
	if s.Low >= 0 && x >= 0 {
		return bayes.SignedLog(x, offset) - bayes.SignedLog(edge, offset)
	}
	d := math.Copysign(math.Log1p(math.Abs(x-edge)/(offset+s.magnitude())), x-edge)
	if s.Low >= 0 {
		d = min(d, -bayes.SignedLog(edge, offset))
	}
	return d
}

func (s *interval) edge(x float64) float64 { return max(s.Low, min(x, s.High)) }

func (s *interval) magnitude() float64 { return max(math.Abs(s.Low), math.Abs(s.High)) }

// width returns the width of the range as a difference of logarithms. The range must not contain negative values.
func (s *interval) width(offset float64) float64 {
	return bayes.SignedLog(s.High, offset) - bayes.SignedLog(s.Low, offset)
}

// logInputs writes to x, by row, the logarithm of input j, or NaN if the row lacks the input. It returns the number of rows
// with the input.
func (t *trend) logInputs(j int, rows []row, x []float64) (known int) {
	for i := range rows {
		x[i] = math.NaN()
		if v, isKnown := t.value(j, rows[i].Cells); isKnown {
			x[i] = bayes.SignedLog(v, t.logOffsetOf(j))
			known++
		}
	}
	return known
}

// signedDetermination returns the share of the variance of y that an input with negative values explains by its value or by
// its magnitude, in the rows that have the input. It overwrites x.
func (t *trend) signedDetermination(j int, rows []row, y, x []float64) float64 {
	share := 0.0
	for _, transform := range []func(float64) float64{func(v float64) float64 { return v }, math.Abs} {
		for i := range rows {
			v, known := t.value(j, rows[i].Cells)
			if x[i] = transform(v); !known {
				x[i] = math.NaN()
			}
		}
		if d := determination(x, y); d > share {
			share = d
		}
	}
	return share
}

// jointInputs returns the strongest inputs that one fit can use together, and the rows that have all of them: at most
// maxTrendInputs, and at most one per four of these rows. It leaves out an input if it would leave fewer than half of the rows
// with the strongest input. `found` is sorted by strength, the largest first.
func (t *trend) jointInputs(found []candidate, rows []row, y []float64) (fields []int, complete []row, logs []float64) {
	complete, logs = rows, y
	for _, c := range found {
		with, withLogs := complete, logs
		if c.known < len(rows) {
			with, withLogs = t.rowsWith(c.input, complete, logs)
		}
		if len(with) < max(4*(len(fields)+1), minTrendRows) || 2*len(with) < found[0].known {
			continue
		}
		fields, complete, logs = append(fields, c.input), with, withLogs
		if len(fields) == maxTrendInputs {
			break
		}
	}
	return fields, complete, logs
}

func (t *trend) rowsWith(j int, rows []row, y []float64) (with []row, logs []float64) {
	for i := range rows {
		if _, known := t.value(j, rows[i].Cells); known {
			with, logs = append(with, rows[i]), append(logs, y[i])
		}
	}
	return with, logs
}

// dropDuplicates removes the numbers that are multiples or powers of stronger ones, and the pairs that are collinear with one of
// the strongest numbers or with stronger pairs. `found` is sorted by strength, and is overwritten.
func (t *trend) dropDuplicates(found []candidate, rows []row) []candidate {
	var numbers [][]float64
	found = slices.DeleteFunc(found, func(c candidate) bool {
		if t.isPair(c.input) || len(numbers) == maxTrendInputs {
			return false
		}
		x := make([]float64, len(rows))
		t.logInputs(c.input, rows, x)
		if isDuplicate(x, numbers, multipleShare) {
			return true
		}
		numbers = append(numbers, x)
		return false
	})
	if len(t.Pairs) == 0 {
		return found
	}
	parent := map[int]int{} // union-find: the fields of each remaining pair have the same root
	rootOf := func(field int) int {
		for next, joined := parent[field]; joined; next, joined = parent[field] {
			field = next
		}
		return field
	}
	x := make([]float64, len(rows))
	distinct := found[:0]
	for _, c := range found {
		if t.isPair(c.input) {
			pair := &t.Pairs[^c.input]
			from, to := rootOf(pair.From), rootOf(pair.To)
			t.logInputs(c.input, rows, x)
			if from == to || isDuplicate(x, numbers, duplicateShare) {
				continue
			}
			parent[from] = to
		}
		distinct = append(distinct, c)
	}
	return distinct
}

func isDuplicate(x []float64, others [][]float64, share float64) bool {
	for _, other := range others {
		if determination(x, other) > share {
			return true
		}
	}
	return false
}
