package airflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// decode reads an answer. ErrAnswer names the field that does not fit.
func decode(path string, answer []byte, to any) error {
	err := json.Unmarshal(answer, to)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("%w: %s: %s is a JSON %s, where %s is expected", ErrAnswer, path, kind.Field, kind.Value, kind.Type)
	case bytes.HasPrefix(bytes.TrimSpace(answer), []byte("<")):
		return fmt.Errorf("%w: %s is answered by a page for people, not by JSON: does a proxy ask for a login?", ErrAnswer, path)
	}
	return fmt.Errorf("%w: %s: %w", ErrAnswer, path, err)
}

// missing is the error of a field that an answer lacks.
func missing(path, field string) error {
	return fmt.Errorf("%w: %s: %s is missing", ErrAnswer, path, field)
}
