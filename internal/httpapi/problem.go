package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// class is a class of errors as a caller sees it: status, stable name, title.
type class struct {
	status int
	name   string
	title  string
}

var (
	malformed       = class{http.StatusBadRequest, "malformed", "The request cannot be read"}
	unauthenticated = class{http.StatusUnauthorized, "unauthenticated", "Who is asking is not known"}
	forbidden       = class{http.StatusForbidden, "forbidden", "The token does not reach so far"}
	refused         = class{http.StatusForbidden, "refused", "Not allowed now"}
	notFound        = class{http.StatusNotFound, "not-found", "Nothing is known by that name"}
	methodUnknown   = class{http.StatusMethodNotAllowed, "method-not-allowed", "The path does not know this method"}
	slowBody        = class{http.StatusRequestTimeout, "timeout", "The body came too slowly"}
	conflict        = class{http.StatusConflict, "conflict", "Contradicts what is stored"}
	tooLarge        = class{http.StatusRequestEntityTooLarge, "too-large", "The body is too large"}
	mediaType       = class{http.StatusUnsupportedMediaType, "media-type", "The body is not JSON"}
	invalid         = class{http.StatusUnprocessableEntity, "invalid", "A field is not valid"}
	internal        = class{http.StatusInternalServerError, "internal", "An error of ours"}
	unavailable     = class{http.StatusServiceUnavailable, "unavailable", "Not available now"}
)

// classes is the one table from kinds of errors to what a caller sees. A kind
// that is not listed is internal: logged whole, told vaguely.
var classes = map[sizing.Kind]class{
	sizing.Invalid:     invalid,
	sizing.NotFound:    notFound,
	sizing.Conflict:    conflict,
	sizing.Refused:     refused,
	sizing.Unavailable: unavailable,
}

// retryAfter is how many seconds to wait after an unavailable.
const retryAfter = "1"

// failure is an error as it will be told.
type failure struct {
	class
	detail string
	fields []sizing.FieldError
}

func (f *failure) Error() string { return f.detail }

// failed makes an invalid failure of bad fields.
func failed(fields []sizing.FieldError) *failure {
	details := make([]string, len(fields))
	for i, f := range fields {
		details[i] = f.Field + " " + f.Detail
	}
	return &failure{class: invalid, detail: strings.Join(details, "; "), fields: fields}
}

// failureOf tells any error: ours as they are, those of the service by their
// kind, all else vaguely.
func failureOf(err error) *failure {
	var ours *failure
	var told *sizing.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &large):
		return &failure{class: tooLarge, detail: fmt.Sprintf("at most %d bytes are taken: send less, or several batches", large.Limit)}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &failure{class: unavailable, detail: "it took too long: send it again"}
	case !errors.As(err, &told):
		return paramFailure(err)
	}
	f := &failure{class: classes[told.Kind], detail: told.Detail, fields: told.Fields}
	switch {
	case f.status == 0:
		return vague
	case told.Kind == sizing.Unavailable:
		f.detail = "the database cannot be reached or takes no writes: send it again, nothing is stored twice"
	case len(told.Fields) > 0:
		f.detail = failed(told.Fields).detail
	}
	return f
}

var vague = &failure{class: internal, detail: "an error of ours: please report it with its request_id"}

// paramFailure tells a path or query parameter that could not be bound.
func paramFailure(err error) *failure {
	var missing *api.RequiredParamError
	var wrong *api.InvalidParamFormatError
	switch {
	case errors.As(err, &missing):
		return failed([]sizing.FieldError{{Field: missing.ParamName, Detail: "is required"}})
	case errors.As(err, &wrong):
		return failed([]sizing.FieldError{{Field: wrong.ParamName, Detail: "is not of the right form: see /docs"}})
	}
	return vague
}

// problem writes f as it goes over the wire. prefix stands before the fields of
// an item of a batch: "tasks[3]."; it is empty elsewhere.
func (f *failure) problem(prefix string) *api.Problem {
	p := &api.Problem{Type: "urn:loadaware:problem:" + f.name, Title: f.title, Status: f.status, Detail: f.detail}
	fields := make([]sizing.FieldError, len(f.fields))
	for i, field := range f.fields {
		// A field without a name is the item itself.
		fields[i] = sizing.FieldError{Field: strings.TrimSuffix(prefix+field.Field, "."), Detail: field.Detail}
		p.Errors = append(p.Errors, api.FieldProblem{Field: fields[i].Field, Detail: field.Detail})
	}
	if prefix != "" && len(fields) > 0 {
		p.Detail = failed(fields).detail
	}
	return p
}

// fail answers with an error. It is behind every error hook of the router and
// the generated server.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := failureOf(err)
	c := callOf(r.Context())
	if seen, ok := w.(middleware.WrapResponseWriter); ok && seen.Status() != 0 {
		s.log.DebugContext(r.Context(), "an answer broke off", "request_id", c.id, "err", err)
		return
	}
	if f.status == http.StatusInternalServerError {
		s.log.ErrorContext(r.Context(), "request failed", "request_id", c.id, "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	p := f.problem("")
	p.RequestID = c.id
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers only
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(f.status)
	_, _ = w.Write(body) // a caller who went away needs no answer
}

func unknownPath(r *http.Request) error {
	return &failure{class: notFound, detail: fmt.Sprintf("%.200q is no path of this service: see /docs. Ids in paths are percent-encoded", r.URL.Path)}
}

// wrongMethod names the methods that the path knows, in Allow and in words.
func wrongMethod(w http.ResponseWriter, r *http.Request, mux chi.Routes) error {
	path := r.URL.EscapedPath()
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		if mux.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	return &failure{class: methodUnknown, detail: "this path knows " + list}
}
