// Command bench-http measures the throughput and the latency of the service. The method
// bench.table lists the measurements as numbered rows. Rows 1 and 2 compare the service with an echo server, and
// row 3 compares it with INSERT and COPY in PostgreSQL. Both sides are measured alternately.
//
//	make bench-http               rows 1 to 4, about ten minutes
//	make bench-http BENCH=short   rows 1 to 3, for CI
//	make bench-http BENCH=long    rows 1 to 4, row 4 with up to ten million observations
//
// Row 16 compares the service with another model server (mlflow/compare.sh).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

type raw = json.RawMessage

type bench struct {
	seed         uint64
	form         string // short, full or long
	rounds       int
	length       time.Duration // of each load in each round
	runs         int           // number of runs of predictedTask that are reported before its model is trained
	env          *benchEnv
	profile      string // file for a CPU profile; if it is not empty, no rows are measured
	profiledLoad string // the load during which to profile
	other        otherServer
	server       *server // the service, with the database "postgres" of env
	echo         *server
}

func main() {
	form := flag.String("form", "full", "extent of the benchmark: short, full or long")
	rows := flag.String("rows", "", "numbers of the rows to measure, such as 1,3; if empty, the rows of the form")
	seed := flag.Uint64("seed", 1, "seed of the histories and the requests")
	bin := flag.String("bin", "bin/loadaware", "path of the loadaware binary")
	profile := flag.String("profile", "", "measure no rows; write a CPU profile of the server to this file, and its allocations to this file with the suffix .allocs")
	profiledLoad := flag.String("under", "single", "load during which to profile: single (predictions), new (predictions, each with a value of a feature that no other request has), many (batches of 100 predictions), reports, or batches (of reports)")
	otherURL := flag.String("other", "", "URL of another model server, for row 16")
	otherBody := flag.String("other-body", "", "file with the body of a request to the other model server")
	echoAddr := flag.String("echo", "", "only run the echo server, on this address")
	flag.Parse()
	if *echoAddr != "" {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(*echoAddr, echo())) //nolint:gosec // on loopback, for a benchmark
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{profile: *profile, profiledLoad: *profiledLoad, other: otherServer{url: *otherURL, bodyFile: *otherBody}, seed: *seed, form: *form, rounds: 7, length: 4 * time.Second, runs: 2500}
	if *form == "short" {
		b.rounds, b.length, b.runs = 5, time.Second, 1500
	}
	if err := b.run(ctx, *bin, *rows); err != nil {
		fmt.Fprintln(os.Stderr, "bench-http:", err)
		os.Exit(1)
	}
}

func (b *bench) printf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// run measures the selected rows. If b.profile is set, it writes profiles instead.
func (b *bench) run(ctx context.Context, bin, rows string) (err error) {
	serverCPU, loadCPU := cores()
	uptime, _ := exec.CommandContext(ctx, "uptime").Output() // for the header of the output only
	b.printf("%s, %d cores: server on %q, wrk and pgbench on %q; seed %d, form %s, %s", time.Now().UTC().Format(time.DateTime), runtime.NumCPU(), serverCPU, loadCPU, b.seed, b.form, strings.TrimSpace(string(uptime)))
	if b.env, err = newBenchEnv(ctx, bin, loadCPU); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.env.close()) }()
	if b.server, err = b.env.serve(ctx, serverCPU, b.env.db.DSN()); err != nil {
		return err
	}
	if b.echo, err = b.env.serveEcho(ctx, serverCPU); err != nil {
		return err
	}
	if err := b.env.addTask(ctx, b.server, b.seed, predictedTask, b.runs); err != nil {
		return err
	}
	if err := b.printModel(ctx); err != nil {
		return err
	}
	if b.profile != "" {
		return b.runProfile(ctx)
	}
	for _, row := range b.table() {
		if isSelected(rows, row.number, row.short || b.form != "short") {
			b.printf("\nrow %s: %s", row.number, row.title)
			if err := row.measure(ctx); err != nil {
				return fmt.Errorf("row %s: %w", row.number, err)
			}
		}
	}
	return nil
}

type row struct {
	number, title string
	short         bool // also measured in the short form
	measure       func(context.Context) error
}

// table returns the rows. It contains row 16 only if the URL of another model server is given. No row has a number from 5 to
// 15.
func (b *bench) table() []row {
	rows := []row{
		{"1", "single predictions against an echo server", true, b.benchSingle},
		{"2", "latency at half of the maximum rate, during trainings and reports", true, b.benchSteady},
		{"3", "reports against INSERT and COPY", true, b.benchIngest},
		{"4", "cost as the numbers of tasks, observations and replicas grow", false, b.benchGrowth},
	}
	if b.other.url != "" {
		rows = append(rows, row{"16", "single predictions against another model server", true, b.benchOtherServer})
	}
	return rows
}

// isSelected reports whether the list `rows` contains a number. If the list is empty, it returns byForm.
func isSelected(rows, number string, byForm bool) bool {
	if rows == "" {
		return byForm
	}
	for selected := range strings.SplitSeq(rows, ",") {
		if selected == number {
			return true
		}
	}
	return false
}

// cores returns the CPU core of the server and that of wrk and pgbench; empty on a machine with a single core.
func cores() (serverCPU, loadCPU string) {
	if runtime.NumCPU() < 2 {
		return "", ""
	}
	return "1", "0"
}
