package postgres

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// errUnknownWord means that a receipt refers to a word that the caller's vocabulary lacks. This happens if the task is
// deleted after the receipt is read and before the vocabulary is read, so the function malformed converts this error to
// errStale.
var errUnknownWord = errors.New("the compact form refers to an unknown word")

var errMalformed = errors.New("the compact form is malformed")

// compactReader decodes one receipt. After the first error, which err keeps, its results are meaningless.
type compactReader struct {
	rest  []byte
	words []string
	bits  []uint64 // as in compactWriter
	err   error
}

// decodeCompact sets the fields of r that have no column. The caller has set the fields that have one; decodeCompact adds to
// r.At the nanoseconds that its column does not store.
func decodeCompact(content []byte, words []string, r *sizing.Receipt) error {
	c := compactReader{rest: content, words: words}
	a := &r.Allocation
	c.version()
	r.At = r.At.Add(time.Duration(c.uint()))
	c.ask(&r.Ask)
	if a.Risk.Promised != nil {
		c.bits = append(c.bits, math.Float64bits(*a.Risk.Promised))
	}
	a.Memory.Request = a.Memory.Limit + sizing.Bytes(c.amount())
	a.CPU = sizing.Cores(c.number())
	if c.flag() {
		a.Duration = &sizing.Duration{Median: time.Duration(c.scaled(milliNanos)), P95: time.Duration(c.scaled(milliNanos))}
	}
	a.Ladder = c.amounts()
	if c.flag() {
		a.Bins = &sizing.BinChoice{Upper: c.amounts(), Probabilities: c.numbers(), Chosen: int(c.int())}
	}
	a.Risk.Target = c.number()
	a.Source, a.Mode = sizing.Source(c.text()), sizing.Mode(c.text())
	if c.flag() {
		a.Shadow = &sizing.Grant{Request: sizing.Bytes(c.amount()), Limit: sizing.Bytes(c.amount())}
	}
	a.Model = c.model()
	a.Reason = c.reason()
	a.Guard.Params = c.numbers()
	if c.err == nil && len(c.rest) > 0 {
		return errMalformed
	}
	return c.err
}

// compactAsk decodes the ask alone, without its try. It needs no values from columns.
func compactAsk(content []byte, words []string) (a sizing.Ask, err error) {
	c := compactReader{rest: content, words: words}
	c.version()
	c.uint()
	c.ask(&a)
	return a, c.err
}

func (c *compactReader) ask(a *sizing.Ask) {
	a.Features = c.features()
	a.Requested.Memory = sizing.Bytes(c.amount())
	a.Requested.CPU = sizing.Cores(c.number())
	a.MaxMemory = sizing.Bytes(c.amount())
}

func (c *compactReader) version() {
	if v := c.byte(); v != compactFormat && c.err == nil {
		c.fail(errors.New("the compact form has an unknown version"))
	}
}

func (c *compactReader) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.rest = nil
}

func (c *compactReader) take(n uint64) []byte {
	if n > uint64(len(c.rest)) {
		c.fail(errMalformed)
		return nil
	}
	taken := c.rest[:n]
	c.rest = c.rest[n:]
	return taken
}

func (c *compactReader) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *compactReader) flag() bool { return c.byte() != 0 }

func (c *compactReader) uint() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.fail(errMalformed)
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *compactReader) int() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		c.fail(errMalformed)
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *compactReader) scaled(unit int64) int64 {
	v := c.uint()
	isWhole := v&1 == 1
	v >>= 1
	signed := int64(v>>1) ^ -int64(v&1)
	if isWhole {
		signed *= unit
	}
	return signed
}

func (c *compactReader) amount() int64 { return c.scaled(1 << pageShift) }

// length returns -1 for a nil list. Every element has at least one byte, so a list with more elements than remaining bytes is
// malformed.
func (c *compactReader) length() int {
	n := c.uint()
	if n > uint64(len(c.rest))+1 {
		c.fail(errMalformed)
		return -1
	}
	return int(n) - 1
}

func (c *compactReader) amounts() []sizing.Bytes {
	n := c.length()
	if n < 0 {
		return nil
	}
	list := make([]sizing.Bytes, n)
	for i := range list {
		list[i] = sizing.Bytes(c.amount())
	}
	return list
}

func (c *compactReader) numbers() []float64 {
	n := c.length()
	if n < 0 {
		return nil
	}
	list := make([]float64, n)
	for i := range list {
		list[i] = c.number()
	}
	return list
}

func (c *compactReader) number() float64 {
	tag := int(c.byte())
	switch {
	case tag < tagBits:
		return float64(c.int()) / powersOfTen[tag-tagDecimal]
	case tag < tagRepeated:
		var buffer [8]byte
		equal := tag - tagBits
		copy(buffer[equal:], c.take(uint64(8-equal)))
		bits := binary.BigEndian.Uint64(buffer[:]) ^ previousBits(c.bits)
		c.bits = append(c.bits, bits)
		return math.Float64frombits(bits)
	case tag == tagOneAndAHalf:
		return math.Float64frombits(oneAndAHalf(previousBits(c.bits)))
	}
	distance := tag - tagRepeated
	if distance < 1 || distance > len(c.bits) {
		c.fail(errMalformed)
		return 0
	}
	return math.Float64frombits(c.bits[len(c.bits)-distance])
}

func (c *compactReader) text() string {
	position := c.uint()
	if position == 0 {
		return string(c.take(c.uint()))
	}
	word, ok := wordAt(c.words, position-1)
	if !ok {
		c.fail(errUnknownWord)
	}
	return word
}

func (c *compactReader) features() sizing.Features {
	if !c.flag() {
		return nil
	}
	features := sizing.Features{}
	for field := range strings.SplitSeq(c.text(), fieldEnd) {
		if field == "" { // after the last field
			break
		}
		last := len(field) - 1
		features[field[:last]] = c.value(sizing.ValueKind(field[last] - '0'))
	}
	return features
}

func (c *compactReader) value(kind sizing.ValueKind) sizing.Value {
	switch kind {
	case sizing.Number, sizing.Bool:
		return sizing.Value{Kind: kind, Num: c.number()}
	case sizing.Category:
		return sizing.TextValue(c.text())
	case sizing.Date:
		if c.flag() {
			return sizing.TextValue(dayText(c.int()))
		}
		return sizing.TextValue(c.text())
	}
	return sizing.Value{}
}

func (c *compactReader) model() *sizing.ModelRef {
	if !c.flag() {
		return nil
	}
	m := &sizing.ModelRef{Version: int(c.int()), Family: c.text(), Observations: int(c.int())}
	seconds := c.int()
	m.TrainedAt = time.Unix(seconds, c.scaled(int64(time.Microsecond))).UTC()
	return m
}

func (c *compactReader) reason() string {
	var text strings.Builder
	for i, part := range strings.Split(c.text(), numberPlaceholder) {
		if i > 0 {
			text.WriteString(c.digits())
		}
		text.WriteString(part)
	}
	return text.String()
}

func (c *compactReader) digits() string {
	v := c.uint()
	digits := strconv.FormatUint(v>>1, 10)
	if v&1 == 0 {
		return digits
	}
	form := int(c.byte())
	length, decimals := form&15, form>>4
	zeros := length - len(digits)
	if zeros < 0 || decimals > length {
		c.fail(errMalformed)
		return ""
	}
	digits = strings.Repeat("0", zeros) + digits
	if decimals == 0 {
		return digits
	}
	return digits[:length-decimals] + "." + digits[length-decimals:]
}
