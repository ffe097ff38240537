package httpapi

import (
	"context"
	stdjson "encoding/json"
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
	"github.com/loadaware/loadaware/internal/httpapi/admission"
	"github.com/loadaware/loadaware/internal/httpapi/codec"
	"github.com/loadaware/loadaware/internal/sizing"
)

// maxCommonBody is the largest body of a single request, in bytes, that package codec tries to read. Larger bodies, such
// as reports with a usage series, rarely have the common form that package codec reads.
const maxCommonBody = 16 << 10

// decode reads the body of r into `body`, a pointer to a request type of package api.
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
	raw, err := wholeBody(r)
	if err != nil || readCommon(raw, body) {
		return readFailure(err)
	}
	if err := json.Unmarshal(raw, body, s.strict); err != nil {
		return readFailure(err)
	}
	// The decoder accepts null as an object without fields.
	if jsontext.Value(raw).Kind() == 'n' {
		return &failure{class: malformed, detail: "the body is null; send a JSON object"}
	}
	switch body.(type) {
	case *api.ExperimentRequest:
		return rejectNullFields(raw)
	case *api.CampaignResetRequest:
		return requireFields(raw, "to")
	case *api.CampaignResultRequest:
		return requireFields(raw, "from", "to")
	}
	return nil
}

// requireFields returns an error if an object lacks one of the named fields. The zero values of
// these fields are valid, so the decoded body does not show whether a field is missing.
func requireFields(raw []byte, names ...string) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return readFailure(err)
	}
	var f fieldReader
	for _, name := range names {
		if members[name] == nil {
			f.add(name, "is required")
		}
	}
	if len(f.errors) > 0 {
		return invalidFields(f.errors)
	}
	return nil
}

// readCommon tries package codec. If it returns false, the strict decoder must read the body.
func readCommon(raw []byte, body any) bool {
	if len(raw) > maxCommonBody {
		return false
	}
	switch body := body.(type) {
	case *api.PredictRequest:
		return codec.ReadPredictRequest(raw, body)
	case *api.Observation:
		return codec.ReadObservation(raw, body)
	}
	return false
}

// bufferBody reads a large or chunked body into a buffer, which the caller releases after the answer. It
// returns nil for a small body, and for a route without a body.
func (s *server) bufferBody(ctx context.Context, r *http.Request, rule *route) (*admission.Buffer, error) {
	if rule.maxBody == 0 || admission.IsSmall(r) {
		return nil, nil
	}
	if err := checkMedia(r.Header); err != nil && r.ContentLength <= rule.maxBody {
		return nil, err
	}
	// The request waits for a buffer for at most half of the timeout, so that time remains for reading and answering.
	buffer, err := s.buffers.Read(ctx, r, rule.maxBody, rule.timeout/2)
	return buffer, readFailure(err)
}

// wholeBody returns all bytes of the body of r, which is small or already in a buffer.
func wholeBody(r *http.Request) ([]byte, error) {
	if raw, ok := admission.BufferedBytes(r); ok {
		return raw, nil
	}
	raw := make([]byte, max(0, r.ContentLength))
	_, err := io.ReadFull(r.Body, raw)
	return raw, err
}

func checkMedia(h http.Header) error {
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	switch {
	case err != nil || media != "application/json":
		return &failure{class: mediaType, detail: fmt.Sprintf("Content-Type %.100q is not supported; send application/json (curl: -H 'Content-Type: application/json')", h.Get("Content-Type"))}
	case charset != "" && charset != "utf-8":
		return &failure{class: mediaType, detail: fmt.Sprintf("charset %.100q is not supported; send UTF-8", charset)}
	case h.Get("Content-Encoding") != "" && h.Get("Content-Encoding") != "identity":
		return &failure{class: mediaType, detail: fmt.Sprintf("Content-Encoding %.100q is not supported; send the body uncompressed", h.Get("Content-Encoding"))}
	}
	return nil
}

// maxBatch is the largest number of items in a batch. A larger batch would occupy its slot of the gate for longer.
const maxBatch = 10_000

func checkBatch(field string, n int) error {
	if n == 0 || n > maxBatch {
		return invalidFields([]sizing.FieldError{{Field: field, Detail: fmt.Sprintf("must contain 1 to %d items", maxBatch)}})
	}
	return nil
}

// decodeBatch reads a batch whose items are in the array `field`. The items share the memory of
// the body. Decoding stops after maxBatch items: the slice headers of a body like [0,0,…] would
// need twelve times the size of the body.
func (s *server) decodeBatch(r *http.Request, field string, items *[]stdjson.RawMessage, body any) error {
	raw, err := wholeBody(r)
	if err != nil {
		return readFailure(err)
	}
	array := json.UnmarshalFromFunc(func(dec *jsontext.Decoder, items *[]stdjson.RawMessage) error {
		if dec.PeekKind() != '[' {
			return errors.ErrUnsupported // the library then reports that the type is wrong
		}
		_, err := dec.ReadToken()
		for err == nil && dec.PeekKind() != ']' {
			if len(*items) == maxBatch {
				return checkBatch(field, maxBatch+1)
			}
			var item jsontext.Value
			item, err = dec.ReadValue()
			end := dec.InputOffset()
			*items = append(*items, raw[end-int64(len(item)):end:end])
		}
		if err == nil {
			_, err = dec.ReadToken()
		}
		return err
	})
	err = json.Unmarshal(raw, body, s.strict, json.WithUnmarshalers(array))
	if semantic := (*json.SemanticError)(nil); errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName) {
		name, _ := api.DescribeError(semantic)
		return invalidFields([]sizing.FieldError{{Field: name, Detail: "is not a field of this request; send the items in the only field, " + field}})
	}
	return readFailure(err)
}

// decodeItem reads an item of a batch with the strict decoder; decodeBatch checked its syntax.
func (s *server) decodeItem(raw []byte, body any) error {
	return readFailure(json.Unmarshal(raw, body, s.strict))
}

// itemProblem converts the error of one item of a batch to a problem; `prefix` precedes the field names of the item.
func (s *server) itemProblem(ctx context.Context, err error, prefix string) *api.Problem {
	f := failureOf(err)
	if f.status == http.StatusInternalServerError {
		s.log.ErrorContext(ctx, "batch item failed", "request_id", infoOf(ctx).id, "item", prefix, "err", err)
	}
	if f.class == malformed && len(f.fields) == 0 {
		// The batch is well-formed, so the item itself has the wrong type.
		f = invalidFields([]sizing.FieldError{{Detail: f.detail}})
	}
	return f.problem(prefix)
}

// readFailure converts an error of reading a body to one that failureOf maps to a client error or 503: for example 400
// if the body is not JSON, and 422 with the field if a field of the JSON is invalid.
func readFailure(err error) error {
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	var large *http.MaxBytesError
	var converted *failure
	switch {
	case err == nil:
		return nil
	case errors.Is(err, admission.ErrOverloaded):
		return err
	case errors.As(err, &converted):
		return converted
	case errors.As(err, &large):
		return large
	case errors.As(err, &semantic):
		return semanticFailure(semantic)
	case errors.As(err, &syntax):
		return syntaxFailure(syntax)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{class: malformed, detail: "the body is empty or incomplete; send a JSON object"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &failure{class: bodyTimeout, detail: "the body did not arrive within the timeout; send it again without pauses"}
	}
	// The connection failed, so the client caused the error, not the server.
	return &failure{class: malformed, detail: "the body is incomplete; send it again"}
}

func syntaxFailure(err *jsontext.SyntacticError) error {
	field := api.FieldName(err.JSONPointer)
	switch text := err.Err.Error(); {
	case errors.Is(err, jsontext.ErrDuplicateName):
		f := invalidFields([]sizing.FieldError{{Field: field, Detail: "occurs twice"}})
		f.class = malformed
		return f
	case strings.Contains(text, "'N'"), strings.Contains(text, "'I'"):
		return &failure{class: malformed, detail: "the body is not JSON near " + field + ": JSON has no NaN or Infinity; send null for an unknown value"}
	default:
		where := fmt.Sprintf("at byte %d", err.ByteOffset)
		if field != "" {
			where += " near " + field
		}
		return &failure{class: malformed, detail: fmt.Sprintf("the body is not JSON in UTF-8 %s: %s", where, text)}
	}
}

func semanticFailure(err *json.SemanticError) error {
	field, detail := api.DescribeError(err)
	if field == "" {
		return &failure{class: malformed, detail: "the body " + detail}
	}
	return invalidFields([]sizing.FieldError{{Field: field, Detail: detail}})
}
