// Command bench-http measures what the service costs its callers, against bare
// programs that do as little as can be done, in turn and in one run:
//
//	make bench-http               all rows, some ten minutes
//	make bench-http BENCH=short   rows 1 to 3, for CI
//	make bench-http BENCH=long    with ten million observations
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

// raw is JSON that was written already.
type raw = json.RawMessage

// bench is one run.
type bench struct {
	seed    uint64
	form    string // short, full or long
	rounds  int
	span    time.Duration // of one load of one round
	runs    int           // of the task that is asked about
	place   *place
	profile string
	under   string // the load that is profiled
	rival   rival
	server  *server // on the database "postgres" of the place
	echo    *server
}

func main() {
	form := flag.String("form", "full", "short, full or long")
	rows := flag.String("rows", "", "of the table, such as 1,3; those of the form if empty")
	seed := flag.Uint64("seed", 1, "of histories and questions")
	bin := flag.String("bin", "bin/loadaware", "the server")
	profile := flag.String("profile", "", "write a CPU profile of the server to this file, and measure nothing")
	under := flag.String("under", "single", "the load that is profiled: single questions, new ones (features never seen), many (batches of a hundred), reports, or batches of them")
	rivalURL := flag.String("rival", "", "where another server of models is asked, for row 16")
	rivalBody := flag.String("rival-body", "", "a file with the body of a question to it")
	echoAddr := flag.String("echo", "", "serve the echo on this address, and measure nothing")
	flag.Parse()
	if *echoAddr != "" {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(*echoAddr, echo())) //nolint:gosec // on loopback, for a measurement
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{profile: *profile, under: *under, rival: rival{*rivalURL, *rivalBody}, seed: *seed, form: *form, rounds: 7, span: 4 * time.Second, runs: 2500}
	if *form == "short" {
		b.rounds, b.span, b.runs = 5, time.Second, 1500
	}
	if err := b.run(ctx, *bin, *rows); err != nil {
		fmt.Fprintln(os.Stderr, "bench-http:", err)
		os.Exit(1)
	}
}

func (b *bench) say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// run measures the rows that were asked for.
func (b *bench) run(ctx context.Context, bin, rows string) (err error) {
	front, back := cores()
	uptime, _ := exec.CommandContext(ctx, "uptime").Output() // only told
	b.say("%s, %d cores: server on %q, wrk and PostgreSQL on %q; seed %d, form %s, %s", time.Now().UTC().Format(time.DateTime), runtime.NumCPU(), front, back, b.seed, b.form, strings.TrimSpace(string(uptime)))
	if b.place, err = newPlace(ctx, bin, front, back); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.place.close()) }()
	if b.server, err = b.place.serve(ctx, front, b.place.db.DSN()); err != nil {
		return err
	}
	if b.echo, err = b.place.serveEcho(ctx, front); err != nil {
		return err
	}
	if err := b.place.teach(ctx, b.server, b.seed, name, b.runs); err != nil {
		return err
	}
	if err := b.tellModel(ctx); err != nil {
		return err
	}
	if b.profile != "" {
		return b.profiled(ctx)
	}
	for _, row := range b.table() {
		if wanted(rows, row.number, row.short || b.form != "short") {
			b.say("\nrow %s: %s", row.number, row.title)
			if err := row.measure(ctx); err != nil {
				return fmt.Errorf("row %s: %w", row.number, err)
			}
		}
	}
	return nil
}

// row is one line of what is measured.
type row struct {
	number, title string
	short         bool // measured in the short form too
	measure       func(context.Context) error
}

func (b *bench) table() []row {
	all := []row{
		{"1", "single questions against a bare echo", true, b.single},
		{"2", "latency at half of the maximum, training and observing", true, b.steady},
		{"3", "reports against INSERT and COPY", true, b.ingest},
		{"4", "cost as tasks, observations and replicas grow", false, b.growth},
	}
	if b.rival.url != "" {
		all = append(all, row{"16", "single questions against another server of models", true, b.against})
	}
	return all
}

// wanted reports whether a row was asked for.
func wanted(rows, number string, byForm bool) bool {
	if rows == "" {
		return byForm
	}
	for asked := range strings.SplitSeq(rows, ",") {
		if asked == number {
			return true
		}
	}
	return false
}

// cores are those of the server and of what asks it; none where there is one only.
func cores() (front, back string) {
	if runtime.NumCPU() < 2 {
		return "", ""
	}
	return "1", "0"
}
