package sizing

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxIDLength bounds the ids that CheckID and CheckRunID accept, in characters.
const MaxIDLength = 250

// DefaultNamespace applies if an HTTP request names no namespace.
const DefaultNamespace = "default"

// TaskKey identifies a task, the unit of learning.
type TaskKey struct {
	Namespace string // separates Airflow deployments or tenants
	DAG       string
	Task      string
}

// String formats the key for logs and reasons. It omits the default namespace.
func (k TaskKey) String() string {
	if k.Namespace == DefaultNamespace {
		return k.DAG + "/" + k.Task
	}
	return k.Namespace + "/" + k.DAG + "/" + k.Task
}

// Validate returns an error for each part that CheckID rejects. CheckID rejects '/', because two keys with '/' could have
// the same String, and because an id is a segment of URL paths.
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

// TryKey identifies one try of a task. It is the idempotency key of every report about it.
type TryKey struct {
	TaskKey
	RunID    string // empty only in an ad-hoc prediction, which is not a try
	MapIndex int    // NoMap, or at least 0
	Number   int    // try number, at least 1
}

// Run returns the RunHash of the try's run id and map index, for records that must stay small.
func (k TryKey) Run() uint64 { return RunHash(k.RunID, k.MapIndex) }

// DAGRunHash returns a hash of the DAG run of a mapped task instance, the same for all its map indexes; 0 for a task that is
// not mapped.
func DAGRunHash(runID string, mapIndex int) uint64 {
	if mapIndex == NoMap {
		return 0
	}
	return RunHash(runID, NoMap)
}

// RunHash returns the 64-bit FNV-1a hash of a run id and a map index.
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

// The largest map index and try number that fit the store's columns.
const (
	MaxMapIndex = 1<<31 - 1
	MaxTry      = 1<<15 - 1
)

// Validate returns an error for each invalid field. runRequired is false for predictions,
// which may be ad hoc, without a run.
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

// CheckID returns what is wrong with a namespace, DAG id or task id; "" if the id is valid.
func CheckID(id string) string {
	for _, r := range id {
		if r == '/' {
			return "must not contain '/'"
		}
	}
	return CheckRunID(id)
}

// CheckRunID returns what is wrong with a run id, which may contain '/'; "" if it is valid.
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
