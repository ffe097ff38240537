package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A DAG run that was deleted and created again has the run id and the try numbers of the deleted run. It is another execution
// of this run. The newest execution keeps the run id; the reports of earlier executions have a run id with a number, see
// earlierRun.

// executionGap is the least time between two executions of a try. The times of two reports of one execution can come from
// different clocks (Airflow, the node, Prometheus), whose differences are smaller.
const executionGap = time.Minute

const (
	earlierExecution = iota - 1
	sameExecution
	laterExecution
)

// compareExecution returns whether the report r describes the same execution of its try as the stored report, an earlier one, or
// a later one. Different times alone are no evidence of another execution, because they may come from another clock or time zone,
// like the times of an imported usage log. The evidence is a different measured or sampled peak, or a prediction for the later
// execution after the end of the earlier one.
func (old *storedReport) compareExecution(r *report, now time.Time) int {
	if old.Outcome == r.Outcome && !differ(old.MemoryMax, r.MemoryMax) && !differ(old.MemorySampled, r.MemorySampled) &&
		!differ(old.Allocated.Memory, r.Allocated.Memory) && !differ(old.Duration, r.Duration) {
		return sameExecution
	}
	if old.seq == 0 { // only an earlier execution has this try; see insert_observations.sql
		return earlierExecution
	}
	hasOtherPeak := differ(old.MemoryMax, r.MemoryMax) || differ(old.MemorySampled, r.MemorySampled)
	switch order := old.compareTimes(r, now); {
	case hasOtherPeak,
		order == laterExecution && isAfter(predictedAt(&r.Observation), endOf(&old.Observation, old.at)),
		order == earlierExecution && isAfter(predictedAt(&old.Observation), endOf(&r.Observation, r.At(now))):
		return order
	}
	return sameExecution
}

func differ[T comparable](stored, reported T) bool {
	var unknown T
	return stored != unknown && reported != unknown && stored != reported
}

// predictedAt returns zero if no prediction is known. The id of a prediction contains its time (UUID version 7).
func predictedAt(o *sizing.Observation) time.Time {
	id, err := uuid.Parse(o.PredictionID)
	if err != nil || id.Version() != 7 {
		return o.PredictedAt
	}
	if at := time.Unix(id.Time().UnixTime()); at.After(o.PredictedAt) {
		return at
	}
	return o.PredictedAt
}

func isAfter(at, end time.Time) bool { return !at.IsZero() && at.Sub(end) >= executionGap }

// compareTimes compares the two executions like compareExecution, but only by their times. If the times show no order, it
// returns sameExecution.
func (old *storedReport) compareTimes(r *report, now time.Time) int {
	start, oldStart := startOf(r, now), old.Start(now)
	switch {
	case isAfter(start, endOf(&old.Observation, old.at)):
		return laterExecution
	case r.StartedAt.IsZero() && r.EndedAt.IsZero():
		return sameExecution
	case isAfter(oldStart, endOf(&r.Observation, r.At(now))):
		return earlierExecution
	}
	return sameExecution
}

// isSameExecution reports whether the known times of the stored report and of r are those of one execution.
func (old *storedReport) isSameExecution(r *report, now time.Time) bool {
	areKnown := !old.StartedAt.IsZero() && !r.StartedAt.IsZero()
	return areKnown && (old.StartedAt.Equal(r.StartedAt) || old.compareTimes(r, now) == sameExecution)
}

func startOf(r *report, now time.Time) time.Time {
	if start := r.Start(now); !start.IsZero() {
		return start
	}
	return predictedAt(&r.Observation)
}

// endOf returns the latest possible end of a try whose row has the time `at`.
func endOf(o *sizing.Observation, at time.Time) time.Time {
	if o.EndedAt.IsZero() && !o.StartedAt.IsZero() {
		return at.Add(o.Duration)
	}
	return at
}

// The run id of an earlier execution, such as "manual__3 (execution 1)", has these parts before and after the number.
const beforeNumber, afterNumber = " (execution ", ")"

// earlierRun returns the run id of the earlier execution n of a run. The first execution of a run has the number 1.
func earlierRun(run string, n int) string {
	return run + beforeNumber + strconv.Itoa(n) + afterNumber
}

// executionNumber returns the number in the run id of an earlier execution of a run; 0 for another run id.
func executionNumber(earlier, run string) int {
	rest, _ := strings.CutPrefix(earlier, run+beforeNumber)
	number, isEarlier := strings.CutSuffix(rest, afterNumber)
	n, err := strconv.Atoi(number)
	if !isEarlier || err != nil {
		return 0
	}
	return n
}

// earlierReportsSQL reads the reports of earlier executions of a run from a try on. The two run ids enclose those of earlier
// executions, because ':' is the character after '9'.
const earlierReportsSQL = `
	SELECT ` + storedReportColumns + `
	FROM observation
	WHERE task = $1 AND run_id > $2 || '` + beforeNumber + `' AND run_id < $2 || '` + beforeNumber + `:' AND map_index = $3 AND try_number >= $4`

// supersedeSQL gives the run id $5 to the tries of a run that a later execution supersedes. $4 is the number of the reported
// try of the later execution, and $6 is its start.
const supersedeSQL = `
	UPDATE observation SET run_id = $5
	WHERE task = $1 AND run_id = $2 AND map_index = $3 AND (try_number = $4 OR try_number > $4 AND at <= $6)`

// recordExecution stores the report with index i if it describes another execution than the stored report of its try. `order`
// is the result of compareExecution. A report of a later execution becomes the report of the try, and the reports of the earlier
// execution get another run id. A report of an earlier execution amends the stored report of that execution, or gets another run
// id itself. recordExecution returns false if the report must replace the stored report.
func (s *Store) recordExecution(ctx context.Context, tx pgx.Tx, old *storedReport, reports []report, i, order int, now time.Time, recorded []sizing.RecordResult) (isRecorded bool, err error) {
	r := &reports[i]
	earlier, err := readEarlierReports(ctx, tx, r.task.id, r.Try)
	if err != nil {
		return false, err
	}
	n := 1
	for _, e := range earlier {
		n = max(n, executionNumber(e.Try.RunID, r.Try.RunID)+1)
		if e.Try.Number == r.Try.Number && e.isSameExecution(r, now) {
			recorded[i] = e.amend(r)
			recorded[i].Late = true
			batch := &pgx.Batch{}
			e.queueAmendment(batch)
			return true, tx.SendBatch(ctx, batch).Close()
		}
	}
	switch run := earlierRun(r.Try.RunID, n); order {
	case earlierExecution:
		return true, s.insertLate(ctx, tx, *r, run, &recorded[i])
	case laterExecution:
		return true, s.supersede(ctx, tx, old, reports, i, run, now, recorded)
	}
	return false, nil
}

func (s *Store) insertLate(ctx context.Context, tx pgx.Tx, late report, run string, result *sizing.RecordResult) error {
	reported := late.Try.RunID
	late.Try.RunID = run
	inserted := make([]sizing.RecordResult, 1)
	if _, err := s.insert(ctx, tx, []report{late}, []int{0}, inserted); err != nil {
		return err
	}
	*result = inserted[0]
	result.Late = true
	result.Warnings = executionWarning("ended before the stored execution of the try %q started: this report is stored as run %q", reported, run)
	return nil
}

func (s *Store) supersede(ctx context.Context, tx pgx.Tx, old *storedReport, reports []report, i int, run string, now time.Time, recorded []sizing.RecordResult) error {
	r := &reports[i]
	batch := &pgx.Batch{}
	old.queueAmendment(batch)
	batch.Queue(supersedeSQL, r.task.id, r.Try.RunID, r.Try.MapIndex, r.Try.Number, run, startOf(r, now))
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if _, err := s.insert(ctx, tx, reports, []int{i}, recorded); err != nil {
		return err
	}
	recorded[i].Superseded = run
	recorded[i].Warnings = executionWarning("started after the end of the stored execution of the try %q: the earlier execution is run %q now", r.Try.RunID, run)
	*old = newStoredReport(r, recorded[i].Seq)
	return nil
}

func newStoredReport(r *report, seq int64) storedReport {
	stored := r.Observation
	stored.Provisional = r.provisional
	return storedReport{Observation: stored, seq: seq, task: r.task.id, at: r.At(time.Now()), features: r.features}
}

func executionWarning(format, reported, run string) []sizing.FieldError {
	return []sizing.FieldError{{Field: "run_id", Detail: fmt.Sprintf(format, reported, run)}}
}

func readEarlierReports(ctx context.Context, tx pgx.Tx, task int64, try sizing.TryKey) ([]*storedReport, error) {
	rows, err := tx.Query(ctx, earlierReportsSQL, task, try.RunID, try.MapIndex, try.Number)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*storedReport, error) {
		earlier := &storedReport{}
		err := earlier.scan(row)
		earlier.Try.TaskKey = try.TaskKey
		return earlier, err
	})
}
