package codec

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/loadaware/loadaware/internal/sizing"
)

// scanner reads JSON in the common form (see the package comment) from data, starting at pos.
type scanner struct {
	data []byte
	pos  int
}

// maxNames bounds the members of an object, because object compares each name with all earlier ones.
const maxNames = 24

// object reads an object, and calls `value` for each name to read the value of the name. It returns false if the JSON
// does not have the common form or repeats a name.
func (s *scanner) object(value func(name []byte) bool) bool {
	var names [maxNames][]byte
	if !s.accept('{') {
		return false
	}
	if s.accept('}') {
		return true
	}
	for n := range names {
		name, ok := s.quoted()
		if !ok {
			return false
		}
		for _, other := range names[:n] {
			if string(other) == string(name) {
				return false
			}
		}
		names[n] = name
		if !s.accept(':') {
			return false
		}
		if s.skipSpace(); !value(name) {
			return false
		}
		if s.accept('}') {
			return true
		}
		if !s.accept(',') {
			return false
		}
	}
	return false
}

func (s *scanner) skipSpace() {
	for s.pos < len(s.data) && (s.data[s.pos] == ' ' || s.data[s.pos] == '\n' || s.data[s.pos] == '\r' || s.data[s.pos] == '\t') {
		s.pos++
	}
}

func (s *scanner) atEnd() bool {
	s.skipSpace()
	return s.pos == len(s.data)
}

func (s *scanner) accept(c byte) bool {
	if s.skipSpace(); s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) quoted() ([]byte, bool) {
	if !s.accept('"') {
		return nil, false
	}
	for from := s.pos; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.data[from : s.pos-1], true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

func (s *scanner) text(to *string) bool {
	text, ok := s.quoted()
	*to = string(text)
	return ok
}

func (s *scanner) textPtr(to **string) bool {
	*to = new(string)
	return s.text(*to)
}

// number reads a number as RFC 8259 defines it: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
// isInteger is false for a number with a fraction or an exponent.
func (s *scanner) number() (text []byte, isInteger, ok bool) {
	from := s.pos
	digits := func() bool {
		first := s.pos
		for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			s.pos++
		}
		return s.pos > first
	}
	next := func(a, b byte) bool { return s.pos < len(s.data) && (s.data[s.pos] == a || s.data[s.pos] == b) }
	if next('-', '-') {
		s.pos++
	}
	if next('0', '0') {
		s.pos++
	} else if !digits() {
		return nil, false, false
	}
	isInteger = true
	if next('.', '.') {
		s.pos++
		if isInteger = false; !digits() {
			return nil, false, false
		}
	}
	if next('e', 'E') {
		s.pos++
		if next('+', '-') {
			s.pos++
		}
		if isInteger = false; !digits() {
			return nil, false, false
		}
	}
	return s.data[from:s.pos], isInteger, true
}

func (s *scanner) int64Ptr(to **int64) bool {
	text, isInteger, ok := s.number()
	if !ok || !isInteger || len(text) > 18 { // up to 18 characters always fit an int64
		return false
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	*to = &v
	return err == nil
}

func (s *scanner) intPtr(to **int) bool {
	var wide *int64
	if !s.int64Ptr(&wide) {
		return false
	}
	v := int(*wide)
	*to = &v
	return true
}

func (s *scanner) float64Ptr(to **float64) bool {
	text, _, ok := s.number()
	if !ok {
		return false
	}
	v, err := strconv.ParseFloat(string(text), 64)
	*to = &v
	return err == nil
}

// timePtr reads a time. go-json-experiment/json parses it, because it is strict about RFC 3339.
func (s *scanner) timePtr(to **time.Time) bool {
	from := s.pos
	if _, ok := s.quoted(); !ok {
		return false
	}
	*to = new(time.Time)
	return json.Unmarshal(s.data[from:s.pos], *to) == nil
}

func (s *scanner) skipScalar() bool {
	if s.pos == len(s.data) {
		return false
	}
	switch s.data[s.pos] {
	case '"':
		_, ok := s.quoted()
		return ok
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	_, _, ok := s.number()
	return ok
}

func (s *scanner) literal(word string) bool {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return false
	}
	s.pos += len(word)
	return true
}

func (s *scanner) feature() (sizing.Value, bool) {
	from := s.pos
	if !s.skipScalar() {
		return sizing.Value{}, false
	}
	switch text := s.data[from:s.pos]; text[0] {
	case '"':
		return sizing.TextValue(string(text[1 : len(text)-1])), true
	case 't', 'f':
		return sizing.BoolValue(text[0] == 't'), true
	case 'n':
		return sizing.Value{}, true
	default:
		return sizing.ParseNumber(string(text))
	}
}
