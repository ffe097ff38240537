package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// prepareIngestSQL copies the columns and indexes of observation, without its foreign key and triggers. The triggers also
// sum savings, and concurrent INSERTs of one task would wait for the same sums.
const prepareIngestSQL = `
CREATE SEQUENCE IF NOT EXISTS bench_run;
CREATE TABLE IF NOT EXISTS bench_observation (LIKE observation INCLUDING ALL)`

// insertSQL inserts a row like those that /observe stores.
const insertSQL = `
INSERT INTO bench_observation (task, run_id, map_index, try_number, outcome, provisional, at, started_at, ended_at,
	duration_us, memory_max, allocated_memory, requested_memory, cpu_max, allocated_cpu, requested_cpu, features, lot)
VALUES (%d, 'pgbench-' || nextval('bench_run'), -1, 1, 1, false, now(), now() - interval '1 minute', now(),
	60000000, 7340032000, 68719476736, 68719476736, 1.02, 6, 6, '{1,2,3,4,5,6,7,8,9,10,11,18262}', 1);
`

// copyRows is the number of rows of one batch and of one file for COPY.
const copyRows = 500

// benchIngest measures row 3 of bench.table: reports acknowledged after commit against INSERT of similar rows by pgbench
// with as many connections, and batches of reports against COPY from files on the server.
func (b *bench) benchIngest(ctx context.Context) error {
	if err := b.env.pinDatabase(ctx, "0-1"); err != nil { // PostgreSQL gets both cores in all measurements of row 3
		return err
	}
	if err := b.env.addTask(ctx, b.server, b.seed+5, "ingest", 60); err != nil {
		return err
	}
	task, err := b.prepareIngest(ctx)
	if err != nil {
		return err
	}
	length := max(b.length, 4*time.Second) // long enough to open 64 connections
	reports := load{url: b.server.url + "/observe", token: b.env.token, bodies: observeBodies(b.seed+6, 256), connections: 64, cpu: b.env.loadCPU, length: length}
	var acked, inserted, batched, copied []float64
	rounds := max(3, b.rounds-2)
	for round := range rounds {
		observe := func() error {
			s, err := reports.run(ctx)
			acked = append(acked, s.rate())
			return err
		}
		insert := func() error { return appendTo(&inserted)(b.runPgbench(ctx, task, length)) }
		batch := func() error { return appendTo(&batched)(b.postBatches(ctx, round)) }
		copyIn := func() error { return appendTo(&copied)(b.copyRowsIn(ctx, task, round)) }
		all := []func() error{observe, insert, batch, copyIn}
		if round%2 == 1 {
			all = []func() error{insert, observe, copyIn, batch}
		}
		for _, measure := range all {
			if err := measure(); err != nil {
				return err
			}
		}
	}
	b.printf("observe %.0f/s acknowledged after commit, INSERT %.0f/s, 64 connections each (%d rounds of %s)", median(acked), median(inserted), rounds, length)
	b.printf("batches of %d: observe %.0f rows/s, COPY %.0f rows/s", copyRows, median(batched), median(copied))
	b.printf("observe/INSERT ratio: %s (goal 0.5)", ratioOf(acked, inserted))
	b.printf("observe batch/COPY ratio: %s (goal 0.6)", ratioOf(batched, copied))
	return nil
}

// appendTo returns a function that appends a figure to the list and passes on the error of its measurement.
func appendTo(to *[]float64) func(float64, error) error {
	return func(v float64, err error) error {
		*to = append(*to, v)
		return err
	}
}

// observeBodies returns n bodies of /observe. Each of them is for a different try.
func observeBodies(seed uint64, n int) []string {
	r := newRandom(seed)
	all := make([]string, n)
	for i := range all {
		all[i] = text(observeRequest(r, "ingest", "reported__"+counterPlaceholder, time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)))
	}
	return all
}

// prepareIngest creates the table for row 3, and returns the id of the task "ingest".
func (b *bench) prepareIngest(ctx context.Context) (task int64, err error) {
	conn, err := pgx.Connect(ctx, b.env.db.DSN())
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, prepareIngestSQL); err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, `SELECT id FROM task WHERE task_id = 'ingest'`).Scan(&task)
	return task, err
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// runPgbench returns the rows per second of inserts from 64 connections.
func (b *bench) runPgbench(ctx context.Context, task int64, length time.Duration) (float64, error) {
	script := filepath.Join(b.env.dir, "insert.sql")
	if err := os.WriteFile(script, fmt.Appendf(nil, insertSQL, task), 0o600); err != nil {
		return 0, err
	}
	out, err := pinned(ctx, b.env.loadCPU, "pgbench", "-n", "-M", "prepared", "-c", "64", "-j", "1", "-T", fmt.Sprint(int(length.Seconds())), "-f", script, b.env.db.DSN()).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	found := tps.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("pgbench: no rate in its output: %s", out)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// postBatches returns the rows per second of batches from two callers. It encodes the batch before it starts the clock, just
// as copyRowsIn first writes its files.
func (b *bench) postBatches(ctx context.Context, round int) (float64, error) {
	var rows atomic.Int64
	var failure error
	var once sync.Once
	batch := make([]object, copyRows)
	r := newRandom(b.seed + 7)
	for i := range batch {
		batch[i] = observeRequest(r, "ingest", fmt.Sprintf("batched-%s-%d", counterPlaceholder, i), time.Date(2026, 2, 1, 0, 0, i, 0, time.UTC))
	}
	body := text(object{"observations": batch})
	start := time.Now()
	var callers sync.WaitGroup
	for caller := range 2 {
		callers.Go(func() {
			for n := 0; time.Since(start) < b.length; n++ {
				body := strings.ReplaceAll(body, counterPlaceholder, fmt.Sprintf("%d-%d-%d", round, caller, n))
				if err := b.env.post(ctx, b.server.url+"/observe/batch", body, nil); err != nil {
					once.Do(func() { failure = err })
					return
				}
				rows.Add(copyRows)
			}
		})
	}
	callers.Wait()
	return float64(rows.Load()) / time.Since(start).Seconds(), failure
}

// copyRowsIn returns the rows per second of COPY of files of copyRows rows, one transaction each.
func (b *bench) copyRowsIn(ctx context.Context, task int64, round int) (float64, error) {
	conn, err := pgx.Connect(ctx, b.env.db.DSN())
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	const files = 40
	for n := range files {
		var text bytes.Buffer
		w := csv.NewWriter(&text)
		for i := range copyRows {
			_ = w.Write([]string{fmt.Sprint(task), fmt.Sprintf("copied-%d-%d-%d", round, n, i), "-1", "1", "1", "false", "2026-01-01", "2026-01-01", "2026-01-01",
				"60000000", "7340032000", "68719476736", "68719476736", "1.02", "6", "6", "{1,2,3,4,5,6,7,8,9,10,11,18262}", "1"}) // a write to a buffer cannot fail
		}
		w.Flush()
		if err := os.WriteFile(filepath.Join(b.env.dir, fmt.Sprintf("copy-%d.csv", n)), text.Bytes(), 0o644); err != nil { //nolint:gosec // PostgreSQL runs as another user
			return 0, err
		}
	}
	start, done := time.Now(), 0
	for ; done < files && time.Since(start) < b.length; done++ {
		sql := fmt.Sprintf(`COPY bench_observation (task, run_id, map_index, try_number, outcome, provisional, at, started_at, ended_at, duration_us,
			memory_max, allocated_memory, requested_memory, cpu_max, allocated_cpu, requested_cpu, features, lot) FROM '%s' (FORMAT csv)`,
			filepath.Join(b.env.dir, fmt.Sprintf("copy-%d.csv", done)))
		if _, err := conn.Exec(ctx, sql); err != nil {
			return 0, err
		}
	}
	return float64(done*copyRows) / time.Since(start).Seconds(), nil
}
