package testcluster

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Ledger records the reports that were sent and those that were acknowledged. Check compares
// them with the rows that PostgreSQL stores. Its methods are safe for concurrent use.
type Ledger struct {
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

type entry struct {
	peaks map[int64]bool // of all bodies sent
	acked bool
	peak  int64 // of the acknowledged body
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{tries: map[TryKey]*entry{}} }

// RecordSent records reports before they are sent: the service may store them even if no answer arrives.
func (l *Ledger) RecordSent(reports ...Observation) {
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

// RecordAcked records reports that were answered with 200: the service must store them unchanged.
func (l *Ledger) RecordAcked(reports ...Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range reports {
		e := l.tries[o.Key()]
		e.acked, e.peak = true, o.Peak
	}
}

// Balance is the result of Check. Lost, Doubled, Changed, Invented and Miscounted must be zero.
type Balance struct {
	Sent, Acked, Stored int
	Lost                int // acknowledged but not stored
	Doubled             int // stored more than once
	Changed             int // stored with another body than the acknowledged one
	Invented            int // stored but never sent
	Miscounted          int // tasks whose stored count differs from the number of their rows
}

// IsBalanced reports whether Check found no fault.
func (b Balance) IsBalanced() bool {
	return b.Lost+b.Doubled+b.Changed+b.Invented+b.Miscounted == 0
}

func (b Balance) String() string {
	return fmt.Sprintf("sent %d, acked %d, stored %d: lost %d, doubled %d, changed %d, invented %d, miscounted tasks %d",
		b.Sent, b.Acked, b.Stored, b.Lost, b.Doubled, b.Changed, b.Invented, b.Miscounted)
}

const storedSQL = `
	SELECT dag_id, task_id, run_id, map_index, try_number, coalesce(memory_max, 0)
	FROM observation JOIN task ON task.id = observation.task`

const miscountedSQL = `
	SELECT count(*) FROM tally
	WHERE observations <> (SELECT count(*) FROM observation WHERE observation.task = tally.task)
		OR kills <> (SELECT count(*) FROM observation WHERE observation.task = tally.task AND outcome IN (2, 3))`

// Check compares the ledger with the database of dsn. No other client may have written to it.
func (l *Ledger) Check(ctx context.Context, dsn string) (Balance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return Balance{}, fmt.Errorf("check the ledger: %w", err)
	}
	defer conn.Close(ctx)
	var b Balance
	stored := map[TryKey]int{}
	rows, err := conn.Query(ctx, storedSQL)
	if err != nil {
		return b, err
	}
	var t TryKey
	var peak int64
	_, err = pgx.ForEachRow(rows, []any{&t.DAG, &t.Task, &t.RunID, &t.MapIndex, &t.TryNumber, &peak}, func() error {
		b.Stored++
		stored[t]++
		switch e := l.tries[t]; {
		case stored[t] > 1:
			b.Doubled++
		case e == nil:
			b.Invented++
		case e.acked && e.peak != peak, !e.peaks[peak]:
			b.Changed++
		}
		return nil
	})
	if err != nil {
		return b, err
	}
	for t, e := range l.tries {
		b.Sent++
		if e.acked {
			b.Acked++
			if stored[t] == 0 {
				b.Lost++
			}
		}
	}
	return b, conn.QueryRow(ctx, miscountedSQL).Scan(&b.Miscounted)
}
