package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// storedReport is the stored observation of a try. A repeated report of the try may fill unknown fields of the
// stored report but may not contradict known fields.
type storedReport struct {
	sizing.Observation
	seq      int64
	task     int64     // id
	at       time.Time // see plausibleTime
	features []float64 // encoded by the task's schema at the time of the report; nil if unknown
	changed  bool      // amended since it was read
	measured bool      // a peak was added since it was read
}

// storedReportColumns are the columns that storedReport.scan reads.
const storedReportColumns = `
	seq, task, run_id, map_index, try_number, outcome, provisional,
		at, started_at, ended_at, coalesce(duration_us, 0),
		` + measuredColumns + `, coalesce(allocated_memory, 0), coalesce(requested_memory, 0),
		coalesce(cpu_max, 0), coalesce(allocated_cpu, 0), coalesce(requested_cpu, 0),
		coalesce(prediction_id, ''), features, coalesce(run_score, 0)`

const storedReportsSQL = `
	SELECT ` + storedReportColumns + `
	FROM observation
	JOIN unnest($1::bigint[], $2::text[], $3::int[], $4::smallint[]) AS repeated (task, run_id, map_index, try_number)
		USING (task, run_id, map_index, try_number)`

const amendSQL = `
	UPDATE observation
	SET provisional = $3, outcome = $17, started_at = $4, ended_at = $5,
		at = CASE WHEN coalesce($5::timestamptz, $4::timestamptz) BETWEEN ` + plausibleTime + ` THEN coalesce($5::timestamptz, $4::timestamptz) ELSE at END,
		duration_us = nullif($6::bigint, 0),
		memory_max = coalesce(nullif($7::bigint, 0), nullif($15::bigint, 0)),
		memory_sampled = nullif($15::bigint, 0), sampled_only = $7::bigint = 0 AND $15::bigint > 0,
		allocated_memory = nullif($8::bigint, 0), requested_memory = nullif($9::bigint, 0),
		cpu_max = nullif($10::float8, 0), allocated_cpu = nullif($11::float8, 0), requested_cpu = nullif($12::float8, 0),
		prediction_id = nullif($13, ''), features = $14,
		measured_after = CASE WHEN $16 THEN (SELECT max(seq) FROM observation WHERE task = $1) ELSE measured_after END
	WHERE task = $1 AND seq = $2`

// amendStored compares the repeated reports with the stored reports, in order. It stores the fields that
// the repeated reports fill, and replaces provisional reports (see replacedBy). recordExecution handles reports of other
// executions of a try (see executions.go).
func (s *Store) amendStored(ctx context.Context, tx pgx.Tx, reports []report, repeated []int, recorded []sizing.RecordResult) error {
	stored, err := readStoredReports(ctx, tx, reports, repeated)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, i := range repeated {
		r := &reports[i]
		old := stored[r.Try]
		order, isReplaced := old.compareExecution(r, now), old.replacedBy(r)
		if order == sameExecution && !isReplaced {
			recorded[i] = old.amend(r)
			continue
		}
		isRecorded, err := s.recordExecution(ctx, tx, old, reports, i, order, now, recorded)
		if err == nil && !isRecorded {
			err = s.replace(ctx, tx, old, reports, i, recorded)
		}
		if err != nil {
			return err
		}
	}
	batch := &pgx.Batch{}
	for _, updated := range stored {
		updated.queueAmendment(batch)
	}
	return tx.SendBatch(ctx, batch).Close()
}

func (old *storedReport) queueAmendment(batch *pgx.Batch) {
	if !old.changed {
		return
	}
	batch.Queue(amendSQL, old.task, old.seq, old.Provisional, knownTime(&old.StartedAt), knownTime(&old.EndedAt),
		old.Duration.Microseconds(),
		old.MemoryMax, old.Allocated.Memory, old.Requested.Memory,
		old.CPUMax, old.Allocated.CPU, old.Requested.CPU,
		old.PredictionID, old.features, old.MemorySampled, old.measured, old.Outcome)
}

// readStoredReports reads the stored reports of the tries that are reported again. It returns a report with seq 0 for a try
// without a stored report.
func readStoredReports(ctx context.Context, tx pgx.Tx, reports []report, repeated []int) (map[sizing.TryKey]*storedReport, error) {
	stored := make(map[sizing.TryKey]*storedReport, len(repeated))
	keys := make(map[int64]sizing.TaskKey, 1)
	var wanted []*report
	for _, i := range repeated {
		r := &reports[i]
		if stored[r.Try] == nil {
			stored[r.Try] = &storedReport{}
			keys[r.task.id] = r.Try.TaskKey
			wanted = append(wanted, r)
		}
	}
	rows, err := tx.Query(ctx, storedReportsSQL,
		column(wanted, func(r *report) int64 { return r.task.id }),
		column(wanted, func(r *report) string { return r.Try.RunID }),
		column(wanted, func(r *report) int32 { return int32(r.Try.MapIndex) }),
		column(wanted, func(r *report) int16 { return int16(r.Try.Number) }))
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		old := &storedReport{}
		if err := old.scan(rows); err != nil {
			return nil, err
		}
		old.Try.TaskKey = keys[old.task]
		stored[old.Try] = old
	}
	return stored, rows.Err()
}

func (old *storedReport) scan(row pgx.CollectableRow) error {
	var started, ended *time.Time
	var micros int64
	err := row.Scan(&old.seq, &old.task, &old.Try.RunID, &old.Try.MapIndex, &old.Try.Number, &old.Outcome, &old.Provisional,
		&old.at, &started, &ended, &micros,
		&old.MemoryMax, &old.MemorySampled, &old.Allocated.Memory, &old.Requested.Memory,
		&old.CPUMax, &old.Allocated.CPU, &old.Requested.CPU,
		&old.PredictionID, &old.features, &old.RunScore)
	if started != nil {
		old.StartedAt = started.UTC()
	}
	if ended != nil {
		old.EndedAt = ended.UTC()
	}
	old.Duration = time.Duration(micros) * time.Microsecond
	return err
}

// amend copies the values that are known in `r` and unknown in `old` into `old`. It also replaces the outcome of a stored
// failure by the OOM kill that explains it (isExplainedBy), and confirms a provisional report. It changes nothing if the two
// reports contradict each other, or if `r` comes from a lift request.
func (old *storedReport) amend(r *report) sizing.RecordResult {
	if r.isFromLift() {
		return old.compareLift(r)
	}
	next, c := old.merge(r)
	if c.contradiction != nil {
		return sizing.RecordResult{Seq: old.seq, Err: c.contradiction}
	}
	next.changed = old.changed || c.filled
	_, before := old.Peak()
	_, after := next.Peak()
	isMeasured := after.HasPeak() && !before.HasPeak()
	next.measured = old.measured || isMeasured
	isExplained := old.isExplainedBy(r)
	*old = next
	return sizing.RecordResult{
		Seq: old.seq, Duplicate: !c.filled, Amended: c.filled, Measured: isMeasured, Explained: isExplained, Warnings: c.warnings,
	}
}

// merge returns `old` with the changes of amend.
func (old *storedReport) merge(r *report) (storedReport, *comparison) {
	next := *old
	next.features = slices.Clone(old.features)
	c := &comparison{}
	isExplained := old.explains(r)
	switch {
	case isExplained: // the outcome stays
	case old.isExplainedBy(r):
		next.Outcome, next.Provisional, c.filled = r.Outcome, true, true
		c.storedWins = true
	default:
		fill(c, "outcome", &next.Outcome, r.Outcome)
	}
	fill(c, "memory_max_bytes", &next.MemoryMax, r.MemoryMax)
	fill(c, "memory_sampled_bytes", &next.MemorySampled, r.MemorySampled)
	fill(c, "cpu_max_cores", &next.CPUMax, r.CPUMax)
	fill(c, "duration_seconds", &next.Duration, r.Duration)
	fill(c, "started_at", &next.StartedAt, r.StartedAt)
	fill(c, "ended_at", &next.EndedAt, r.EndedAt)
	fill(c, "allocated.memory_bytes", &next.Allocated.Memory, r.Allocated.Memory)
	fill(c, "allocated.cpu_cores", &next.Allocated.CPU, r.Allocated.CPU)
	fill(c, "requested.memory_bytes", &next.Requested.Memory, r.Requested.Memory)
	fill(c, "requested.cpu_cores", &next.Requested.CPU, r.Requested.CPU)
	c.warnings = fillPredictionID(c, &next.PredictionID, r.PredictionID)
	next.features = fillFeatures(c, next.features, r)
	if old.Provisional && !r.Provisional && !isExplained {
		next.Provisional, c.filled = false, true
	}
	return next, c
}

type comparison struct {
	filled        bool  // the repeated report filled an unknown field, confirmed a provisional report, or explained a failure
	contradiction error // the first contradiction; nil if there is none
	storedWins    bool  // a different reported value is no contradiction; the stored value stays
	warnings      []sizing.FieldError
}

func fill[T comparable](c *comparison, field string, stored *T, reported T) {
	var unknown T
	switch {
	case reported == unknown || reported == *stored:
	case *stored == unknown:
		*stored, c.filled = reported, true
	default:
		c.addContradiction(field, *stored, reported)
	}
}

// fillPredictionID copies a reported prediction id into an unknown stored one. Another id is no contradiction, because it says
// nothing about the run: a try can have several predictions, and ReceiptOfTry ignores the id of another try.
func fillPredictionID(c *comparison, stored *string, reported string) []sizing.FieldError {
	if *stored == "" || reported == "" || reported == *stored {
		fill(c, "prediction_id", stored, reported)
		return nil
	}
	return []sizing.FieldError{{Field: "prediction_id", Detail: fmt.Sprintf("is ignored: an earlier report of the try named %q", *stored)}}
}

func (c *comparison) addContradiction(field string, stored, reported any) {
	if c.contradiction == nil && !c.storedWins {
		detail := fmt.Sprintf("was reported as %v before, now as %v: void the first report if it was wrong", stored, reported)
		c.contradiction = &sizing.Error{Kind: sizing.Conflict, Detail: field + " " + detail,
			Fields: []sizing.FieldError{{Field: field, Detail: detail}}}
	}
}

// fillFeatures compares the encoded features of a stored and a repeated report one by one. It returns the stored
// features, in which r has filled unknown values. If features are stored, it ignores features that r inherits. NaN is an unknown
// value. A stored row may be shorter than the schema, which was extended later.
func fillFeatures(c *comparison, stored []float64, r *report) []float64 {
	if r.features == nil || r.InheritsFeatures && stored != nil {
		return stored
	}
	if stored == nil {
		c.filled = true
		return r.features
	}
	for i, v := range r.features {
		if i == len(stored) {
			stored = append(stored, math.NaN())
		}
		switch {
		case math.IsNaN(v) || r.task.schema.Fields[i].IsSame(v, stored[i]):
		case math.IsNaN(stored[i]):
			if other := r.otherKind(stored, i); other >= 0 {
				c.addContradiction("features."+r.task.schema.Fields[i].Name, r.task.text(other, stored[other]), r.task.text(i, v))
				continue
			}
			stored[i], c.filled = v, true
		default:
			c.addContradiction("features."+r.task.schema.Fields[i].Name, r.task.text(i, stored[i]), r.task.text(i, v))
		}
	}
	return stored
}

// otherKind returns the index of a field that has the name of field i, another kind, and a stored but no reported
// value. It returns -1 if there is none.
func (r *report) otherKind(stored []float64, i int) int {
	for _, k := range r.task.fields[r.task.schema.Fields[i].Name] {
		if k < len(stored) && !math.IsNaN(stored[k]) && (k >= len(r.features) || math.IsNaN(r.features[k])) {
			return k
		}
	}
	return -1
}

func (task *cachedTask) text(i int, code float64) string {
	field := &task.schema.Fields[i]
	switch {
	case field.Kind == sizing.Date:
		return fmt.Sprint(field.Value(code).JSON())
	case field.Kind == sizing.Bool:
		return strconv.FormatBool(code != 0)
	case field.Kind != sizing.Category:
		return strconv.FormatFloat(code, 'f', -1, 64) // all digits, because the two values of a contradiction differ
	case code >= 0 && int(code) < len(field.Categories):
		return fmt.Sprintf("%q", field.Categories[int(code)])
	}
	return "an unknown category"
}
