package api

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Strict returns the options by which request bodies are read: by the reference
// implementation of encoding/json/v2, which refuses what v1 lets pass (names twice or
// unknown or in the wrong case, broken UTF-8, anything behind the end) and says where it
// stood.
func Strict() json.Options {
	return json.JoinOptions(
		json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(wholeInt64), json.UnmarshalFromFunc(wholeInt), json.UnmarshalFromFunc(knownNumber), json.UnmarshalFromFunc(somePolicy))),
	)
}

// wholeInt64 reads whole numbers however they are written: many tools write
// 7340032000 as 7340032000.0 or 7.340032e9.
func wholeInt64(dec *jsontext.Decoder, v *int64) error {
	switch dec.PeekKind() {
	case '0':
	case 'n':
		return errors.New("must be a whole number") // null in a list would pass for 0
	default:
		return errors.ErrUnsupported // v2 has the words for the error
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	text := token.String()
	if *v, err = strconv.ParseInt(text, 10, 64); err == nil {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<62 {
		return errors.New("must be a whole number of at most 18 digits")
	}
	*v = int64(f)
	return nil
}

func wholeInt(dec *jsontext.Decoder, v *int) error {
	var wide int64
	err := wholeInt64(dec, &wide)
	*v = int(wide)
	return err
}

// knownNumber refuses null where a number has to be, which would pass for 0.
func knownNumber(dec *jsontext.Decoder, _ *float64) error {
	if dec.PeekKind() == 'n' {
		return errors.New("must be a number")
	}
	return errors.ErrUnsupported // read as any other
}

// somePolicy refuses null for the one body that requires no field: it would pass for
// {}, and put every decision back to its default.
func somePolicy(dec *jsontext.Decoder, _ *PolicyRequest) error {
	if dec.PeekKind() == 'n' {
		return errors.New("must be an object: send {} for the defaults")
	}
	return errors.ErrUnsupported // read as any other
}

// Meaning says which field of a body is wrong, and how, where its JSON is well formed.
// field is "" for the body as a whole.
func Meaning(err *json.SemanticError) (field, detail string) {
	detail = "must be " + wanted(err.GoType)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		detail = "is not a field of this request: see /docs"
	case err.JSONKind == '0' && errors.Is(err, strconv.ErrRange):
		detail = "is too large a number"
	case err.JSONKind == 0 && err.Err != nil:
		detail = err.Err.Error() // our own words
	}
	return FieldName(err.JSONPointer), detail
}

// wanted says in words what a Go type takes.
func wanted(t reflect.Type) string {
	if t == nil {
		return "of another form: see /docs"
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
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// FieldName writes a JSON pointer as fields are named here: requested.memory.
// Names come from the caller, and may be long, or nested by the thousand.
func FieldName(p jsontext.Pointer) string {
	name := strings.Join(slices.Collect(p.Tokens()), ".")
	if runes := []rune(name); len(runes) > maxFieldName {
		return string(runes[:maxFieldName]) + "…"
	}
	return name
}

const maxFieldName = 120
