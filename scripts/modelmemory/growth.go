package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// Goals of a service with 10,000 tasks on two cores.
const (
	maxReady           = time.Second
	maxReadyRegistered = 3 * time.Second // with as many tasks as the flag -registered names
	maxDecodedP99      = 50 * time.Millisecond
	maxInMemoryP99     = 20 * time.Millisecond
	maxGrownResident   = 1.2e9 / (1 << 20) // MiB

	activeTasks = 200 // number of tasks that get the m.questions predictions of measureGrowth
)

// copyTasks adds the tasks with the numbers m.tasks to m.copies-1. Task i gets the active model of task i modulo m.tasks.
func (m *measurement) copyTasks(ctx context.Context, conn *pgx.Conn) error {
	return execAll(ctx, conn, []string{
		`CREATE TEMP TABLE grown AS SELECT i, source.id AS source, 'dag_' || i / 10 AS dag_id, 'task_' || i AS task_id
			FROM generate_series($1::int, $2::int - 1) i JOIN task AS source ON source.task_id = 'task_' || i % $1::int`,
		`INSERT INTO task (namespace, dag_id, task_id, schema, active_version)
			SELECT namespace, grown.dag_id, grown.task_id, schema, active_version FROM grown JOIN task ON id = source WHERE $1::int <= $2::int`,
		`INSERT INTO tally (task) SELECT task.id FROM grown JOIN task USING (dag_id, task_id) WHERE $1::int <= $2::int`,
		`INSERT INTO lease (task) SELECT task.id FROM grown JOIN task USING (dag_id, task_id) WHERE $1::int <= $2::int`,
		`INSERT INTO model (task, version, family, format, observations, last_seq, trained_at, exam, blob, share)
			SELECT task.id, version, family, format, observations, (SELECT max(seq) FROM observation), trained_at, exam, blob, share
			FROM grown JOIN task USING (dag_id, task_id) JOIN model ON model.task = source AND version = task.active_version WHERE $1::int <= $2::int`,
	}, m.tasks, m.copies)
}

// registerTasks adds tasks until there are m.registered. Their models are never decoded, so the blobs are empty.
func (m *measurement) registerTasks(ctx context.Context, conn *pgx.Conn) error {
	return execAll(ctx, conn, []string{
		`INSERT INTO task (namespace, dag_id, task_id, active_version)
			SELECT 'default', 'registered_' || i / 10, 'task_' || i, 1 FROM generate_series($1::int, $2::int - 1) i`,
		`INSERT INTO tally (task) SELECT id FROM task WHERE dag_id LIKE 'registered_%' AND $1::int <= $2::int`,
		`INSERT INTO lease (task) SELECT id FROM task WHERE dag_id LIKE 'registered_%' AND $1::int <= $2::int`,
		`INSERT INTO model (task, version, family, format, observations, last_seq, trained_at, exam, blob)
			SELECT task.id, 1, family, format, observations, last_seq, trained_at, exam, '' FROM task, (SELECT * FROM model LIMIT 1) AS one
			WHERE dag_id LIKE 'registered_%' AND $1::int <= $2::int`,
	}, m.copies, m.registered)
}

// execAll executes statements with the same arguments, and then ANALYZE. Every statement uses every argument, because pgx
// rejects an unused one.
func execAll(ctx context.Context, conn *pgx.Conn, statements []string, args ...any) error {
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql, args...); err != nil {
			return fmt.Errorf("%.60s: %w", sql, err)
		}
	}
	_, err := conn.Exec(ctx, "ANALYZE")
	return err
}

// measureGrowth runs these steps, and returns an error if a goal is missed:
//
//   - copy the trained tasks until there are m.copies tasks, and restart the replica
//   - request one prediction for each task, in random order
//   - if m.length is above 0, run the soak of soak.go
//   - request m.questions predictions for activeTasks tasks, whose models stay in memory
//   - register tasks until there are m.registered, and restart the replica
func (m *measurement) measureGrowth(ctx context.Context, cluster *testcluster.Cluster) error {
	conn, err := pgx.Connect(ctx, cluster.Postgres.DSN())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := m.copyTasks(ctx, conn); err != nil {
		return err
	}
	ready, err := m.restart(ctx)
	if err != nil {
		return err
	}
	order := m.random.Perm(m.copies)
	before, err := scrape(m.replicas[0].Admin)
	if err != nil {
		return err
	}
	for _, task := range order {
		if err := m.ask(ctx, task); err != nil {
			return err
		}
	}
	after, err := scrape(m.replicas[0].Admin)
	if err != nil {
		return err
	}
	cpu := (after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]) / float64(m.copies)
	if err := m.print("after a prediction for each task"); err != nil {
		return err
	}
	decoded, inMemory := m.misses, m.hits
	if m.length > 0 {
		if err := m.soak(ctx); err != nil {
			return err
		}
	}
	m.hits, m.misses = nil, nil
	active := order[max(0, len(order)-activeTasks):]
	for range m.questions {
		if err := m.ask(ctx, active[m.random.IntN(len(active))]); err != nil {
			return err
		}
	}
	if err := m.registerTasks(ctx, conn); err != nil {
		return err
	}
	readyRegistered, err := m.restart(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("ready after %.2f s with %d tasks (goal %.0f), %.2f s with %d (goal %.0f)\n", ready.Seconds(), m.copies, maxReady.Seconds(),
		readyRegistered.Seconds(), m.registered, maxReadyRegistered.Seconds())
	fmt.Printf("first prediction of a task, model decoded: %s (goal of p99: %.0f)\n", quantiles(decoded), millis(maxDecodedP99))
	fmt.Printf("processor time of the replica per first prediction, including a read of the metrics: %.1f ms\n", 1000*cpu)
	fmt.Printf("first prediction of a task, in memory from the start: %s\n", quantiles(inMemory))
	fmt.Printf("later predictions, model in memory: %s (goal of p99: %.0f); decoded: %s\n", quantiles(m.hits), millis(maxInMemoryP99), quantiles(m.misses))
	fmt.Printf("answers by source: %v; resident at most %.0f MiB (goal %.0f)\n", m.sources, m.peak, maxGrownResident)
	if ready > maxReady || readyRegistered > maxReadyRegistered || p99(decoded) > maxDecodedP99 || p99(m.hits) > maxInMemoryP99 || m.peak > maxGrownResident {
		return errors.New("a goal is missed; see the lines above")
	}
	return nil
}

// restart restarts the replica, and returns the time from its start until it is ready.
func (m *measurement) restart(ctx context.Context) (time.Duration, error) {
	if err := m.replicas[0].Terminate(); err != nil {
		return 0, err
	}
	m.decoded = 0
	start := time.Now()
	err := m.replicas[0].Start(ctx)
	return time.Since(start), err
}

func p99(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)-1, int(.99*float64(len(d))))]
}
