package taskmodel

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	maxOneHot     = 24  // largest number of levels of a category with a column of their own; only the level statistic distinguishes the others
	minOneHotRows = 2   // smallest number of rows of a level with a column of its own, if there are more than maxOneHot levels
	smoothingRows = 1.0 // weight of the task's mean log peak in the statistic of a level, in rows
)

// encoder turns a task's features into numbers. It writes two vectors for one row, one for the line
// (the ridge regression) and one for the trees. A feature may have the following columns; its struct column says which it has:
//
//	feature     line (finite)                           trees (NaN is missing)
//	number      raw, log1p, missing flag, step          raw, step
//	bool        0/1, missing flag                       0/1
//	category    one-hot, statistic if many levels       one-hot, statistic
//	 + parts    each recurring part as a category,      the same
//	            raw, log1p of numbers in other parts    raw
//	 + numbers  raw, log1p of each number in its text   raw
//	 + periods  raw, log1p of the days between dates    raw
//	date        weekend, cosine of the month, peak days weekday, month, day of the month, hour (see chooseCycles)
//	date pair   difference in days, raw and log         difference
//	number pair difference, raw and log                 difference
//
// A level is a value of a category. Its statistic is the smoothed mean log peak of earlier rows with this value (ordered
// target statistics, Prokhorenkova et al. 2018). Every row updates the statistics, but only a fit changes the columns.
// A value that is not in column.Levels has the task's mean log peak as its statistic.
type encoder struct {
	Columns   []column
	DonorRows donorTable `cbor:"Donors"` // rows whose values impute missing features
	Mean      float64    // mean log peak of the fitted rows
	LineWidth int        // number of columns of the line, after screening
	TreeWidth int        // number of columns of the trees, after screening

	Pairs    [][2]int  // pairs of dates or numbers whose difference is encoded, as indices in the schema
	Units    []float64 `cbor:",omitempty"` // by pair: the unit of the difference in its logarithm; missing and 0: 1
	KeepLine []int     `cbor:",omitempty"` // columns of the line that remain after screening; nil: all
	KeepTree []int     `cbor:",omitempty"` // columns of the trees that remain after screening; nil: all
	Retired  int       `cbor:",omitempty"` // number of features that are not encoded because there are too many
}

// column describes how one feature is encoded.
type column struct {
	Name            string
	Kind            sizing.ValueKind // Missing: the feature is not encoded
	WithLog         bool             `cbor:"Log"`            // adds the logarithm of the number, see logOf
	IsNegative      bool             `cbor:",omitempty"`     // with WithLog: no number is positive
	LogUnit         float64          `cbor:",omitzero"`      // unit of the number in this logarithm; 0: 1
	MissingFlag     bool             `cbor:"Flag"`           // adds an indicator of a missing value
	RarelyMissing   bool             `cbor:"Blind"`          // few or no rows lack the feature, so the models cannot learn the effect of its absence
	RarelyPresent   bool             `cbor:"Rare,omitempty"` // few or no rows have the feature, so the models cannot learn its effect
	Levels          map[string]*categoryLevel
	OneHots         int         `cbor:"Hot"`            // number of levels with a column of their own
	TreeStatistic   bool        `cbor:"Stat"`           // the trees get the level statistic
	LineStatistic   bool        `cbor:"Wide"`           // the line gets the level statistic
	MaxLevels       int         `cbor:"Most,omitempty"` // largest number of levels; 0: not limited
	WithMonthDay    bool        `cbor:",omitempty"`     // the trees get the day of the month
	AlignedMonthDay bool        `cbor:",omitempty"`     // the day of the month is aligned to the end of the month; see alignedMonthDay
	PeakDays        peakDays    `cbor:",omitzero"`      // days with larger peaks, see models.findPeakDays
	Step            step        `cbor:",omitzero"`      // number from which on the peaks are clearly larger or smaller, see models.findStep
	WithHour        bool        `cbor:",omitempty"`     // the trees get the hour
	NoWeekend       bool        `cbor:",omitempty"`     // the line does not get the weekend; see endedWeekendDays
	NoMonth         bool        `cbor:",omitempty"`     // the month counts as missing; see chooseCycles
	LocalTime       bool        `cbor:",omitempty"`     // the columns of a date follow its local time, otherwise UTC; see chooseClock
	Numbers         textNumbers `cbor:",omitzero"`      // the numbers in the texts of a category whose texts differ only in numbers
	Parts           textParts   `cbor:",omitzero"`      // the recurring parts and the numbers of the texts of a category whose texts seldom recur

	Dates textDates `cbor:",omitzero"` // the periods between dates in the texts of a category whose texts seldom recur

	PresentShare   float64 `cbor:"Known,omitzero"` // share of the rows that have the feature
	ExplainedShare float64 `cbor:"Tells,omitzero"` // share of the variance of the log peak that the feature explains alone
	Scale          float64 `cbor:"Unit,omitzero"`  // standard deviation of its values, or of their logarithms if WithLog

	IsOtherKind bool `cbor:"Outvoted,omitempty"` // the feature also has values of another kind, which are more frequent; see kinds.go
	Retired     bool `cbor:",omitempty"`         // not encoded because there are too many features

	// Constant is the only value of a category or a bool so far, with the result of keyOf as its text. Its kind is Missing if
	// the feature has had several values.
	Constant sizing.Value `cbor:",omitzero"`

	Counts valueCounts `cbor:",omitzero"` // zero in models stored before this field existed
}

// newEncoder chooses the columns from the given rows. The cells of a row are in the order of schema, and y holds the log
// peaks of the rows.
func newEncoder(schema *sizing.Schema, rows [][]sizing.Value, y []float64) *encoder {
	e := &encoder{}
	for _, v := range y {
		e.Mean += v / float64(len(y))
	}
	for j := range schema.Fields {
		e.Columns = append(e.Columns, readColumn(schema.Fields[j], j, rows))
	}
	e.chooseKinds(schema, rows)
	e.retireFeatures(rows)
	e.dropNewFeatures(rows)
	e.boundLevels()
	e.chooseCycles(rows, y)
	e.resetStatistics() // the caller encodes and learns the rows in order, so that a statistic contains only earlier rows
	e.Pairs = append(orderPairs(e.datePairsOf(), rows), e.numberPairs(rows)...)
	e.chooseUnits(rows)
	if e.countColumns(); max(e.LineWidth, e.TreeWidth) > maxColumns {
		e.screenColumns(rows, y)
	}
	e.chooseDonorRows(rows, y)
	return e
}

// countColumns sets the widths to the number of columns before screening.
func (e *encoder) countColumns() {
	e.LineWidth, e.TreeWidth = 2*len(e.Pairs), len(e.Pairs)
	for j := range e.Columns {
		line, tree := e.Columns[j].widths()
		e.LineWidth, e.TreeWidth = e.LineWidth+line, e.TreeWidth+tree
	}
}

func (e *encoder) datePairsOf() (pairs [][2]int) {
	for i := range e.Columns {
		for j := i + 1; j < len(e.Columns); j++ {
			if e.Columns[i].Kind == sizing.Date && e.Columns[j].Kind == sizing.Date {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

// orderPairs puts first in each pair the date that is earlier on average over the rows. So the lengths of periods are positive,
// whatever the features are called, and remote lengths are found like remote numbers.
func orderPairs(pairs [][2]int, rows [][]sizing.Value) [][2]int {
	for k, pair := range pairs {
		sum := 0.0
		for _, cells := range rows {
			if from, to := &cells[pair[0]], &cells[pair[1]]; from.Kind == sizing.Date && to.Kind == sizing.Date {
				sum += to.Num - from.Num
			}
		}
		if sum < 0 {
			pairs[k] = [2]int{pair[1], pair[0]}
		}
	}
	return pairs
}

// readColumn decides how to encode field j. A feature that every row lacks gets no column. A constant feature that no row
// lacks gets no column either. Constant dates are an exception, because their differences from other dates may vary.
func readColumn(field sizing.Field, j int, rows [][]sizing.Value) column {
	c := column{Name: field.Name, Kind: field.Kind}
	known, distinct, lowest, highest := 0, map[sizing.Value]bool{}, math.Inf(1), math.Inf(-1)
	for _, cells := range rows {
		if v := cells[j]; v.Kind != sizing.Missing {
			known++
			lowest, highest = min(lowest, v.Num), max(highest, v.Num)
			if len(distinct) < 3 {
				distinct[v] = true
			}
		}
	}
	if len(distinct) == 1 {
		for v := range distinct {
			c.Constant = constantOf(v)
		}
	}
	missing := len(rows) - known
	c.MissingFlag = missing > 0
	c.RarelyMissing = isRare(missing, rows, func(cells []sizing.Value) bool { return cells[j].Kind == sizing.Missing })
	c.RarelyPresent = isRare(known, rows, func(cells []sizing.Value) bool { return cells[j].Kind != sizing.Missing })
	if known == 0 || len(distinct) == 1 && !c.MissingFlag && c.Kind != sizing.Date {
		c.Kind = sizing.Missing
		return c
	}
	switch c.Kind {
	case sizing.Number:
		if c.WithLog = (lowest >= 0 || highest <= 0) && len(distinct) > 2; c.WithLog {
			c.IsNegative = lowest < 0
			c.LogUnit = logUnit(j, rows)
		}
	case sizing.Category:
		c.readLevels(j, rows)
		c.readTextNumbers(j, rows)
		c.readTextParts(j, rows)
		c.readTextDates(j, rows)
	}
	return c
}

// dropNewFeatures drops the columns of a feature that fewer than minMissingRows rows have, if the first of these rows is in
// the newer half of the history and no later row lacks the feature. Its presence then says only that these rows are new. If a
// later row lacks the feature, its presence says more, because some senders omit a flag that is not set. But if the names of
// features contain ids, many features have only one row. So dropNewFeatures also drops the features whose only row is in the
// newer half of the history, if more than one feature per minMissingShare rows has only one row.
func (e *encoder) dropNewFeatures(rows [][]sizing.Value) {
	known, first, once := make([]int, len(e.Columns)), make([]int, len(e.Columns)), 0
	for j := range e.Columns {
		if c := &e.Columns[j]; !c.RarelyPresent || c.Kind == sizing.Missing {
			continue
		}
		for i, cells := range rows {
			if cells[j].Kind == sizing.Missing {
				continue
			}
			if known[j]++; known[j] == 1 {
				first[j] = i
			}
		}
		once += boolToInt(known[j] == 1)
	}
	for j := range e.Columns {
		isNew := 0 < known[j] && known[j] < minMissingRows && first[j] >= len(rows)/2
		if c := &e.Columns[j]; isNew && (known[j] == len(rows)-first[j] || known[j] == 1 && once*minMissingShare > len(rows)) {
			*c = column{Name: c.Name, RarelyMissing: c.RarelyMissing, RarelyPresent: true}
		}
	}
}

// isRare reports whether the n rows with a property are too few to learn its effect: there are none, they are fewer than
// minMissingRows and fewer than one in minMissingShare rows, or they are fewer than minNewRows and all in the newer half of the
// history. has reports whether a row has the property.
func isRare(n int, rows [][]sizing.Value, has func([]sizing.Value) bool) bool {
	return n == 0 || n < minMissingRows && n < len(rows)/minMissingShare || n < minNewRows && !slices.ContainsFunc(rows[:len(rows)/2], has)
}

func (c *column) widths() (line, tree int) {
	switch c.Kind {
	case sizing.Number, sizing.Bool:
		return 1 + boolToInt(c.WithLog) + boolToInt(c.MissingFlag) + c.Step.Columns, 1 + boolToInt(c.Step.Columns > 0)
	case sizing.Category:
		line, tree = c.Parts.widths()
		return line + c.OneHots + boolToInt(c.LineStatistic) + 2*(c.Numbers.count()+c.Dates.count()), tree + c.OneHots + boolToInt(c.TreeStatistic) + c.Numbers.count() + c.Dates.count()
	case sizing.Date:
		return 2 + boolToInt(c.PeakDays.First > 0), 2 + boolToInt(c.WithMonthDay) + boolToInt(c.WithHour)
	}
	return 0, 0
}

func (e *encoder) learn(cells []sizing.Value, y float64) {
	for j := range e.Columns {
		c := &e.Columns[j]
		if c.isUnlikeConstant(cells[j]) {
			c.Constant = sizing.Value{}
		}
		c.MissingFlag = c.MissingFlag || c.Kind == sizing.Missing && cells[j].Kind == sizing.Missing
		if c.Kind == sizing.Category {
			l := c.level(cells[j])
			l.Sum += y
			l.Rows++
			c.Parts.learn(cells[j], y)
		}
		c.count(cells[j])
	}
}

// encode appends the encoded row to line and to tree. It does not allocate if their capacities suffice.
func (e *encoder) encode(cells []sizing.Value, line, tree []float64) ([]float64, []float64) {
	lineFrom, treeFrom := len(line), len(tree)
	for j := range e.Columns {
		c, v := &e.Columns[j], cells[j]
		switch c.Kind {
		case sizing.Number, sizing.Bool:
			line, tree = c.number(v, line, tree)
		case sizing.Category:
			line, tree = c.category(v, e.Mean, line, tree)
		case sizing.Date:
			line, tree = c.date(v, line, tree)
		}
	}
	line, tree = e.differences(cells, line, tree)
	return gather(line, lineFrom, e.KeepLine), gather(tree, treeFrom, e.KeepTree)
}

func (c *column) number(v sizing.Value, line, tree []float64) ([]float64, []float64) {
	missing := v.Kind == sizing.Missing
	x, logged := v.Num, 0.0
	if missing {
		tree = append(tree, math.NaN())
		x = 0
	} else {
		tree = append(tree, x)
		logged = c.logOf(x)
	}
	line = append(line, x)
	if c.WithLog {
		line = append(line, logged)
	}
	if c.MissingFlag {
		line = append(line, indicator(missing))
	}
	if c.Step.Columns > 0 {
		beyond, distance := c.beyondStep(v)
		line, tree = append(line, beyond), append(tree, beyond)
		if c.Step.Columns > 1 {
			line = append(line, distance)
		}
	}
	return line, tree
}

// logOf returns log1p of a number in LogUnit, or that of its magnitude with a negative sign. Numbers of the other sign than the
// learned ones count as 0.
func (c *column) logOf(x float64) float64 {
	if (x < 0) != c.IsNegative {
		x = 0
	}
	return bayes.SignedLog(x, cmp.Or(c.LogUnit, 1))
}

// logUnit returns the unit of field j in logOf.
func logUnit(j int, rows [][]sizing.Value) float64 {
	var numbers []float64
	for _, cells := range rows {
		if v := &cells[j]; v.Kind != sizing.Missing {
			numbers = append(numbers, v.Num)
		}
	}
	return unitOf(numbers)
}

// category appends the columns of a category to line and tree. mean is the task's mean log peak.
func (c *column) category(v sizing.Value, mean float64, line, tree []float64) ([]float64, []float64) {
	l := c.find(v.Text)
	for k := range c.OneHots {
		hot := indicator(l != nil && l.OneHot == k)
		line, tree = append(line, hot), append(tree, hot)
	}
	statistic := mean
	if l != nil {
		statistic = (l.Sum + smoothingRows*mean) / (l.Rows + smoothingRows)
	}
	if c.TreeStatistic {
		tree = append(tree, statistic)
	}
	if c.LineStatistic {
		line = append(line, statistic)
	}
	line, tree = c.Parts.encode(v, mean, line, tree)
	line, tree = c.Numbers.encode(v, line, tree)
	return c.Dates.encode(v, line, tree)
}

func (e *encoder) chooseUnits(rows [][]sizing.Value) {
	var differences []float64
	for k, pair := range e.Pairs {
		differences = append(differences[:0], 0) // the line gets 0 for a row that lacks one of the two values
		for _, cells := range rows {
			if from, to := &cells[pair[0]], &cells[pair[1]]; from.Kind != sizing.Missing && to.Kind != sizing.Missing {
				differences = append(differences, to.Num-from.Num)
			}
		}
		if unit := unitOf(differences); unit < 1 {
			e.Units = append(e.Units, make([]float64, len(e.Pairs)-len(e.Units))...)
			e.Units[k] = unit
		}
	}
}

func (e *encoder) differences(cells []sizing.Value, line, tree []float64) ([]float64, []float64) {
	for k, pair := range e.Pairs {
		from, to := &cells[pair[0]], &cells[pair[1]]
		if from.Kind == sizing.Missing || to.Kind == sizing.Missing {
			line, tree = append(line, 0, 0), append(tree, math.NaN())
			continue
		}
		difference := to.Num - from.Num
		unit := 1.0
		if k < len(e.Units) {
			unit = cmp.Or(e.Units[k], 1)
		}
		line = append(line, difference, bayes.SignedLog(difference, unit))
		tree = append(tree, difference)
	}
	return line, tree
}

func indicator(b bool) float64 { return float64(boolToInt(b)) }

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
