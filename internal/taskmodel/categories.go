package taskmodel

import (
	"cmp"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// categoryLevel is one value of a category, with statistics of its rows.
type categoryLevel struct {
	Sum    float64 // sum of the log peaks of its rows
	Rows   float64
	OneHot int `cbor:"Hot"` // index of its column; −1: none
}

func (c *column) readLevels(j int, rows [][]sizing.Value) {
	c.Levels = map[string]*categoryLevel{}
	for _, cells := range rows {
		c.level(cells[j]).Rows++
	}
	names := c.byFrequency()
	c.TreeStatistic, c.LineStatistic = len(names) > 2, len(names) > maxOneHot
	for _, name := range names {
		l := c.Levels[name]
		if c.OneHots < maxOneHot && (!c.LineStatistic || l.Rows >= minOneHotRows) {
			l.OneHot = c.OneHots
			c.OneHots++
		}
	}
}

// level returns the level of a value, and adds it if it is new. A missing value has a level, too. If the column has MaxLevels
// levels already, a new level is returned but not stored.
func (c *column) level(v sizing.Value) *categoryLevel {
	l := c.find(v.Text)
	if l == nil {
		l = &categoryLevel{OneHot: -1}
		if c.MaxLevels == 0 || len(c.Levels) < c.MaxLevels {
			c.Levels[keyOf(v.Text)] = l
		}
	}
	return l
}

// keyOf returns the key of a category value in column.Levels: the value, or a hash of a long value, so that long values do
// not make a model large.
func keyOf(text string) string {
	if len(text) < minHashedBytes {
		return text
	}
	key := hashKey(text)
	return string(key[:])
}

func hashKey(text string) (key [21]byte) {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	copy(key[:], "hash ")
	for i := len(key) - 1; i >= len("hash "); i-- {
		key[i] = "0123456789abcdef"[h&15]
		h >>= 4
	}
	return key
}

func (c *column) find(text string) *categoryLevel {
	if len(text) < minHashedBytes {
		return c.Levels[text]
	}
	key := hashKey(text)
	return c.Levels[string(key[:])] // does not allocate
}

func (c *column) byFrequency() []string {
	names := make([]string, 0, len(c.Levels))
	for name := range c.Levels {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Levels[b].Rows, c.Levels[a].Rows), cmp.Compare(a, b))
	})
	return names
}

// limitOneHots limits the one-hot columns of all categories together to about maxOneHotColumns. The line gets the level statistic
// of each category with more than two levels, because such a category may lose one-hot columns.
func (e *encoder) limitOneHots() {
	categories := 0
	for j := range e.Columns {
		categories += boolToInt(e.Columns[j].Kind == sizing.Category)
	}
	for j := range e.Columns {
		c := &e.Columns[j]
		if c.Kind != sizing.Category {
			continue
		}
		c.LineStatistic = c.TreeStatistic
		most := max(2, maxOneHotColumns/categories)
		for _, l := range c.Levels {
			if l.OneHot >= most { // one-hot columns are ordered by frequency
				l.OneHot = -1
			}
		}
		c.OneHots = min(c.OneHots, most)
	}
}

// boundLevels removes the rarest levels if all categories together have more than maxCategoryLevels. The number of rows of
// each level must be set.
func (e *encoder) boundLevels() {
	levels, categories := 0, 0
	for j := range e.Columns {
		levels += len(e.Columns[j].Levels)
		categories += boolToInt(e.Columns[j].Kind == sizing.Category)
	}
	if levels <= maxCategoryLevels {
		return
	}
	for j := range e.Columns {
		c := &e.Columns[j]
		if c.Kind != sizing.Category {
			continue
		}
		c.MaxLevels = max(maxOneHot, maxCategoryLevels/categories)
		for k, name := range c.byFrequency() {
			if k >= c.MaxLevels {
				delete(c.Levels, name)
			}
		}
	}
}

func (e *encoder) resetStatistics() {
	for j := range e.Columns {
		c := &e.Columns[j]
		c.Counts = valueCounts{}
		c.resetLevels()
		for k := range c.Parts.Columns {
			c.Parts.Columns[k].resetLevels()
		}
	}
}

func (c *column) resetLevels() {
	for _, l := range c.Levels {
		l.Sum, l.Rows = 0, 0
	}
}
