package api

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Strict returns the options for reading request bodies with github.com/go-json-experiment/json. Unlike
// a default Decoder of encoding/json, a read with these options rejects names that are duplicate, unknown or in
// the wrong case, invalid UTF-8 and trailing data, and reports where the error is.
func Strict() json.Options {
	return json.JoinOptions(
		json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readInt64), json.UnmarshalFromFunc(readInt), json.UnmarshalFromFunc(readState), json.UnmarshalFromFunc(rejectNullNumber), json.UnmarshalFromFunc(rejectNullAmounts))),
	)
}

// readInt64 reads integers in any notation: many tools write 7340032000 as 7340032000.0 or
// 7.340032e9.
func readInt64(dec *jsontext.Decoder, v *int64) error {
	switch dec.PeekKind() {
	case '0':
	case 'n':
		return errors.New("must be an integer") // the library would read null as 0
	default:
		return errors.ErrUnsupported // the library then reports that the type is wrong
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	var ok bool
	if *v, ok = parseInteger(token.String()); !ok {
		return errors.New("must be an integer of at most 18 digits") // some integers of 19 digits fit an int64, too
	}
	return nil
}

// parseInteger parses a JSON number exactly. `ok` is true if the number is an integer that fits int64. The function does
// not use big.Rat, which would allocate a gigabyte for 1e1000000000.
func parseInteger(text string) (v int64, ok bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimRight(whole+fraction, "0")
	if digits == "" || digits == "-" {
		return 0, true
	}
	power, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil {
		return 0, false
	}
	zeros := power + len(whole) - len(digits) // to append to digits: 3 + 1 − 2 for 1.5e3
	if zeros < 0 || zeros > 18 {
		return 0, false
	}
	v, err = strconv.ParseInt(digits+strings.Repeat("0", zeros), 10, 64)
	return v, err == nil
}

func readInt(dec *jsontext.Decoder, v *int) error {
	var wide int64
	err := readInt64(dec, &wide)
	*v = int(wide)
	return err
}

func readState(dec *jsontext.Decoder, v *CampaignState) error {
	var state int
	err := readInt(dec, &state)
	*v = CampaignState(state)
	return err
}

// rejectNullNumber rejects null for a required number, which the library would read as 0.
func rejectNullNumber(dec *jsontext.Decoder, _ *float64) error {
	if dec.PeekKind() == 'n' {
		return errors.New("must be a number")
	}
	return errors.ErrUnsupported // the library reads the value
}

// rejectNullAmounts rejects null for a list of amounts. A list that may be null has the type *[]int64 instead.
func rejectNullAmounts(dec *jsontext.Decoder, _ *[]int64) error {
	if dec.PeekKind() == 'n' {
		return errors.New("must be an array")
	}
	return errors.ErrUnsupported // the library reads the value
}

// DescribeError returns the invalid field of a well-formed body ("" for the body as a whole), and the error of the
// field.
func DescribeError(err *json.SemanticError) (field, detail string) {
	detail = "must be " + describeType(err.GoType)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		detail = "is not a field of this request: see /docs"
	case err.JSONKind == '0' && errors.Is(err, strconv.ErrRange):
		detail = "is too large a number"
	case err.JSONKind == 0 && err.Err != nil:
		detail = err.Err.Error() // the error of a function in Strict
	}
	return FieldName(err.JSONPointer), detail
}

func describeType(t reflect.Type) string {
	if t == nil {
		return "a valid value; see /docs"
	}
	if t == reflect.TypeFor[time.Time]() {
		return "an RFC 3339 time with a zone, such as 2020-01-03T02:15:00Z"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// FieldName converts a JSON pointer to a field name such as requested.memory or settings[2].floor. It limits the
// length of the name, because the client chooses it.
func FieldName(p jsontext.Pointer) string {
	tokens, name := slices.Collect(p.Tokens()), ""
	for i, token := range tokens {
		switch _, err := strconv.ParseUint(token, 10, 64); {
		case i == 0:
			name = token
		case err == nil && !slices.Contains(freeObjects, tokens[i-1]):
			name += "[" + token + "]"
		default:
			name += "." + token
		}
	}
	if runes := []rune(name); len(runes) > maxFieldName {
		return string(runes[:maxFieldName]) + "…"
	}
	return name
}

const maxFieldName = 120 // characters

// freeObjects are the fields whose value is an object with names that the client chooses. A number after such a field
// in a JSON pointer is therefore a name, and not the index of an array.
var freeObjects = []string{"features", "metadata", "set", "conf", "parameters", "report"}
