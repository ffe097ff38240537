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

// The plain row is one that anybody would insert: what an /observe of the same
// features comes to, in the same table, with its keys and indexes.
const plainSQL = `
INSERT INTO observation (task, run_id, map_index, try_number, outcome, provisional, at, started_at, ended_at,
	duration_us, memory_max, allocated_memory, requested_memory, cpu_max, allocated_cpu, requested_cpu, features, lot)
VALUES (%d, 'pgbench-' || nextval('bench_run'), -1, 1, 1, false, now(), now() - interval '1 minute', now(),
	60000000, 7340032000, 68719476736, 68719476736, 1.02, 6, 6, '{1,2,3,4,5,6,7,8,9,10,11,18262}', 1);
`

const copyRows = 500

// ingest is row 3: reports acknowledged after commit, against pgbench's INSERT of the
// same row by as many connections, and batches against COPY within the server.
func (b *bench) ingest(ctx context.Context) error {
	if err := b.place.holdDatabase(ctx, "0-1"); err != nil { // the same cluster for both
		return err
	}
	if err := b.place.teach(ctx, b.server, b.seed+5, "ingest", 60); err != nil {
		return err
	}
	task, err := b.prepareIngest(ctx)
	if err != nil {
		return err
	}
	span := max(b.span, 4*time.Second) // 64 connections take their time to be made
	tell := load{url: b.server.url + "/observe", token: b.place.token, bodies: reports(b.seed+6, 256), connections: 64, cpu: b.place.back, span: span}
	var acked, inserted, batched, copied []float64
	rounds := max(3, b.rounds-2)
	for round := range rounds {
		one := func() error {
			s, err := tell.run(ctx)
			acked = append(acked, s.rate())
			return err
		}
		other := func() error { return append1(&inserted)(b.pgbench(ctx, task, span)) }
		third := func() error { return append1(&batched)(b.batches(ctx, round)) }
		fourth := func() error { return append1(&copied)(b.copies(ctx, task, round)) }
		all := []func() error{one, other, third, fourth}
		if round%2 == 1 {
			all = []func() error{other, one, fourth, third}
		}
		for _, do := range all {
			if err := do(); err != nil {
				return err
			}
		}
	}
	b.say("observe %.0f/s acknowledged after commit, INSERT %.0f/s, 64 connections each (%d rounds of %s)", median(acked), median(inserted), rounds, span)
	b.say("batches of %d: observe %.0f rows/s, COPY %.0f rows/s", copyRows, median(batched), median(copied))
	b.say("observe/INSERT ratio: %s (goal 0.5)", ratioOf(acked, inserted))
	b.say("observe batch/COPY ratio: %s (goal 0.6)", ratioOf(batched, copied))
	return nil
}

// append1 takes a figure in.
func append1(to *[]float64) func(float64, error) error {
	return func(v float64, err error) error {
		*to = append(*to, v)
		return err
	}
}

// reports are bodies of /observe, each of another try.
func reports(seed uint64, n int) []string {
	r := dice(seed)
	all := make([]string, n)
	for i := range all {
		all[i] = text(report(r, "ingest", "reported__"+counterMark, time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)))
	}
	return all
}

// prepareIngest finds the task's number.
func (b *bench) prepareIngest(ctx context.Context) (task int64, err error) {
	conn, err := pgx.Connect(ctx, b.place.db.DSN())
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `CREATE SEQUENCE IF NOT EXISTS bench_run`); err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, `SELECT id FROM task WHERE task_id = 'ingest'`).Scan(&task)
	return task, err
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// pgbench inserts plain rows from 64 connections.
func (b *bench) pgbench(ctx context.Context, task int64, span time.Duration) (float64, error) {
	script := filepath.Join(b.place.dir, "insert.sql")
	if err := os.WriteFile(script, fmt.Appendf(nil, plainSQL, task), 0o600); err != nil {
		return 0, err
	}
	out, err := pinned(ctx, b.place.back, "pgbench", "-n", "-M", "prepared", "-c", "64", "-j", "1", "-T", fmt.Sprint(int(span.Seconds())), "-f", script, b.place.db.DSN()).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	found := tps.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("pgbench told no rate: %s", out)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// batches posts reports five hundred at a time from two callers, for a span. The bodies
// are written before it, as the files of COPY are.
func (b *bench) batches(ctx context.Context, round int) (float64, error) {
	var rows atomic.Int64
	var failed error
	var once sync.Once
	batch := make([]object, copyRows)
	r := dice(b.seed + 7)
	for i := range batch {
		batch[i] = report(r, "ingest", fmt.Sprintf("batched-%s-%d", counterMark, i), time.Date(2026, 2, 1, 0, 0, i, 0, time.UTC))
	}
	body := text(object{"observations": batch})
	begun := time.Now()
	var callers sync.WaitGroup
	for caller := range 2 {
		callers.Go(func() {
			for n := 0; time.Since(begun) < b.span; n++ {
				named := strings.ReplaceAll(body, counterMark, fmt.Sprintf("%d-%d-%d", round, caller, n))
				if err := b.place.post(ctx, b.server.url+"/observe/batch", named, nil); err != nil {
					once.Do(func() { failed = err })
					return
				}
				rows.Add(copyRows)
			}
		})
	}
	callers.Wait()
	return float64(rows.Load()) / time.Since(begun).Seconds(), failed
}

// copies reads files of five hundred rows within the server, one transaction each.
func (b *bench) copies(ctx context.Context, task int64, round int) (float64, error) {
	conn, err := pgx.Connect(ctx, b.place.db.DSN())
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
				"60000000", "7340032000", "68719476736", "68719476736", "1.02", "6", "6", "{1,2,3,4,5,6,7,8,9,10,11,18262}", "1"}) // a buffer takes everything
		}
		w.Flush()
		if err := os.WriteFile(filepath.Join(b.place.dir, fmt.Sprintf("copy-%d.csv", n)), text.Bytes(), 0o644); err != nil { //nolint:gosec // the database's user reads it
			return 0, err
		}
	}
	begun, done := time.Now(), 0
	for ; done < files && time.Since(begun) < b.span; done++ {
		sql := fmt.Sprintf(`COPY observation (task, run_id, map_index, try_number, outcome, provisional, at, started_at, ended_at, duration_us,
			memory_max, allocated_memory, requested_memory, cpu_max, allocated_cpu, requested_cpu, features, lot) FROM '%s' (FORMAT csv)`,
			filepath.Join(b.place.dir, fmt.Sprintf("copy-%d.csv", done)))
		if _, err := conn.Exec(ctx, sql); err != nil {
			return 0, err
		}
	}
	return float64(done*copyRows) / time.Since(begun).Seconds(), nil
}
