package sizing

import (
	"errors"
	"fmt"
	"strings"
)

// Kind classifies an error by the reaction that it needs from the caller. Packages httpapi and dashboard map kinds to
// status codes.
type Kind uint8

// The kinds of errors.
const (
	Internal    Kind = iota // a bug or a fault of the machine
	Invalid                 // the request is wrong; Fields describe the corrections
	NotFound                // no such object
	Conflict                // the request contradicts stored data, or another writer committed first
	Unavailable             // try again later: the database cannot serve the request (Cause is set), the service is not ready, or another request changes the task
	Refused                 // a policy or a limit forbids the request now
	Exhausted               // too many operations of this kind wait or run, or one took too long; Detail says which
)

// FieldError describes one invalid field. As a warning it describes a field that is suspicious or ignored.
type FieldError struct {
	Field  string // path in the HTTP request, such as "requested.memory" or "tasks[3].run_id"
	Detail string // the valid values, such as "must be 1 to 250 characters"; of a warning: the reason and the effect
}

// Error is an error with a kind and, if any, the fields that caused it.
type Error struct {
	Kind   Kind
	Detail string
	Fields []FieldError
	Cause  error // logged; the caller sees its text only if Detail contains the text, as after Errorf
}

// Error joins the detail, the fields and the cause, for logs and messages. It omits a field or a cause whose text the
// detail contains, as after InvalidField and Errorf.
func (e *Error) Error() string {
	parts := []string{e.Detail}
	for _, f := range e.Fields {
		if !strings.Contains(e.Detail, f.Field+" "+f.Detail) {
			parts = append(parts, f.Field+": "+f.Detail)
		}
	}
	if e.Cause != nil && !strings.Contains(e.Detail, e.Cause.Error()) {
		parts = append(parts, e.Cause.Error())
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf returns an error of the given kind. The text becomes the detail, and the operand of a single %w becomes the
// cause. The caller sees the detail, unless the kind is Internal, or Unavailable with a cause.
func Errorf(kind Kind, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Detail: wrapped.Error(), Cause: errors.Unwrap(wrapped)}
}

// InvalidField returns an Invalid error that names one field.
func InvalidField(field, format string, args ...any) *Error {
	detail := fmt.Sprintf(format, args...)
	return &Error{Kind: Invalid, Detail: field + " " + detail, Fields: []FieldError{{Field: field, Detail: detail}}}
}

// UnknownPrediction returns the error for a prediction id that is not stored. A caller who may not read the prediction gets the
// same error, so that it does not show that the id exists.
func UnknownPrediction(id string) *Error { return Errorf(NotFound, "no prediction has the id %q", id) }

// KindOf returns the kind of the first *Error in err's chain, or Internal if there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
