package sizing

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxIDLength bounds every identifier a caller may send, in characters.
const MaxIDLength = 250

// DefaultNamespace is meant where a caller names none.
const DefaultNamespace = "default"

// TaskKey names a Task: what is learned about.
type TaskKey struct {
	Namespace string // tells Airflow deployments or tenants apart
	DAG       string
	Task      string
}

// String writes the key for logs and reasons; the default namespace is left out.
func (k TaskKey) String() string {
	if k.Namespace == DefaultNamespace {
		return k.DAG + "/" + k.Task
	}
	return k.Namespace + "/" + k.DAG + "/" + k.Task
}

// Validate names every part that is empty, too long, or holds '/' or control
// characters: such ids would merge tasks, or could not be asked about by path.
func (k TaskKey) Validate() []FieldError {
	var bad []FieldError
	for _, id := range []struct{ field, value string }{
		{"namespace", k.Namespace}, {"dag_id", k.DAG}, {"task_id", k.Task},
	} {
		if detail := CheckID(id.value); detail != "" {
			bad = append(bad, FieldError{id.field, detail})
		}
	}
	return bad
}

// NoMap is the map index of a task that is not mapped, as in Airflow.
const NoMap = -1

// TryKey names one try of a task: the idempotency key of everything said of it.
type TryKey struct {
	TaskKey
	RunID    string // empty only in an ad-hoc look-up, which is no try
	MapIndex int    // NoMap, or 0 and up
	Number   int    // 1 and up
}

// Run is the run of a task that k is a try of, as a hash (FNV-1a, 64 bit) for records
// that must stay small.
func (k TryKey) Run() uint64 { return RunHash(k.RunID, k.MapIndex) }

// RunHash identifies one (run, map index) among those of a task.
func RunHash(runID string, mapIndex int) uint64 {
	h := uint64(14695981039346656037)
	mix := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for i := range len(runID) {
		mix(runID[i])
	}
	for shift := 0; shift < 64; shift += 8 {
		mix(byte(uint64(mapIndex) >> shift))
	}
	return h
}

// Largest map index and try number that fit the store's columns.
const (
	MaxMapIndex = 1<<31 - 1
	MaxTry      = 1<<15 - 1
)

// Validate checks the task, and the run unless the key is an ad-hoc look-up.
func (k TryKey) Validate(runRequired bool) []FieldError {
	bad := k.TaskKey.Validate()
	if runRequired || k.RunID != "" {
		if detail := CheckRunID(k.RunID); detail != "" {
			bad = append(bad, FieldError{"run_id", detail})
		}
	}
	if k.MapIndex < NoMap || k.MapIndex > MaxMapIndex {
		bad = append(bad, FieldError{"map_index", fmt.Sprintf("must be -1 (not mapped) to %d", MaxMapIndex)})
	}
	if k.Number < 1 || k.Number > MaxTry {
		bad = append(bad, FieldError{"try_number", fmt.Sprintf("must be 1 to %d", MaxTry)})
	}
	return bad
}

// CheckID says what is wrong with a task's identifier, or "" if nothing is.
func CheckID(id string) string {
	for _, r := range id {
		if r == '/' {
			return "must not contain '/'"
		}
	}
	return CheckRunID(id)
}

// CheckRunID is CheckID for run ids, which may contain '/'.
func CheckRunID(id string) string {
	if id == "" {
		return "is required: 1 to 250 characters"
	}
	if !utf8.ValidString(id) {
		return "must be valid UTF-8"
	}
	if utf8.RuneCountInString(id) > MaxIDLength {
		return "must be 1 to 250 characters"
	}
	for _, r := range id {
		if unicode.IsControl(r) {
			return "must not contain control characters"
		}
	}
	return ""
}
