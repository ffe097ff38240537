package usagelog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// readHeader reads the fields of the log from its path and its comments. Comments take precedence.
func readHeader(in *bufio.Reader, path string) (Log, error) {
	log := Log{Try: sizing.TryKey{
		TaskKey:  sizing.TaskKey{Namespace: sizing.DefaultNamespace},
		MapIndex: sizing.NoMap, Number: 1,
	}}
	for _, part := range strings.Split(filepath.ToSlash(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".csv")), "/") {
		if err := log.setField(part, ""); err != nil {
			return Log{}, fmt.Errorf("%w: path: %w", ErrInvalidFile, err)
		}
	}
	for {
		if first, err := in.Peek(1); err != nil || first[0] != '#' {
			break
		}
		comment, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return Log{}, fmt.Errorf("%w: a comment is longer than %d bytes", ErrInvalidFile, maxComment)
		}
		for _, part := range splitComment(string(comment)) {
			if err := log.setField(part, "# "); err != nil {
				return Log{}, fmt.Errorf("%w: %w", ErrInvalidFile, err)
			}
		}
	}
	if bad := log.Try.Validate(true); len(bad) > 0 {
		return Log{}, fmt.Errorf("%w: %s %s; write # %s=… at the top, or put it into the path", ErrInvalidFile, bad[0].Field, bad[0].Detail, bad[0].Field)
	}
	return log, nil
}

// splitComment splits a comment at its commas. A piece that is not empty, does not begin with white space and has
// no "=" belongs to the value before it, together with the comma between them.
func splitComment(comment string) (parts []string) {
	for _, piece := range strings.Split(strings.TrimSpace(strings.TrimLeft(comment, "# \t")), ",") {
		belongsToValue := len(parts) > 0 && piece != "" && !strings.Contains(piece, "=") && strings.TrimLeft(piece, " \t") == piece
		if belongsToValue {
			parts[len(parts)-1] += "," + piece
		} else {
			parts = append(parts, piece)
		}
	}
	return parts
}

// setField sets the field that a part name=value names. It ignores parts without "=" and unknown names. An error shows `prefix`
// before the part.
func (l *Log) setField(part, prefix string) error {
	name, value, ok := strings.Cut(part, "=")
	if !ok {
		return nil
	}
	var err error
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch name {
	case "namespace":
		l.Try.Namespace = value
	case "dag_id":
		l.Try.DAG = value
	case "task_id":
		l.Try.Task = value
	case "run_id":
		l.Try.RunID = value
	case "map_index":
		l.Try.MapIndex, err = strconv.Atoi(value)
	case "try_number", "attempt": // attempt is the name in the paths of Airflow's log files
		l.Try.Number, err = strconv.Atoi(value)
	case "outcome":
		if l.Outcome, ok = sizing.ParseOutcome(value); !ok {
			err = errors.New("must be one of success, oom_killed, app_oom, failed, killed, evicted, unschedulable")
		}
	}
	if err != nil {
		return fmt.Errorf("%s%s=%.40s: %w", prefix, name, value, err)
	}
	return nil
}
