// Package jsonwriter appends JSON values to a buffer in the exact format of encoding/json. It is for
// values that the server writes thousands of times per second. It leaves unusual texts and numbers to
// encoding/json, which uses reflection. The caller writes keys, braces and commas with Raw.
package jsonwriter

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Writer appends JSON to B.
type Writer struct {
	B        []byte
	Infinite bool // a number was NaN or infinite, so B is not valid JSON
}

// Raw appends text that is already JSON, or a part of it.
func (w *Writer) Raw(s string) { w.B = append(w.B, s...) }

// Int appends an integer.
func (w *Writer) Int(v int64) { w.B = strconv.AppendInt(w.B, v, 10) }

// Time appends a time in RFC 3339 as a string, for years 0 to 9999.
func (w *Writer) Time(t time.Time) {
	w.B = append(t.AppendFormat(append(w.B, '"'), time.RFC3339Nano), '"')
}

// Text appends a string. It leaves strings with escapes or characters outside ASCII to encoding/json.
func (w *Writer) Text(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			escaped, err := json.Marshal(s)
			if err != nil {
				panic(err) // impossible: every string can be encoded
			}
			w.B = append(w.B, escaped...)
			return
		}
	}
	w.B = append(append(append(w.B, '"'), s...), '"')
}

// Number appends v in the format of ECMAScript, as encoding/json does. It sets Infinite for NaN and
// infinite numbers.
func (w *Writer) Number(v float64) {
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		text, err := json.Marshal(v)
		w.B, w.Infinite = append(w.B, text...), w.Infinite || err != nil
		return
	}
	w.Infinite = w.Infinite || math.IsNaN(v)
	w.B = strconv.AppendFloat(w.B, v, 'f', -1, 64)
}

// Numbers appends a list of numbers; null if it is nil.
func (w *Writer) Numbers(list []float64) { appendList(w, list, w.Number) }

// Ints appends a list of integers; null if it is nil.
func Ints[T ~int64](w *Writer, list []T) { appendList(w, list, func(v T) { w.Int(int64(v)) }) }

func appendList[T any](w *Writer, list []T, write func(T)) {
	if list == nil {
		w.Raw("null")
		return
	}
	w.Raw("[")
	for i, v := range list {
		if i > 0 {
			w.Raw(",")
		}
		write(v)
	}
	w.Raw("]")
}
