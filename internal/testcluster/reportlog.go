package testcluster

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// ReportLog records the sent and the acknowledged reports, for Check. All methods are safe for concurrent use.
type ReportLog struct {
	mu    sync.Mutex
	tries map[TryKey]*entry
}

// TryKey is the idempotency key of a report in the namespace "default".
type TryKey struct {
	DAG, Task, RunID    string
	MapIndex, TryNumber int
}

// Key returns the idempotency key of the report.
func (o Observation) Key() TryKey {
	return TryKey{o.DAG, o.Task.Task, o.RunID, o.MapIndex, o.TryNumber}
}

// entry holds what is known about the reports of one try.
type entry struct {
	peaks map[int64]bool // in bytes, of all reports that were sent
	acked bool
	peak  int64 // in bytes, of the acknowledged report
}

// NewReportLog returns an empty log.
func NewReportLog() *ReportLog { return &ReportLog{tries: map[TryKey]*entry{}} }

// RecordSent records reports before they are sent, because the service may store them even if no
// answer arrives.
func (l *ReportLog) RecordSent(reports ...Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range reports {
		e := l.tries[o.Key()]
		if e == nil {
			e = &entry{peaks: map[int64]bool{}}
			l.tries[o.Key()] = e
		}
		e.peaks[o.Peak] = true
	}
}

// RecordAcked records reports that were answered with 200. The service must store them unchanged.
// RecordSent must have recorded them.
func (l *ReportLog) RecordAcked(reports ...Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range reports {
		e := l.tries[o.Key()]
		e.acked, e.peak = true, o.Peak
	}
}

// Comparison is the result of Check. Lost, Duplicate, Changed, Unsent and Miscounted must be zero.
type Comparison struct {
	Sent, Acked, Stored int // tries of sent reports; tries of acknowledged reports; stored rows
	Lost                int // acknowledged but not stored
	Duplicate           int // stored more than once
	Changed             int // stored with another peak than that of the acknowledged report, or with a peak that no report had
	Unsent              int // stored but never sent
	Miscounted          int // tasks whose stored counts of observations or kills differ from their rows
}

// IsConsistent reports whether Check found no fault.
func (c Comparison) IsConsistent() bool {
	return c.Lost+c.Duplicate+c.Changed+c.Unsent+c.Miscounted == 0
}

func (c Comparison) String() string {
	return fmt.Sprintf("sent %d, acked %d, stored %d: lost %d, duplicate %d, changed %d, never sent %d, miscounted tasks %d",
		c.Sent, c.Acked, c.Stored, c.Lost, c.Duplicate, c.Changed, c.Unsent, c.Miscounted)
}

const storedSQL = `
	SELECT dag_id, task_id, run_id, map_index, try_number, coalesce(memory_max, 0)
	FROM observation JOIN task ON task.id = observation.task`

// miscountedSQL counts as kills the outcomes 2 (oom_killed) and 3 (app_oom), except in the reproduced runs of a campaign.
const miscountedSQL = `
	SELECT count(*) FROM tally
	WHERE observations <> (SELECT count(*) FROM observation WHERE observation.task = tally.task)
		OR kills <> (
			SELECT count(*) FROM observation
			WHERE observation.task = tally.task AND outcome IN (2, 3) AND NOT starts_with(run_id, 'loadaware_campaign__'))`

// Check compares the log with the rows in the database. No other client may have written to the database.
func (l *ReportLog) Check(ctx context.Context, dsn string) (Comparison, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return Comparison{}, fmt.Errorf("check the reports: %w", err)
	}
	defer conn.Close(ctx)
	var found Comparison
	stored := map[TryKey]int{}
	rows, err := conn.Query(ctx, storedSQL)
	if err != nil {
		return found, err
	}
	var key TryKey
	var peak int64
	_, err = pgx.ForEachRow(rows, []any{&key.DAG, &key.Task, &key.RunID, &key.MapIndex, &key.TryNumber, &peak}, func() error {
		found.Stored++
		stored[key]++
		switch e := l.tries[key]; {
		case stored[key] > 1:
			found.Duplicate++
		case e == nil:
			found.Unsent++
		case e.acked && e.peak != peak, !e.peaks[peak]:
			found.Changed++
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	for key, e := range l.tries {
		found.Sent++
		if e.acked {
			found.Acked++
			if stored[key] == 0 {
				found.Lost++
			}
		}
	}
	err = conn.QueryRow(ctx, miscountedSQL).Scan(&found.Miscounted)
	return found, err
}
