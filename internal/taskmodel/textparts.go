package taskmodel

import (
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	maxTextParts  = 24   // largest number of parts with columns
	maxTextWords  = 256  // largest number of parts of a text that is not aligned by anchors
	maxGapParts   = 16   // largest number of parts between two anchors that can have columns; the later ones have none
	maxPartLevels = 1000 // largest number of stored levels of a part; a part that reaches it may have more values, and gets no columns
	minFormShare  = 0.9  // smallest share of the texts (or of the values of a part) that must have the same form: the anchors, the number of dates, or the text around the numbers
)

// Ways to separate the parts of a text. A blob contains the number.
const (
	bySeparator = 0 // a part ends at each of wordSeparators, so that it may be empty
	byFolder    = 1 // a part is a folder or file name, for texts whose folders have different numbers of words
	byWord      = 2 // a part is a word, see nextWord; earlier releases do not know this way
)

const wordSeparators = "/\\=&?:;,| _-."

// textParts describes a category whose texts seldom recur and have the same parts, such as
// "s3://bucket/customer-acme/2025-04-01/5f3a.parquet". Then the levels of the texts say little. The parts that vary and
// recur, such as the customer, get the columns of a category. The parts that seldom recur and are numbers, or differ only in
// numbers, get the columns of textNumbers. The zero value describes any other category.
//
// The index of a part is its position in the text. If the number of parts differs, because some texts have an optional flag,
// parts are aligned by words that nearly all texts have (the anchors). The index is then maxGapParts times the number of anchors
// before the part, plus the number of parts between the last of these anchors and the part. Anchors are no parts.
type textParts struct {
	Separators int      // byFolder and so on
	Count      int      // number of parts of a text; 0: no parts, or aligned by anchors
	Anchors    []string `cbor:",omitempty"`
	At         []int    // indices of the parts with columns, ascending
	Columns    []column // of these parts
}

// readTextParts sets c.Parts for field j if at least minTextNumberRows rows have a text, the texts seldom recur and have the same
// parts, and a part gets columns. It sets none if the texts differ only in numbers.
func (c *column) readTextParts(j int, rows [][]sizing.Value) {
	var texts []string
	for _, cells := range rows {
		if cells[j].Kind != sizing.Missing {
			texts = append(texts, cells[j].Text)
		}
	}
	if len(texts) < minTextNumberRows || rowsPerText*len(c.Levels) <= len(texts) || c.Numbers.count() > 0 {
		return
	}
	for _, way := range []int{byWord, bySeparator, byFolder} {
		found := textParts{Separators: way}
		if found.countParts(texts) && found.readColumns(texts) {
			c.Parts = found
			return
		}
	}
	found := textParts{Separators: byWord, Anchors: findAnchors(texts)}
	if len(found.Anchors) > 0 && found.readColumns(texts) {
		c.Parts = found
	}
}

// countParts sets Count, and reports whether all texts have this number of parts, from 1 to maxTextWords.
func (p *textParts) countParts(texts []string) bool {
	for i, text := range texts {
		count := 0
		p.split(text, func(int, int) { count++ })
		if i > 0 && count != p.Count || count == 0 || count > maxTextWords {
			return false
		}
		p.Count = count
	}
	return true
}

// readColumns chooses the parts with columns, and reports whether there are any. Nearly all texts must have the same parts.
func (p *textParts) readColumns(texts []string) bool {
	parts := make([]map[int]string, 0, len(texts))
	var all []int // indices of the parts
	for _, text := range texts {
		of := map[int]string{}
		if p.each(text, func(k, from, to int) { of[k] = text[from:to] }) {
			parts = append(parts, of)
			for k := range of {
				all = append(all, k)
			}
		}
	}
	if float64(len(parts)) < minFormShare*float64(len(texts)) {
		return false
	}
	slices.Sort(all)
	values := make([][]sizing.Value, len(parts)) // of one part, by row
	for _, k := range slices.Compact(all) {
		for i := range parts {
			values[i] = make([]sizing.Value, 1)
			if text, ok := parts[i][k]; ok {
				values[i][0] = sizing.Value{Kind: sizing.Category, Text: text}
			}
		}
		if part, ok := readPart(values); ok && len(p.At) < maxTextParts {
			p.At, p.Columns = append(p.At, k), append(p.Columns, part)
		}
	}
	return len(p.At) > 0
}

// readPart returns the column of a part; ok is false if it gets none. values has one value per row, which may be missing.
func readPart(values [][]sizing.Value) (part column, ok bool) {
	part = column{Kind: sizing.Category, MaxLevels: maxPartLevels}
	part.readLevels(0, values)
	known, present := 0, len(part.Levels)
	for _, v := range values {
		known += boolToInt(v[0].Kind != sizing.Missing)
	}
	if known < len(values) {
		present-- // the level of a missing part
	}
	if len(part.Levels) < maxPartLevels && rowsPerText*present <= known {
		return part, len(part.Levels) > 1
	}
	part = column{Kind: sizing.Category, Numbers: findTextNumbers(0, values, minFormShare)}
	return part, part.Numbers.count() > 0
}

// split visits all parts text[from:to].
func (p *textParts) split(text string, visit func(from, to int)) {
	if p.Separators == byWord {
		eachWord(text, visit)
		return
	}
	separators := wordSeparators
	if p.Separators == byFolder {
		separators = "/"
	}
	for from := 0; ; {
		length := strings.IndexAny(text[from:], separators)
		if length < 0 {
			visit(from, len(text))
			return
		}
		visit(from, from+length)
		from += length + 1
	}
}

// each visits the parts text[from:to] with their indices. Between two anchors it visits only the first maxGapParts parts. It reports
// whether the text has the learned number of parts or all anchors.
func (p *textParts) each(text string, visit func(k, from, to int)) bool {
	count, anchors := 0, 0
	p.split(text, func(from, to int) {
		switch {
		case p.Anchors == nil:
			visit(count, from, to)
		case anchors < len(p.Anchors) && text[from:to] == p.Anchors[anchors]:
			anchors, count = anchors+1, 0
			return
		case count < maxGapParts:
			visit(anchors*maxGapParts+count, from, to)
		}
		count++
	})
	return anchors == len(p.Anchors) && (p.Anchors != nil || count == p.Count)
}

// values fills dst with the parts that have columns. If the text has other parts, all values are missing, and ok is false.
func (p *textParts) values(v sizing.Value, dst *[maxTextParts]sizing.Value) (values []sizing.Value, ok bool) {
	ok = p.each(v.Text, func(k, from, to int) {
		if n, found := slices.BinarySearch(p.At, k); found {
			dst[n] = sizing.Value{Kind: sizing.Category, Text: v.Text[from:to]}
		}
	})
	if !ok {
		clear(dst[:])
	}
	return dst[:len(p.At)], ok
}

// find returns the part with index k of a text: text[from:to]. ok is false if the text lacks it or has other parts.
func (p *textParts) find(text string, k int) (from, to int, ok bool) {
	found := false
	hasParts := p.each(text, func(i, partFrom, partTo int) {
		if i == k {
			from, to, found = partFrom, partTo, true
		}
	})
	return from, to, found && hasParts
}

func (p *textParts) isValid() bool {
	return p.Separators >= bySeparator && p.Separators <= byWord && len(p.At) == len(p.Columns) && len(p.At) <= maxTextParts && slices.IsSorted(p.At) &&
		!slices.ContainsFunc(p.Columns, func(c column) bool {
			return c.Kind != sizing.Category || len(c.Parts.At) > 0 || len(c.Numbers.Means) != 2*c.Numbers.count() || c.Numbers.count() > maxTextNumbers
		})
}

// hasNumbers reports whether a part has the columns of textNumbers.
func (p *textParts) hasNumbers() bool {
	return slices.ContainsFunc(p.Columns, func(c column) bool { return c.Numbers.count() > 0 })
}

// areKnown reports whether there are parts with columns, the text v has these parts, and each value of a recurring part was in a
// learned text.
func (p *textParts) areKnown(v sizing.Value) bool {
	var buffer [maxTextParts]sizing.Value
	parts, ok := p.values(v, &buffer)
	for k, part := range parts {
		if c := &p.Columns[k]; c.Numbers.count() == 0 && c.find(part.Text) == nil {
			return false
		}
	}
	return ok && len(p.At) > 0
}

func (p *textParts) widths() (line, tree int) {
	for k := range p.Columns {
		l, t := p.Columns[k].widths()
		line, tree = line+l, tree+t
	}
	return line, tree
}

func (p *textParts) learn(v sizing.Value, y float64) {
	if len(p.At) == 0 {
		return
	}
	var buffer [maxTextParts]sizing.Value
	parts, _ := p.values(v, &buffer)
	for k, part := range parts {
		if p.Columns[k].Numbers.count() == 0 {
			l := p.Columns[k].level(part)
			l.Sum += y
			l.Rows++
		}
	}
}

// encode appends the columns of the parts to line and tree. mean is the task's mean log peak.
func (p *textParts) encode(v sizing.Value, mean float64, line, tree []float64) ([]float64, []float64) {
	if len(p.At) == 0 {
		return line, tree
	}
	var buffer [maxTextParts]sizing.Value
	parts, _ := p.values(v, &buffer)
	for k, part := range parts {
		line, tree = p.Columns[k].category(part, mean, line, tree)
	}
	return line, tree
}
