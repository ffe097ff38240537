package postgres

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The compact form of a receipt contains the fields that have no column, in a fixed order and without names. Integers are
// varints. A text that the receipts of a task repeat is written as its position in the vocabulary of the task. A float64 keeps
// all of its bits. It is written in one of four ways: as a short decimal, as the repetition of an earlier number of the same
// receipt, as 1.5 times the previous number, or as the XOR with the previous number without its leading zero bytes (Pelkonen
// et al. 2015, "Gorilla"). The previous number is the last one passed to compactWriter.remember. If the form cannot represent
// a field, encode rejects the receipt, which is then stored as JSON.

// compactFormat is the first byte of the compact form.
const compactFormat = 1

// Tags of a float64, which precede the number.
const (
	tagDecimal     = 0               // + the number of decimals, up to maxDecimals
	tagBits        = maxDecimals + 1 // + the number of leading bytes that equal those of the last remembered number
	tagRepeated    = tagBits + 8     // + the distance back to the equal number in compactWriter.bits
	tagOneAndAHalf = 255             // 1.5 times the last remembered number: a frequent ratio of two scales (predictGroup in taskmodel)
)

const (
	maxRepeated = 200                     // the largest distance of a repetition; tagRepeated + maxRepeated must be below tagOneAndAHalf
	maxDecimals = 4                       // of a short decimal
	maxDecimal  = 1 << 31                 // bound of a short decimal without its point
	pageShift   = 12                      // amounts of memory are often a multiple of 4 KiB
	milliNanos  = int64(time.Millisecond) // durations are often whole milliseconds
)

// compactWriter encodes receipts. isLossy is set if the form cannot represent a field of the current receipt.
type compactWriter struct {
	b       []byte
	words   *vocabulary
	bits    []uint64 // the bits of the floats to which later numbers of the receipt may refer, oldest first
	isLossy bool

	// Parts of the newest earlier receipt that has them. Most receipts of a task have the same parts, so their texts
	// are reused.
	names     []string // of its features, sorted
	signature string   // the names and kinds of its features
	template  string   // its reason without numbers

	// Buffers.
	values []sizing.Value // parallel to names
	joined []byte         // the signature or the template
	digits []string       // the numbers of the reason
}

// encode appends the compact form of r; ok is false if the form cannot represent r.
func (w *compactWriter) encode(r *sizing.Receipt) (ok bool) {
	a := &r.Allocation
	w.bits, w.isLossy = w.bits[:0], a.Task != r.Ask.Try.TaskKey || a.Plan != nil
	w.b = append(w.b, compactFormat)
	w.uint(uint64(r.At.Nanosecond() % 1000))
	w.features(r.Ask.Features)
	w.amount(int64(r.Ask.Requested.Memory))
	w.number(float64(r.Ask.Requested.CPU))
	w.amount(int64(r.Ask.MaxMemory))
	if a.Risk.Promised != nil { // after the ask, so that a reader of the ask alone does not need the promise
		w.remember(math.Float64bits(*a.Risk.Promised))
	}
	w.amount(int64(a.Memory.Request - a.Memory.Limit))
	w.number(float64(a.CPU))
	if w.flag(a.Duration != nil) {
		w.scaled(int64(a.Duration.Median), milliNanos)
		w.scaled(int64(a.Duration.P95), milliNanos)
	}
	w.amounts(a.Ladder)
	if w.flag(a.Bins != nil) {
		w.amounts(a.Bins.Upper)
		w.numbers(a.Bins.Probabilities)
		w.int(int64(a.Bins.Chosen))
	}
	w.number(a.Risk.Target)
	w.text(string(a.Source))
	w.text(string(a.Mode))
	if w.flag(a.Shadow != nil) {
		w.amount(int64(a.Shadow.Request))
		w.amount(int64(a.Shadow.Limit))
	}
	w.model(a.Model)
	w.reason(a.Reason)
	w.numbers(a.Guard.Params)
	return !w.isLossy
}

func (w *compactWriter) uint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

func (w *compactWriter) int(v int64) { w.b = binary.AppendVarint(w.b, v) }

func (w *compactWriter) flag(v bool) bool {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
	return v
}

// scaled writes the number of units if v is a multiple of unit, and v otherwise. The lowest bit says which.
func (w *compactWriter) scaled(v, unit int64) {
	isWhole := v%unit == 0
	if isWhole {
		v /= unit
	}
	zigzag := uint64(v)<<1 ^ uint64(v>>63)
	if zigzag >= 1<<63 {
		w.isLossy = true
		return
	}
	zigzag <<= 1
	if isWhole {
		zigzag |= 1
	}
	w.uint(zigzag)
}

func (w *compactWriter) amount(v int64) { w.scaled(v, 1<<pageShift) }

// length writes the length of a list plus 1, or 0 for nil.
func (w *compactWriter) length(n int, isNil bool) {
	if isNil {
		w.uint(0)
		return
	}
	w.uint(uint64(n) + 1)
}

func (w *compactWriter) amounts(list []sizing.Bytes) {
	w.length(len(list), list == nil)
	for _, v := range list {
		w.amount(int64(v))
	}
}

// text writes a text as its position in the vocabulary plus 1, or as 0, its length and its bytes.
func (w *compactWriter) text(s string) {
	if position, ok := w.words.position(s); ok {
		w.uint(uint64(position) + 1)
		return
	}
	w.uint(0)
	w.uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

// features writes the names and kinds as one text, and then the values in the order of the names.
func (w *compactWriter) features(f sizing.Features) {
	if !w.flag(f != nil) {
		return
	}
	w.sortFeatures(f)
	w.joined = w.joined[:0]
	for i, name := range w.names {
		if strings.Contains(name, fieldEnd) {
			w.isLossy = true
		}
		w.joined = append(w.joined, name...)
		w.joined = append(utf8.AppendRune(w.joined, rune('0'+storedKind(w.values[i]))), fieldEnd...)
	}
	w.text(w.joinedText(&w.signature))
	for _, v := range w.values {
		w.value(v)
	}
}

// sortFeatures sets w.names and w.values to the names and values of `f`, sorted by name. It sorts only if w.names differs from
// the names of `f`.
func (w *compactWriter) sortFeatures(f sizing.Features) {
	if len(f) != len(w.names) || !w.readValues(f) {
		w.names = f.Names()
		w.readValues(f)
	}
}

func (w *compactWriter) readValues(f sizing.Features) bool {
	w.values = w.values[:0]
	for _, name := range w.names {
		v, ok := f[name]
		if !ok {
			return false
		}
		w.values = append(w.values, v)
	}
	return true
}

// joinedText returns w.joined as a string, and sets *previous to it. It allocates a string only if w.joined differs from
// *previous.
func (w *compactWriter) joinedText(previous *string) string {
	if string(w.joined) != *previous {
		*previous = string(w.joined)
	}
	return *previous
}

// fieldEnd follows the name and the kind of each feature. Valid names have no control characters.
const fieldEnd = "\n"

// storedKind returns the kind that compactWriter.features writes. A bool or a number that was sent as text is stored as
// this text, like a category.
func storedKind(v sizing.Value) sizing.ValueKind {
	if v.Text != "" && (v.Kind == sizing.Number || v.Kind == sizing.Bool) {
		return sizing.Category
	}
	return v.Kind
}

func (w *compactWriter) value(v sizing.Value) {
	switch storedKind(v) {
	case sizing.Number, sizing.Bool:
		w.number(v.Num)
	case sizing.Category:
		w.text(v.Text)
		read := sizing.TextValue(v.Text)
		w.isLossy = w.isLossy || read != v || math.Float64bits(read.Num) != math.Float64bits(v.Num)
	case sizing.Date:
		if sizing.TextValue(v.Text) != v {
			w.isLossy = true
			return
		}
		if days := int64(v.Num); w.flag(len(v.Text) == len(time.DateOnly) && dayText(days) == v.Text) {
			w.int(days)
		} else {
			w.text(v.Text)
		}
	case sizing.Missing:
		w.isLossy = w.isLossy || v != sizing.Value{}
	default:
		w.isLossy = true
	}
}

func dayText(days int64) string { return time.Unix(days*86400, 0).UTC().Format(time.DateOnly) }

func (w *compactWriter) model(m *sizing.ModelRef) {
	if !w.flag(m != nil) {
		return
	}
	w.int(int64(m.Version)) // also has a column, but NULL in it means no model or version 0
	w.text(m.Family)
	w.int(int64(m.Observations))
	_, offset := m.TrainedAt.Zone()
	w.isLossy = w.isLossy || offset != 0
	w.int(m.TrainedAt.Unix())
	w.scaled(int64(m.TrainedAt.Nanosecond()), int64(time.Microsecond))
}

// reason writes the text with placeholders for its numbers, and then the numbers. Most reasons of
// a task differ only in their numbers.
func (w *compactWriter) reason(s string) {
	if strings.Contains(s, numberPlaceholder) {
		w.isLossy = true
		return
	}
	w.joined, w.digits = w.joined[:0], w.digits[:0]
	for i := 0; i < len(s); {
		if !isDigit(s[i]) {
			w.joined = append(w.joined, s[i])
			i++
			continue
		}
		end := i + numberLen(s[i:])
		w.joined = append(w.joined, numberPlaceholder...)
		w.digits = append(w.digits, s[i:end])
		i = end
	}
	w.text(w.joinedText(&w.template))
	for _, n := range w.digits {
		w.writeDigits(n)
	}
}

const (
	numberPlaceholder = "\x01" // replaces a number in a reason
	maxDigits         = 15     // of one number; more digits form the next number
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// numberLen returns the length of the number at the start of s: digits, perhaps with a point
// between them.
func numberLen(s string) int {
	end := digitsLen(s, maxDigits)
	if end < maxDigits && end+1 < len(s) && s[end] == '.' {
		if decimals := digitsLen(s[end+1:], maxDigits-end); decimals > 0 {
			end += 1 + decimals
		}
	}
	return end
}

func digitsLen(s string, limit int) (n int) {
	for n < min(len(s), limit) && isDigit(s[n]) {
		n++
	}
	return n
}

// writeDigits writes a number of a reason. The lowest bit says whether the number has a point or a leading
// zero. If it has, a byte with the count of its digits and of its decimals follows.
func (w *compactWriter) writeDigits(s string) {
	whole, decimals, _ := strings.Cut(s, ".")
	var v uint64
	for _, c := range []byte(whole + decimals) {
		v = 10*v + uint64(c-'0')
	}
	if decimals == "" && s[0] != '0' {
		w.uint(v << 1)
		return
	}
	w.uint(v<<1 | 1)
	w.b = append(w.b, byte(len(whole)+len(decimals))|byte(len(decimals))<<4)
}
