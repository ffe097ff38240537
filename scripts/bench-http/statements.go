package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
)

type statement struct {
	name string
	run  func(context.Context, *postgres.Store) error
}

// grownTask is the first of the ten tasks among which addData divides the observations.
var grownTask = sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "grown", Task: "task-1"}

// statements are the statements that timeStatements measures. No task is due for training, so Claim changes nothing.
var statements = []statement{
	{"claim a due task", func(ctx context.Context, st *postgres.Store) error {
		_, err := st.Claim(ctx, "bench", time.Minute)
		if sizing.KindOf(err) == sizing.NotFound {
			return nil
		}
		if err == nil {
			err = errors.New("a task is due; no task may be due during the benchmark")
		}
		return fmt.Errorf("claim: %w", err)
	}},
	{"count due tasks", func(ctx context.Context, st *postgres.Store) error {
		_, err := st.Backlog(ctx)
		return err
	}},
	{"versions of all models", func(ctx context.Context, st *postgres.Store) error {
		_, err := st.ActiveVersions(ctx)
		return err
	}},
	{"a page of 100 tasks", func(ctx context.Context, st *postgres.Store) error {
		_, err := st.Tasks(ctx, "", sizing.TaskKey{}, 100)
		return err
	}},
	{"one task", func(ctx context.Context, st *postgres.Store) error {
		_, err := st.Task(ctx, grownTask)
		return err
	}},
	{"a training's history", func(ctx context.Context, st *postgres.Store) error {
		_, err := st.History(ctx, grownTask, store.HistoryLimits{})
		return err
	}},
	{"the receipt of a try", func(ctx context.Context, st *postgres.Store) error {
		_, err := st.ReceiptOfTry(ctx, sizing.TryKey{TaskKey: grownTask, RunID: "grown-10", MapIndex: sizing.NoMap, Number: 1})
		return err
	}},
	{"promised and real risk of a task", func(ctx context.Context, st *postgres.Store) error {
		_, err := st.Realised(ctx, grownTask, 1000)
		return err
	}},
}

// timeStatements returns a table row with the median times of five runs in milliseconds, and the stored bytes per row.
func (b *bench) timeStatements(ctx context.Context, conn *pgx.Conn, s size) (string, error) {
	st, err := postgres.Open(ctx, b.env.db.DSN(), postgres.Config{})
	if err != nil {
		return "", err
	}
	defer st.Close()
	var line strings.Builder
	fmt.Fprintf(&line, "| %d | %d | %d |", s.tasks, s.observations, s.receipts())
	for _, one := range statements {
		var latencies []float64
		for range 5 {
			start := time.Now()
			if err := one.run(ctx, st); err != nil {
				return "", fmt.Errorf("%s: %w", one.name, err)
			}
			latencies = append(latencies, millis(time.Since(start)))
		}
		fmt.Fprintf(&line, " %.1f |", median(latencies))
	}
	for _, tables := range [][]string{{"observation"}, {"receipt", "receipt_compact", "receipt_name", "receipt_word"}} {
		var bytes, rows float64
		for _, table := range tables {
			var size, count float64
			if err := conn.QueryRow(ctx, `SELECT (pg_total_relation_size($1::regclass) + (SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits WHERE inhparent = $1::regclass))::float8,
				(SELECT count(*) FROM `+table+`)::float8`, table).Scan(&size, &count); err != nil {
				return "", err
			}
			bytes += size
			if table == "observation" || table == "receipt" || table == "receipt_compact" {
				rows += count
			}
		}
		fmt.Fprintf(&line, " %.0f |", bytes/max(1, rows))
	}
	return line.String(), nil
}

func statementsHeader() string {
	var head, rule strings.Builder
	for _, one := range statements {
		head.WriteString(" " + one.name + " |")
		rule.WriteString("---:|")
	}
	return "\nmedian of five runs, ms\n\n| tasks | observations | receipts |" + head.String() + " bytes per observation | bytes per receipt |\n|---:|---:|---:|" + rule.String() + "---:|---:|"
}
