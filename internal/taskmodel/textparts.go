package taskmodel

import (
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	maxTextParts  = 24   // largest number of parts of a text
	maxPartLevels = 1000 // largest number of stored levels of a part; a part that reaches it may have more values, and gets no columns
)

// separators are the two sets of characters that separate the parts of a text. With the first set, a part is a word; with the
// second, a folder or file name. The second set is for paths whose names at the same position have different numbers of
// words.
var separators = [...]string{"/\\=&?:;,| _-.", "/"}

// textParts describes a category whose texts seldom recur and have the same number of parts, such as
// "s3://bucket/customer-acme/2025-04-01/5f3a.parquet". Then the levels of the texts say little. The parts that vary and
// recur, such as the customer, get the columns of a category. The zero value describes any other category.
type textParts struct {
	Separators int      // index of the set in separators
	Count      int      // number of parts of a text; 0: none
	At         []int    // indices of the parts with columns, ascending
	Columns    []column // of these parts
}

// readTextParts sets c.Parts for field j if at least minTextNumberRows rows have a text, all texts have the same number of
// parts and seldom recur, and a part varies and recurs. It sets none if the texts differ only in numbers.
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
	for set := range separators {
		found := textParts{Separators: set}
		if found.read(texts) {
			c.Parts = found
			return
		}
	}
}

// read sets the parts that vary and recur, and reports whether there are any.
func (p *textParts) read(texts []string) bool {
	split := make([][]sizing.Value, len(texts))
	for i, text := range texts {
		p.each(text, func(_ int, part string) {
			split[i] = append(split[i], sizing.Value{Kind: sizing.Category, Text: part})
		})
		if len(split[i]) != len(split[0]) || len(split[i]) > maxTextParts {
			return false
		}
	}
	p.Count = len(split[0])
	for k := range split[0] {
		part := column{Kind: sizing.Category, MaxLevels: maxPartLevels}
		part.readLevels(k, split)
		if levels := len(part.Levels); 1 < levels && levels < maxPartLevels && rowsPerText*levels <= len(texts) {
			p.At, p.Columns = append(p.At, k), append(p.Columns, part)
		}
	}
	return len(p.At) > 0
}

func (p *textParts) each(text string, visit func(k int, part string)) {
	for k := 0; ; k++ {
		end := strings.IndexAny(text, separators[p.Separators])
		if end < 0 {
			visit(k, text)
			return
		}
		visit(k, text[:end])
		text = text[end+1:]
	}
}

// values fills dst with the parts that have columns; all are missing if the text has another number of parts.
func (p *textParts) values(v sizing.Value, dst *[maxTextParts]sizing.Value) []sizing.Value {
	n, count := 0, 0
	p.each(v.Text, func(k int, part string) {
		count++
		if n < len(p.At) && p.At[n] == k {
			dst[n] = sizing.Value{Kind: sizing.Category, Text: part}
			n++
		}
	})
	if count != p.Count {
		clear(dst[:])
	}
	return dst[:len(p.At)]
}

func (p *textParts) isValid() bool {
	return p.Separators >= 0 && p.Separators < len(separators) && len(p.At) == len(p.Columns) && len(p.At) <= maxTextParts &&
		!slices.ContainsFunc(p.Columns, func(c column) bool { return c.Kind != sizing.Category || len(c.Parts.At) > 0 || c.Numbers.count() > 0 })
}

// areKnown reports whether there are parts with columns and each of them in v was in a learned text.
func (p *textParts) areKnown(v sizing.Value) bool {
	var buffer [maxTextParts]sizing.Value
	for k, part := range p.values(v, &buffer) {
		if part.Kind == sizing.Missing || p.Columns[k].find(part.Text) == nil {
			return false
		}
	}
	return len(p.At) > 0
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
	for k, part := range p.values(v, &buffer) {
		l := p.Columns[k].level(part)
		l.Sum += y
		l.Rows++
	}
}

// encode appends the columns of the parts to line and tree. mean is the task's mean log peak.
func (p *textParts) encode(v sizing.Value, mean float64, line, tree []float64) ([]float64, []float64) {
	if len(p.At) == 0 {
		return line, tree
	}
	var buffer [maxTextParts]sizing.Value
	for k, part := range p.values(v, &buffer) {
		line, tree = p.Columns[k].category(part, mean, line, tree)
	}
	return line, tree
}
