package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	// directRows is the number of rows from which a call uses its own transaction. Smaller calls
	// share a transaction by group commit.
	directRows = 100
	// chunkRows is the largest number of rows of one transaction. Other writers wait for its locks,
	// so a larger transaction would delay them for longer.
	chunkRows = 5000
)

type report struct {
	sizing.Observation // times in UTC, times and duration in whole microseconds
	task               *cachedTask
	features           []float64 // encoded by task.schema; nil if unknown
	fromReceipt        bool      // the features come from a receipt; they are not compared with stored features
	// provisional says whether the row is provisional. The row of a provisional report with a series, a plan or a context is
	// not, because its replacement would delete them.
	provisional bool
}

// Record commits all valid observations and returns a result for every observation.
func (s *Store) Record(ctx context.Context, obs []sizing.Observation) ([]sizing.RecordResult, error) {
	results := make([]sizing.RecordResult, 0, len(obs))
	for part := range slices.Chunk(obs, chunkRows) {
		recorded, err := s.recordChunk(ctx, part)
		if err != nil {
			return nil, err
		}
		results = append(results, recorded...)
	}
	return results, nil
}

// errStale means that a task was renamed or deleted since this process cached it or read its receipt, and that the report with
// this error, or all reports of a call that returned it, were not written.
var errStale = sizing.Errorf(sizing.Unavailable, "the task was renamed or deleted meanwhile; try again")

func (s *Store) recordChunk(ctx context.Context, obs []sizing.Observation) ([]sizing.RecordResult, error) {
	results := make([]sizing.RecordResult, len(obs))
	var storable []int
	for i := range obs {
		if results[i].Err = checkStorable(&obs[i]); results[i].Err == nil {
			storable = append(storable, i)
		}
	}
	recorded, err := s.recordStorable(ctx, obs, storable)
	if err != nil {
		return nil, wrapError("record observations", err)
	}
	for j, i := range storable {
		results[i] = recorded[j]
	}
	return results, nil
}

func (s *Store) recordStorable(ctx context.Context, obs []sizing.Observation, storable []int) ([]sizing.RecordResult, error) {
	results := make([]sizing.RecordResult, len(storable))
	remaining := make([]int, len(storable)) // indexes into `storable` that are not recorded yet
	for j := range remaining {
		remaining[j] = j
	}
	for attempt := 0; len(remaining) > 0; attempt++ {
		if attempt == maxAttempts {
			return nil, errStale
		}
		var err error
		if remaining, err = s.recordRemaining(ctx, obs, storable, remaining, results); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// recordRemaining returns the observations that it did not record, because their task, or another task of the same
// transaction, was renamed or deleted since it was cached.
func (s *Store) recordRemaining(ctx context.Context, obs []sizing.Observation, storable, remaining []int, results []sizing.RecordResult) (stale []int, err error) {
	picked := make([]int, len(remaining))
	for i, j := range remaining {
		picked[i] = storable[j]
	}
	reports, err := s.prepare(ctx, obs, picked)
	if err != nil && !errors.Is(err, errStale) {
		return nil, err
	}
	var recorded []sizing.RecordResult
	switch {
	case err != nil:
	case len(reports) >= directRows:
		recorded, err = s.write(ctx, reports)
	default:
		recorded, err = s.commits.write(ctx, reports)
	}
	if err != nil && !errors.Is(err, errStale) {
		return nil, err
	}
	for i, j := range remaining {
		switch {
		case err != nil, errors.Is(recorded[i].Err, errStale):
			s.schemas.remove(obs[picked[i]].Try.TaskKey)
			stale = append(stale, j)
		case recorded[i].Err != nil && sizing.KindOf(recorded[i].Err) != sizing.Conflict:
			return nil, recorded[i].Err // when the caller repeats the call, recorded reports become duplicates
		default:
			results[j] = recorded[i]
		}
	}
	return stale, nil
}

// prepare returns the picked observations as reports with encoded features. It creates unknown tasks, and extends schemas that
// lack features.
func (s *Store) prepare(ctx context.Context, obs []sizing.Observation, picked []int) ([]report, error) {
	reports := make([]report, len(picked))
	for j, i := range picked {
		reports[j].Observation = inMicroseconds(obs[i])
		reports[j].provisional = reports[j].Provisional && !reports[j].hasOtherParts()
	}
	if err := s.addReceiptFeatures(ctx, reports); err != nil {
		return nil, err
	}
	incomplete := map[sizing.TaskKey][]sizing.Features{}
	for j := range reports {
		if r := &reports[j]; !r.encode(s.schemas.get(r.Try.TaskKey)) {
			incomplete[r.Try.TaskKey] = append(incomplete[r.Try.TaskKey], r.Features)
		}
	}
	extended := make(map[sizing.TaskKey]*cachedTask, len(incomplete))
	for key, features := range incomplete {
		var err error
		if extended[key], err = s.extendSchema(ctx, key, features); err != nil {
			return nil, err
		}
	}
	for j := range reports {
		if r := &reports[j]; r.task == nil && !r.encode(extended[r.Try.TaskKey]) {
			return nil, fmt.Errorf("encode the features of %s: the schema lacks some after it was extended", r.Try)
		}
	}
	return reports, nil
}

func (r *report) encode(task *cachedTask) bool {
	if task == nil {
		return false
	}
	row, ok := task.encode(r.Features)
	if ok {
		r.task, r.features = task, row
	}
	return ok
}

// inMicroseconds truncates the times and the duration to the precision of the columns.
func inMicroseconds(o sizing.Observation) sizing.Observation {
	o.Duration = o.Duration.Truncate(time.Microsecond)
	for _, t := range []*time.Time{&o.StartedAt, &o.EndedAt} {
		*t = t.UTC().Truncate(time.Microsecond)
	}
	return o
}

// sampleRank returns a hash of the try without its task, stored in column lot. The tries of lowest rank
// are a uniform sample of a task. New tries change this sample little, and equal histories have equal
// samples.
func sampleRank(try sizing.TryKey) int32 {
	h := fnv.New64a()
	var b [12]byte
	for i := range 4 {
		b[i], b[4+i] = byte(try.MapIndex>>(8*i)), byte(try.Number>>(8*i))
	}
	h.Write(b[:])
	h.Write([]byte(try.RunID))
	// In FNV the last characters affect only few bits. The finaliser of splitmix64 (Steele et al. 2014)
	// spreads them over all bits.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int32((x ^ x>>31) >> 32)
}

// checkStorable rejects an observation that cannot be stored, so that the other observations of its batch succeed.
func checkStorable(o *sizing.Observation) error {
	if invalid := o.Try.Validate(true); len(invalid) > 0 {
		return &sizing.Error{Kind: sizing.Invalid, Detail: invalid[0].Field + " " + invalid[0].Detail, Fields: invalid}
	}
	if !isText(o.PredictionID) {
		return sizing.InvalidField("prediction_id", "must be UTF-8 without NUL")
	}
	for name, v := range o.Features {
		if !isText(name) || !isText(v.Text) {
			return sizing.InvalidField("features", "must be UTF-8 without NUL: check %.40q", name)
		}
	}
	return nil
}

// isText reports whether a column of type text can store s.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
