package sizing

import (
	"errors"
	"fmt"
	"strings"
)

// Kind sorts errors by what their reader should do. The edge maps kinds to
// status codes; nothing below the edge knows a status code.
type Kind uint8

// The kinds of errors.
const (
	Internal    Kind = iota // ours: a bug, or the machine's
	Invalid                 // the caller's: the fields say what to mend
	NotFound                // nothing is known by that name
	Conflict                // contradicts what was said before, or another writer came first
	Unavailable             // the database cannot be reached: try again later
	Refused                 // understood, but not allowed now (a policy, a limit)
)

// FieldError names one bad field and says what would be right.
type FieldError struct {
	Field  string // as the caller wrote it: "requested.memory", "tasks[3].run_id"
	Detail string // "must be 1 to 250 characters"
}

// Error is an error with a kind, and with the fields that caused it, if any.
type Error struct {
	Kind   Kind
	Detail string
	Fields []FieldError
	Cause  error // logged, never told to the caller
}

// Error joins the detail, the fields and the cause, for logs. A cause that the detail
// quotes, as those of Errorf do, is not repeated.
func (e *Error) Error() string {
	parts := []string{e.Detail}
	for _, f := range e.Fields {
		parts = append(parts, f.Field+": "+f.Detail)
	}
	if e.Cause != nil && !strings.Contains(e.Detail, e.Cause.Error()) {
		parts = append(parts, e.Cause.Error())
	}
	return strings.Join(parts, "; ")
}

// Unwrap gives errors.Is and errors.As the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an error of a kind; the text is told to the caller. A %w operand
// is kept as the cause.
func Errorf(kind Kind, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Detail: wrapped.Error(), Cause: errors.Unwrap(wrapped)}
}

// InvalidField makes an Invalid error that names one field.
func InvalidField(field, format string, args ...any) *Error {
	detail := fmt.Sprintf(format, args...)
	return &Error{Kind: Invalid, Detail: field + " " + detail, Fields: []FieldError{{Field: field, Detail: detail}}}
}

// KindOf is the kind of the first *Error in err's chain; Internal without one.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
