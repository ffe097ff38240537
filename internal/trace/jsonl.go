package trace

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// jsonRows reads one body of POST /observe a line.
type jsonRows struct {
	in     *lines
	strict json.Options
}

func newJSONRows(in *lines) *jsonRows { return &jsonRows{in: in, strict: api.Strict()} }

func (j *jsonRows) read() (Row, error) {
	next, err := j.in.nextFilled()
	if err != nil {
		return Row{}, err
	}
	o, bad := j.parse(next.text)
	if len(bad) > 0 {
		return Row{}, &RowError{Line: next.number, Fields: bad}
	}
	return Row{Line: next.number, Observation: o}, nil
}

// parse reads a line as the server reads the body of POST /observe: the same type and the
// same strictness. TestALineIsReadAsTheServerReadsIt compares the two.
func (j *jsonRows) parse(text string) (sizing.Observation, []sizing.FieldError) {
	var body api.Observation
	if err := json.Unmarshal([]byte(text), &body, j.strict); err != nil {
		return sizing.Observation{}, []sizing.FieldError{jsonFieldError(err)}
	}
	return newReport(&body).observation()
}

// jsonFieldError says what is wrong with a line that cannot be decoded.
func jsonFieldError(err error) sizing.FieldError {
	var meaning *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &meaning):
		field, detail := api.Meaning(meaning)
		return sizing.FieldError{Field: field, Detail: strings.Replace(detail, "of this request: see /docs", "of POST /observe", 1)}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return sizing.FieldError{Detail: "the JSON object is not closed: write one object a line"}
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return sizing.FieldError{Field: api.FieldName(syntax.JSONPointer), Detail: "is given twice"}
	case strings.Contains(err.Error(), "after top-level value"):
		return sizing.FieldError{Detail: "has more text behind the JSON object: write one object a line"}
	}
	return sizing.FieldError{Detail: "is not JSON: " + strings.TrimPrefix(err.Error(), "jsontext: ")}
}
