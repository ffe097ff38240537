package testcluster

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Ledger remembers what was sent and what was acknowledged, to be held against what
// PostgreSQL has in the end. Its methods may be called at once.
type Ledger struct {
	mu    sync.Mutex
	tries map[Try]*entry
}

// Try is the idempotency key of a report, in the namespace "default".
type Try struct {
	DAG, Task, RunID    string
	MapIndex, TryNumber int
}

// TryOf is the key of a report.
func TryOf(o Observation) Try { return Try{o.DAG, o.Task.Task, o.RunID, o.MapIndex, o.TryNumber} }

type entry struct {
	peaks map[int64]bool // of every body that was sent
	acked bool
	peak  int64 // of the body that was acknowledged
}

// NewLedger is empty.
func NewLedger() *Ledger { return &Ledger{tries: map[Try]*entry{}} }

// Sent notes reports before they are sent: they may be stored though nobody says so.
func (l *Ledger) Sent(reports ...Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range reports {
		e := l.tries[TryOf(o)]
		if e == nil {
			e = &entry{peaks: map[int64]bool{}}
			l.tries[TryOf(o)] = e
		}
		e.peaks[o.Peak] = true
	}
}

// Acked notes reports that were answered by 200: they must be stored, as they were sent.
func (l *Ledger) Acked(reports ...Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range reports {
		e := l.tries[TryOf(o)]
		e.acked, e.peak = true, o.Peak
	}
}

// Balance is what Check found. Lost, Doubled, Changed, Invented and Miscounted are
// to be zero.
type Balance struct {
	Sent, Acked, Stored int
	Lost                int // acknowledged and not stored
	Doubled             int // stored more than once
	Changed             int // stored otherwise than as it was acknowledged
	Invented            int // stored and never sent
	Miscounted          int // tasks whose kept count is not that of their rows
}

// Good reports whether nothing is amiss.
func (b Balance) Good() bool {
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

// Check holds the ledger against the database of dsn, which nobody else may have
// written to.
func (l *Ledger) Check(ctx context.Context, dsn string) (Balance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return Balance{}, fmt.Errorf("check the ledger: %w", err)
	}
	defer conn.Close(ctx)
	var b Balance
	stored := map[Try]int{}
	rows, err := conn.Query(ctx, storedSQL)
	if err != nil {
		return b, err
	}
	var t Try
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
