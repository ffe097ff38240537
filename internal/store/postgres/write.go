package postgres

import (
	"context"
	_ "embed" // for insertFile
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// write commits reports and returns a result for each:
//   - Usually a single statement, in its own transaction, inserts all reports. So no lock is held during a network
//     round trip, and other writers of the task wait only for the statement.
//   - A second transaction compares the reports whose tries were already stored. If it fails, only the results of these
//     reports have an error.
//   - If reports repeat a try, or have a series, a plan or a context (metadata, mean usage, placement), one
//     transaction writes all reports.
//
// If a task was renamed or deleted, write returns errStale, or sets it in the results of the compared reports. After
// another error it is unknown whether the reports are stored, because the connection may have broken during the commit.
func (s *Store) write(ctx context.Context, reports []report) ([]sizing.RecordResult, error) {
	first, repeated := splitByTry(reports)
	if len(repeated) > 0 || slices.ContainsFunc(reports, func(r report) bool { return r.hasOtherParts() }) {
		return s.writeInTx(ctx, reports)
	}
	recorded := make([]sizing.RecordResult, len(reports))
	var known []int
	err := s.withRetry(ctx, "record observations", func() (err error) {
		known, err = s.insert(ctx, s.pool, reports, first, recorded)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(known) == 0 {
		return recorded, nil
	}
	rest := make([]report, len(known))
	for i, n := range known {
		rest[i] = reports[n]
	}
	compared, err := s.writeInTx(ctx, rest)
	for i, n := range known {
		if recorded[n] = (sizing.RecordResult{Err: err}); err == nil {
			recorded[n] = compared[i]
		}
	}
	return recorded, nil
}

func (s *Store) writeInTx(ctx context.Context, reports []report) ([]sizing.RecordResult, error) {
	var recorded []sizing.RecordResult
	err := s.inTx(ctx, "record observations", readWrite, func(tx pgx.Tx) error {
		recorded = make([]sizing.RecordResult, len(reports))
		first, repeated := splitByTry(reports)
		known, err := s.insert(ctx, tx, reports, first, recorded)
		if err != nil {
			return err
		}
		if repeated = append(repeated, known...); len(repeated) > 0 {
			slices.Sort(repeated) // the order of the call
			if err := s.amendStored(ctx, tx, reports, repeated, recorded); err != nil {
				return err
			}
			if err := s.countAmended(ctx, tx, reports, recorded, repeated); err != nil {
				return err
			}
		}
		if err := insertSeries(ctx, tx, reports, recorded); err != nil {
			return err
		}
		if err := insertPlans(ctx, tx, reports, recorded); err != nil {
			return err
		}
		return insertContext(ctx, tx, reports, recorded)
	})
	return recorded, err
}

// hasOtherParts reports whether the report has a part outside the table observation.
func (r *report) hasOtherParts() bool {
	return r.Series != nil || r.Detailed != nil || r.Executed != nil || r.HasContext()
}

func splitByTry(reports []report) (first, repeated []int) {
	seen := make(map[sizing.TryKey]bool, len(reports))
	for i := range reports {
		if try := reports[i].Try; seen[try] {
			repeated = append(repeated, i)
		} else {
			seen[try] = true
			first = append(first, i)
		}
	}
	return first, repeated
}

// plausibleTime is the range of times that the column "at" may have, as in sizing.Observation.Warnings.
// Retention and lists use that column: with a wrong year a report would expire at once, or be the
// newest forever. insert_observations.sql repeats the range.
const plausibleTime = `timestamptz '2000-01-01 00:00:00+00' AND now() + interval '6 hours'`

//go:embed insert_observations.sql
var insertFile string

var insertSQL = stripComments(insertFile)

// oomOutcomes are the OOM kills, which make a task due at once.
var oomOutcomes = []int16{int16(sizing.OOMKilled), int16(sizing.AppOOM)}

// querier is a transaction, or the pool, which runs each statement in its own transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// insert writes and counts the reports with the indexes in first. It skips reports whose try is already stored, and
// repeated reports of earlier executions (executions.go), and returns their indexes. Until the transaction ends, it locks
// the tasks of the reports against other writers, renames and deletions. It returns errStale and writes nothing if a task
// was renamed or deleted since it was cached.
func (s *Store) insert(ctx context.Context, db querier, reports []report, first []int, recorded []sizing.RecordResult) (known []int, err error) {
	inserts := make([]*report, len(first))
	for i, n := range first {
		inserts[i] = &reports[n]
	}
	args := append(columnsOf(inserts), s.cfg.Debounce, oomOutcomes)
	args = append(append(args, namesOf(reports)...), sizing.ReproductionPrefix)
	rows, err := db.Query(ctx, insertSQL, args...)
	if err != nil {
		return nil, err
	}
	var n int
	var seq int64
	var areUnchanged bool
	_, err = pgx.ForEachRow(rows, []any{&n, &seq, &areUnchanged}, func() error {
		recorded[first[n]].Seq = seq
		if seq == 0 {
			known = append(known, first[n])
		}
		return nil
	})
	if err == nil && !areUnchanged {
		err = errStale
	}
	return known, err
}

// namesOf returns the parameters $25 to $28 of insertSQL. A task that was renamed in the meantime may appear with both names.
func namesOf(reports []report) []any {
	type task struct {
		id  int64
		key sizing.TaskKey
	}
	seen := make(map[task]bool, 1)
	var ids []int64
	var namespaces, dags, tasks []string
	for i := range reports {
		t := task{reports[i].task.id, reports[i].Try.TaskKey}
		if !seen[t] {
			seen[t] = true
			ids, namespaces, dags, tasks = append(ids, t.id), append(namespaces, t.key.Namespace), append(dags, t.key.DAG), append(tasks, t.key.Task)
		}
	}
	return []any{ids, namespaces, dags, tasks}
}

// columnsOf returns the array parameters $1 to $22 of insertSQL.
func columnsOf(reports []*report) []any {
	features, after, to := flatten(reports, func(r *report) []float64 { return r.features })
	return []any{
		column(reports, func(r *report) int64 { return r.task.id }),
		column(reports, func(r *report) string { return r.Try.RunID }),
		column(reports, func(r *report) int32 { return int32(r.Try.MapIndex) }),
		column(reports, func(r *report) int16 { return int16(r.Try.Number) }),
		column(reports, func(r *report) int16 { return int16(r.Outcome) }),
		column(reports, func(r *report) bool { return r.provisional }),
		column(reports, func(r *report) *time.Time { return knownTime(&r.StartedAt) }),
		column(reports, func(r *report) *time.Time { return knownTime(&r.EndedAt) }),
		column(reports, func(r *report) int64 { return r.Duration.Microseconds() }),
		column(reports, func(r *report) int64 { return int64(r.MemoryMax) }),
		column(reports, func(r *report) int64 { return int64(r.Allocated.Memory) }),
		column(reports, func(r *report) int64 { return int64(r.Requested.Memory) }),
		column(reports, func(r *report) int64 { return int64(r.MemorySampled) }),
		column(reports, func(r *report) float64 { return float64(r.CPUMax) }),
		column(reports, func(r *report) float64 { return float64(r.Allocated.CPU) }),
		column(reports, func(r *report) float64 { return float64(r.Requested.CPU) }),
		column(reports, func(r *report) string { return r.PredictionID }),
		after, to,
		column(reports, func(r *report) int32 { return sampleRank(r.Try) }),
		column(reports, func(r *report) float64 { return r.RunScore }),
		features,
	}
}

func knownTime(t *time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return t
}

const updateTallySQL = `
	UPDATE tally
	SET observations = tally.observations + delta.observations,
		kills = tally.kills + delta.kills,
		due_at = least(tally.due_at, now() + delta.wait)
	FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::interval[]) AS delta (task, observations, kills, wait)
	WHERE tally.task = delta.task`

type tallyDelta struct {
	observations, kills int64
	urgent              bool // the task becomes due at once, because of an OOM kill
}

// countAmended updates the tallies of the tasks with amended reports. As in insertSQL, kills of reproduced runs neither count
// nor make their tasks due at once.
func (s *Store) countAmended(ctx context.Context, tx pgx.Tx, reports []report, recorded []sizing.RecordResult, repeated []int) error {
	deltas := map[int64]tallyDelta{}
	for _, i := range repeated {
		if recorded[i].Amended {
			d := deltas[reports[i].task.id]
			isReproduced := sizing.IsReproduction(reports[i].Try.RunID)
			d.urgent = d.urgent || reports[i].Outcome.OOM() && !isReproduced
			switch replaced := recorded[i].Replaced; {
			case replaced != nil: // insert counted the new row
				d.observations--
				if replaced.Outcome.OOM() && !isReproduced {
					d.kills--
				}
			case recorded[i].Explained && !isReproduced:
				d.kills++
			}
			deltas[reports[i].task.id] = d
		}
	}
	return s.updateTally(ctx, tx, deltas)
}

func (s *Store) updateTally(ctx context.Context, tx pgx.Tx, deltas map[int64]tallyDelta) error {
	if len(deltas) == 0 {
		return nil
	}
	var tasks, observations, kills []int64
	var waits []time.Duration
	for task, d := range deltas {
		wait := s.cfg.Debounce
		if d.urgent {
			wait = 0
		}
		tasks, observations, kills, waits = append(tasks, task), append(observations, d.observations), append(kills, d.kills), append(waits, wait)
	}
	_, err := tx.Exec(ctx, updateTallySQL, tasks, observations, kills, waits)
	return err
}

const voidSQL = `
	DELETE FROM observation
	WHERE task = $1 AND run_id = $2 AND map_index = $3 AND try_number = $4
	RETURNING outcome`

// Void deletes a report. The task becomes due, so that training forgets the report.
func (s *Store) Void(ctx context.Context, try sizing.TryKey) error {
	return s.inTx(ctx, "void a report", readWrite, func(tx pgx.Tx) error {
		id, err := lockTally(ctx, tx, try.TaskKey)
		if err != nil {
			return err
		}
		var outcome sizing.Outcome
		err = tx.QueryRow(ctx, voidSQL, id, try.RunID, try.MapIndex, try.Number).Scan(&outcome)
		if err != nil {
			return orNotFound("void a report", err, "no report of try %d of run %q (map index %d) of %s is stored", try.Number, try.RunID, try.MapIndex, try.TaskKey)
		}
		delta := tallyDelta{observations: -1}
		if outcome.OOM() && !sizing.IsReproduction(try.RunID) {
			delta.kills = -1
		}
		return s.updateTally(ctx, tx, map[int64]tallyDelta{id: delta})
	})
}

const lockTallySQL = `
	SELECT task.id
	FROM task JOIN tally ON tally.task = task.id
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
	FOR KEY SHARE OF task FOR NO KEY UPDATE OF tally`

// lockTally locks the tally of a task until the transaction ends.
func lockTally(ctx context.Context, tx pgx.Tx, key sizing.TaskKey) (id int64, err error) {
	err = tx.QueryRow(ctx, lockTallySQL, key.Namespace, key.DAG, key.Task).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = unknownTask(key)
	}
	return id, err
}
