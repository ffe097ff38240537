package httpapi

import (
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Bodies are read by the reference implementation of encoding/json/v2, which
// refuses what v1 lets pass (names twice or unknown or in the wrong case, broken
// UTF-8, anything behind the end) and says where it stood.
func strict() json.Options {
	return json.JoinOptions(
		json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(wholeInt64), json.UnmarshalFromFunc(wholeInt), json.UnmarshalFromFunc(knownNumber), json.UnmarshalFromFunc(somePolicy))),
	)
}

// decode reads the body of r into a pointer to one of the api's request types.
func (s *server) decode(r *http.Request, body any) error {
	if err := checkMedia(r.Header); err != nil {
		return err
	}
	switch body := body.(type) {
	case *api.PredictBatchRequest:
		return s.decodeBatch(r, "tasks", &body.Tasks, body)
	case *api.ObserveBatchRequest:
		return s.decodeBatch(r, "observations", &body.Observations, body)
	}
	if read, ok := r.Body.(readBody); ok {
		return readFailure(json.Unmarshal(read.raw, body, s.strict))
	}
	from, done := decodeQuickly(r, body)
	if done {
		return nil
	}
	return readFailure(json.UnmarshalRead(from, body, s.strict))
}

// checkMedia wants JSON in UTF-8, as it is.
func checkMedia(h http.Header) error {
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	switch {
	case err != nil || media != "application/json":
		return &failure{class: mediaType, detail: fmt.Sprintf("Content-Type is %.100q: send application/json (curl: -H 'Content-Type: application/json')", h.Get("Content-Type"))}
	case charset != "" && charset != "utf-8":
		return &failure{class: mediaType, detail: fmt.Sprintf("charset %.100q is not read: send UTF-8", charset)}
	case h.Get("Content-Encoding") != "" && h.Get("Content-Encoding") != "identity":
		return &failure{class: mediaType, detail: fmt.Sprintf("Content-Encoding %.100q is not read: send the body as it is", h.Get("Content-Encoding"))}
	}
	return nil
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
func somePolicy(dec *jsontext.Decoder, _ *api.PolicyRequest) error {
	if dec.PeekKind() == 'n' {
		return errors.New("must be an object: send {} for the defaults")
	}
	return errors.ErrUnsupported // read as any other
}

// readFailure tells what was wrong with a body: 400 where it is not JSON, else
// 422 with the field.
func readFailure(err error) error {
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	var large *http.MaxBytesError
	var ours *failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &large):
		return large
	case errors.As(err, &meaning):
		return meaningFailure(meaning)
	case errors.As(err, &syntax):
		return syntaxFailure(syntax)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{class: malformed, detail: "the body is empty or breaks off: send a JSON object"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &failure{class: slowBody, detail: "the body did not arrive in time: send it again, in one go"}
	}
	// The connection's end; whoever still listens is told whose it was.
	return &failure{class: malformed, detail: "the body breaks off: send it again"}
}

func syntaxFailure(err *jsontext.SyntacticError) error {
	field := fieldName(err.JSONPointer)
	switch text := err.Err.Error(); {
	case errors.Is(err, jsontext.ErrDuplicateName):
		f := failed([]sizing.FieldError{{Field: field, Detail: "is given twice"}})
		f.class = malformed
		return f
	case strings.Contains(text, "'N'"), strings.Contains(text, "'I'"):
		return &failure{class: malformed, detail: "the body is not JSON near " + field + ": there is no NaN or Infinity in JSON; send null for what is not known"}
	default:
		where := fmt.Sprintf("at byte %d", err.ByteOffset)
		if field != "" {
			where += " near " + field
		}
		return &failure{class: malformed, detail: fmt.Sprintf("the body is not JSON in UTF-8 %s: %s", where, text)}
	}
}

func meaningFailure(err *json.SemanticError) error {
	field := fieldName(err.JSONPointer)
	detail := "must be " + wanted(err.GoType)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		detail = "is not a field of this request: see /docs"
	case err.JSONKind == '0' && errors.Is(err, strconv.ErrRange):
		detail = "is too large a number"
	case err.JSONKind == 0 && err.Err != nil:
		detail = err.Err.Error() // our own words
	}
	if field == "" {
		return &failure{class: malformed, detail: "the body " + detail}
	}
	return failed([]sizing.FieldError{{Field: field, Detail: detail}})
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

// fieldName writes a JSON pointer as fields are named here: requested.memory.
// Names come from the caller, and may be long, or nested by the thousand.
func fieldName(p jsontext.Pointer) string {
	name := strings.Join(slices.Collect(p.Tokens()), ".")
	if runes := []rune(name); len(runes) > maxFieldName {
		return string(runes[:maxFieldName]) + "…"
	}
	return name
}

const maxFieldName = 120
