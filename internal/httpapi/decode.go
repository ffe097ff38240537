package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

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
	case *api.ExperimentRequest:
		return s.decodeExperiment(r, body)
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
	field := api.FieldName(err.JSONPointer)
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
	field, detail := api.Meaning(err)
	if field == "" {
		return &failure{class: malformed, detail: "the body " + detail}
	}
	return failed([]sizing.FieldError{{Field: field, Detail: detail}})
}
