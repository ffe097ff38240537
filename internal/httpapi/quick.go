package httpapi

import (
	"strconv"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json"

	"github.com/loadaware/loadaware/internal/sizing"
)

// quick reads plain JSON from b, from at on.
type quick struct {
	b  []byte
	at int
}

// manyNames is how many names an object may have: they are compared one by one.
const manyNames = 24

// object reads an object, whose values are read by a function of their names. False
// where it is not plain, or has a name twice.
func (q *quick) object(value func(name []byte) bool) bool {
	var names [manyNames][]byte
	if !q.take('{') {
		return false
	}
	if q.take('}') {
		return true
	}
	for n := range names {
		name, ok := q.quoted()
		if !ok {
			return false
		}
		for _, other := range names[:n] {
			if string(other) == string(name) {
				return false
			}
		}
		names[n] = name
		if !q.take(':') {
			return false
		}
		if q.space(); !value(name) {
			return false
		}
		if q.take('}') {
			return true
		}
		if !q.take(',') {
			return false
		}
	}
	return false
}

func (q *quick) space() {
	for q.at < len(q.b) && (q.b[q.at] == ' ' || q.b[q.at] == '\n' || q.b[q.at] == '\r' || q.b[q.at] == '\t') {
		q.at++
	}
}

// ended reports whether nothing but space is left.
func (q *quick) ended() bool {
	q.space()
	return q.at == len(q.b)
}

// take passes over c and the space before it, if it comes next.
func (q *quick) take(c byte) bool {
	if q.space(); q.at < len(q.b) && q.b[q.at] == c {
		q.at++
		return true
	}
	return false
}

// quoted is a string of printable ASCII without escapes.
func (q *quick) quoted() ([]byte, bool) {
	if !q.take('"') {
		return nil, false
	}
	for from := q.at; q.at < len(q.b); q.at++ {
		switch c := q.b[q.at]; {
		case c == '"':
			q.at++
			return q.b[from : q.at-1], true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

func (q *quick) text(to *string) bool {
	s, ok := q.quoted()
	*to = string(s)
	return ok
}

func (q *quick) textAt(to **string) bool {
	*to = new(string)
	return q.text(*to)
}

// number is a number as JSON has them: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
func (q *quick) number() (text []byte, whole, ok bool) {
	from := q.at
	digits := func() bool {
		first := q.at
		for q.at < len(q.b) && q.b[q.at] >= '0' && q.b[q.at] <= '9' {
			q.at++
		}
		return q.at > first
	}
	is := func(one, other byte) bool { return q.at < len(q.b) && (q.b[q.at] == one || q.b[q.at] == other) }
	if is('-', '-') {
		q.at++
	}
	if is('0', '0') {
		q.at++
	} else if !digits() {
		return nil, false, false
	}
	whole = true
	if is('.', '.') {
		q.at++
		if whole = false; !digits() {
			return nil, false, false
		}
	}
	if is('e', 'E') {
		q.at++
		if is('+', '-') {
			q.at++
		}
		if whole = false; !digits() {
			return nil, false, false
		}
	}
	return q.b[from:q.at], whole, true
}

func (q *quick) wholeAt(to **int64) bool {
	text, whole, ok := q.number()
	if !ok || !whole || len(text) > 18 {
		return false
	}
	v, err := strconv.ParseInt(view(text), 10, 64)
	*to = &v
	return err == nil
}

func (q *quick) floatAt(to **float64) bool {
	text, _, ok := q.number()
	if !ok {
		return false
	}
	v, err := strconv.ParseFloat(view(text), 64)
	*to = &v
	return err == nil
}

// timeAt leaves the strict reading of times to the library.
func (q *quick) timeAt(to **time.Time) bool {
	from := q.at
	if _, ok := q.quoted(); !ok {
		return false
	}
	*to = new(time.Time)
	return json.Unmarshal(q.b[from:q.at], *to) == nil
}

func (q *quick) intAt(to **int) bool {
	var wide *int64
	if !q.wholeAt(&wide) {
		return false
	}
	v := int(*wide)
	*to = &v
	return true
}

// list reads a list, whose items are read by a function. False where it is not plain.
func (q *quick) list(item func() bool) bool {
	if !q.take('[') {
		return false
	}
	if q.take(']') {
		return true
	}
	for {
		if q.space(); !item() {
			return false
		}
		if q.take(']') {
			return true
		}
		if !q.take(',') {
			return false
		}
	}
}

// any passes over a value that is plain, and nested at most so deep.
func (q *quick) any(depth int) bool {
	switch {
	case q.at == len(q.b) || depth == 0:
		return false
	case q.b[q.at] == '{':
		return q.object(func([]byte) bool { return q.any(depth - 1) })
	case q.b[q.at] == '[':
		return q.list(func() bool { return q.any(depth - 1) })
	}
	return q.scalar()
}

// literal passes over a word, if it comes next.
func (q *quick) literal(word string) bool {
	if len(q.b)-q.at < len(word) || string(q.b[q.at:q.at+len(word)]) != word {
		return false
	}
	q.at += len(word)
	return true
}

// scalar passes over a string, a number, a bool or null.
func (q *quick) scalar() bool {
	if q.at == len(q.b) {
		return false
	}
	switch q.b[q.at] {
	case '"':
		_, ok := q.quoted()
		return ok
	case 't':
		return q.literal("true")
	case 'f':
		return q.literal("false")
	case 'n':
		return q.literal("null")
	}
	_, _, ok := q.number()
	return ok
}

// value reads one feature.
func (q *quick) value() (sizing.Value, bool) {
	from := q.at
	if !q.scalar() {
		return sizing.Value{}, false
	}
	switch text := q.b[from:q.at]; text[0] {
	case '"':
		return sizing.TextValue(string(text[1 : len(text)-1])), true
	case 't', 'f':
		return sizing.BoolValue(text[0] == 't'), true
	case 'n':
		return sizing.Value{}, true
	default:
		v, err := strconv.ParseFloat(view(text), 64)
		return sizing.NumberValue(v), err == nil
	}
}

// view is b as a string for as long as b does not change: until it is parsed.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
