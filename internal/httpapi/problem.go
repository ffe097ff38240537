package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/httpapi/admission"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
)

// class is a class of errors in the API. Its name is the last part of the problem type, and never
// changes.
type class struct {
	status int
	name   string
	title  string
}

var (
	malformed        = class{http.StatusBadRequest, "malformed", "Malformed request"}
	unauthenticated  = class{http.StatusUnauthorized, "unauthenticated", "Unauthenticated"}
	forbidden        = class{http.StatusForbidden, "forbidden", "Insufficient permissions"}
	refused          = class{http.StatusForbidden, "refused", "Operation not allowed"}
	notFound         = class{http.StatusNotFound, "not-found", "Not found"}
	methodNotAllowed = class{http.StatusMethodNotAllowed, "method-not-allowed", "Method not allowed"}
	bodyTimeout      = class{http.StatusRequestTimeout, "timeout", "Request body timeout"}
	conflict         = class{http.StatusConflict, "conflict", "Conflict with stored data"}
	tooLarge         = class{http.StatusRequestEntityTooLarge, "too-large", "Request body too large"}
	mediaType        = class{http.StatusUnsupportedMediaType, "media-type", "Unsupported media type"}
	invalid          = class{http.StatusUnprocessableEntity, "invalid", "Validation failed"}
	tooMany          = class{http.StatusTooManyRequests, "too-many", "Too many requests"}
	internal         = class{http.StatusInternalServerError, "internal", "Internal error"}
	unavailable      = class{http.StatusServiceUnavailable, "unavailable", "Service unavailable"}
)

// classes maps the error kinds of package sizing to classes. A kind without an entry is
// internal: the log contains the error, and the client gets a generic message.
var classes = map[sizing.Kind]class{
	sizing.Invalid:     invalid,
	sizing.NotFound:    notFound,
	sizing.Conflict:    conflict,
	sizing.Refused:     refused,
	sizing.Unavailable: unavailable,
	sizing.Exhausted:   tooMany,
}

// retryAfter is the Retry-After header of a 429 or 503, in whole seconds. A longer pause would delay launches after a short
// overload.
const retryAfter = "1"

// failure is an error in the form that the client receives.
type failure struct {
	class
	detail string
	fields []sizing.FieldError
}

// Error implements error.
func (f *failure) Error() string { return f.detail }

// internalError hides the cause of an error that no client can fix.
var internalError = &failure{class: internal, detail: "the server failed to process the request; report it with its request_id"}

func invalidFields(fields []sizing.FieldError) *failure {
	details := make([]string, len(fields))
	for i, f := range fields {
		details[i] = f.Field + " " + f.Detail
	}
	return &failure{class: invalid, detail: strings.Join(details, "; "), fields: fields}
}

// failureOf converts an error to the form that the client receives. An error without a known kind becomes internalError.
func failureOf(err error) *failure {
	var f *failure
	var denied *auth.ForbiddenError
	var domain *sizing.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &denied):
		return &failure{class: forbidden, detail: denied.Detail}
	case errors.Is(err, admission.ErrOverloaded):
		return &failure{class: unavailable, detail: admission.ErrOverloaded.Error()}
	case errors.As(err, &large):
		return &failure{class: tooLarge, detail: fmt.Sprintf("the body exceeds the limit of %d bytes; send less, or several batches", large.Limit)}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &failure{class: unavailable, detail: "the request timed out; send it again"}
	case errors.As(err, &domain):
		return domainFailure(domain)
	}
	return paramFailure(err)
}

func domainFailure(err *sizing.Error) *failure {
	f := &failure{class: classes[err.Kind], detail: err.Detail, fields: err.Fields}
	switch {
	case f.status == 0:
		return internalError
	case err.Kind == sizing.Unavailable && err.Cause != nil: // a database error, whose advice is for operators
		f.detail = "the database is unreachable or read-only; send the request again, it is stored only once"
	case len(err.Fields) > 0:
		f.detail = invalidFields(err.Fields).detail
	}
	return f
}

func paramFailure(err error) *failure {
	var missing *api.RequiredParamError
	var format *api.InvalidParamFormatError
	switch {
	case errors.As(err, &missing):
		return invalidFields([]sizing.FieldError{{Field: missing.ParamName, Detail: "is required"}})
	case errors.As(err, &format):
		return invalidFields([]sizing.FieldError{{Field: format.ParamName, Detail: formatDetail(format.Err)}})
	}
	return internalError
}

// formatDetail says what is wrong with the format of a parameter, in the same words as for a field of a body.
func formatDetail(err error) string {
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return "has the wrong format; see /docs"
	}
	switch {
	case number.Func == "ParseBool":
		return "must be true or false"
	case number.Func == "ParseFloat":
		return "must be a number"
	case errors.Is(err, strconv.ErrRange):
		return "must be an integer of at most 18 digits"
	}
	return "must be an integer"
}

// problem converts f to the body of an answer. For an item of a batch, `prefix` precedes the
// field names, for example "tasks[3]."; otherwise it is empty.
func (f *failure) problem(prefix string) *api.Problem {
	p := &api.Problem{Type: "urn:loadaware:problem:" + f.name, Title: f.title, Status: f.status, Detail: f.detail}
	fields := make([]sizing.FieldError, len(f.fields))
	for i, field := range f.fields {
		// A field without a name is the item itself.
		fields[i] = sizing.FieldError{Field: strings.TrimSuffix(prefix+field.Field, "."), Detail: field.Detail}
		p.Errors = append(p.Errors, api.FieldProblem{Field: fields[i].Field, Detail: field.Detail})
	}
	if prefix != "" && len(fields) > 0 {
		p.Detail = invalidFields(fields).detail
	}
	return p
}

// fail answers with an error, or only logs the error if the answer has begun. The router and the generated server
// call it for every error.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := failureOf(err)
	info := infoOf(r.Context())
	if recorder, ok := w.(middleware.WrapResponseWriter); ok && recorder.Status() != 0 {
		s.log.DebugContext(r.Context(), "sending the answer failed", "request_id", info.id, "err", err)
		return
	}
	if f.status == http.StatusInternalServerError {
		s.log.ErrorContext(r.Context(), "request failed", "request_id", info.id, "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", retryAfter)
	}
	p := f.problem("")
	p.RequestID = info.id
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(f.status)
	_, _ = w.Write(body) // a client that disconnected needs no answer
}

func pathError(r *http.Request) error {
	return &failure{class: notFound, detail: fmt.Sprintf("the path %.200q does not exist; see /docs, and percent-encode ids in paths", r.URL.Path)}
}

func methodError(w http.ResponseWriter, r *http.Request, mux chi.Routes) error {
	path := r.URL.EscapedPath()
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		if mux.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	return &failure{class: methodNotAllowed, detail: fmt.Sprintf("this path does not support %.20q; use %s", r.Method, list)}
}
