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

// Calls with at least directRows rows use their own transaction; smaller ones share one. A
// transaction has at most chunkRows rows, because other writers wait for its locks.
const (
	directRows = 100
	chunkRows  = 5000
)

// report is an observation in the form in which it is written.
type report struct {
	sizing.Observation // times in UTC, times and duration in whole microseconds
	task               *cachedTask
	features           []float64 // encoded by task.schema; nil if unknown
	fromReceipt        bool      // the features were not reported, so they contradict nothing
}

// Record commits all valid observations and returns a result for each.
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

// errStale means that a task was renamed or deleted since this process cached it, and that
// nothing was written.
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
	left := make([]int, len(storable)) // indexes into storable that are not recorded yet
	for j := range left {
		left[j] = j
	}
	for attempt := 0; len(left) > 0; attempt++ {
		if attempt == maxAttempts {
			return nil, errStale
		}
		var err error
		if left, err = s.recordLeft(ctx, obs, storable, left, results); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// recordLeft records the remaining observations and returns those whose task was renamed or
// deleted meanwhile.
func (s *Store) recordLeft(ctx context.Context, obs []sizing.Observation, storable, left []int, results []sizing.RecordResult) (stale []int, err error) {
	picked := make([]int, len(left))
	for i, j := range left {
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
	for i, j := range left {
		switch {
		case err != nil, errors.Is(recorded[i].Err, errStale):
			s.schemas.remove(obs[picked[i]].Try.TaskKey)
			stale = append(stale, j)
		case recorded[i].Err != nil && sizing.KindOf(recorded[i].Err) != sizing.Conflict:
			return nil, recorded[i].Err // the caller repeats the call, and recorded reports become duplicates
		default:
			results[j] = recorded[i]
		}
	}
	return stale, nil
}

// prepare encodes the features. It first extends the schemas that lack some of them.
func (s *Store) prepare(ctx context.Context, obs []sizing.Observation, storable []int) ([]report, error) {
	reports := make([]report, len(storable))
	for j, i := range storable {
		reports[j].Observation = inMicroseconds(obs[i])
	}
	if err := s.addReceiptFeatures(ctx, reports); err != nil {
		return nil, err
	}
	lacking := map[sizing.TaskKey][]sizing.Features{}
	for j := range reports {
		if r := &reports[j]; !r.encode(s.schemas.get(r.Try.TaskKey)) {
			lacking[r.Try.TaskKey] = append(lacking[r.Try.TaskKey], r.Features)
		}
	}
	grown := make(map[sizing.TaskKey]*cachedTask, len(lacking))
	for key, features := range lacking {
		var err error
		if grown[key], err = s.grow(ctx, key, features); err != nil {
			return nil, err
		}
	}
	for j := range reports {
		if r := &reports[j]; r.task == nil && !r.encode(grown[r.Try.TaskKey]) {
			return nil, fmt.Errorf("encode the features of %s: the schema lacks some after it was extended", r.Try)
		}
	}
	return reports, nil
}

// encode encodes the features by k's schema. It returns false if the schema lacks some.
func (r *report) encode(k *cachedTask) bool {
	if k == nil {
		return false
	}
	row, ok := k.encode(r.Features)
	if ok {
		r.task, r.features = k, row
	}
	return ok
}

func inMicroseconds(o sizing.Observation) sizing.Observation {
	o.Duration = o.Duration.Truncate(time.Microsecond)
	for _, t := range []*time.Time{&o.StartedAt, &o.EndedAt} {
		*t = t.UTC().Truncate(time.Microsecond)
	}
	return o
}

// sampleRank returns a hash of the try, stored as lot. The tries of lowest rank are a uniform
// sample that new tries change little, and that is equal for equal histories.
func sampleRank(try sizing.TryKey) int32 {
	h := fnv.New64a()
	var b [12]byte
	for i := range 4 {
		b[i], b[4+i] = byte(try.MapIndex>>(8*i)), byte(try.Number>>(8*i))
	}
	h.Write(b[:])
	h.Write([]byte(try.RunID))
	// FNV leaves the last characters in the low bits; the finaliser of splitmix64 (Steele et
	// al. 2014) spreads them.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int32((x ^ x>>31) >> 32)
}

// checkStorable rejects an observation that no row can hold, so that the others of its batch
// succeed.
func checkStorable(o *sizing.Observation) error {
	if bad := o.Try.Validate(true); len(bad) > 0 {
		return &sizing.Error{Kind: sizing.Invalid, Detail: bad[0].Field + " " + bad[0].Detail, Fields: bad}
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

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
