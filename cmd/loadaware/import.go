package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trace"
)

const importUsage = `[flags] FILE…
       loadaware import airflow | prometheus | usage-log [flags] … (each with a --help of its own)

Sends history to a running server, or into its database. A FILE is CSV or JSON
lines, plain or gzip; - is standard input. Importing twice adds nothing, so an
import that was interrupted is simply repeated.

Where to: --url (LOADAWARE_URL), --database or --data if given; else the server
at LOADAWARE_ADDR (127.0.0.1:8080 if not set) if one answers; else DATABASE_URL if
set; else the data folder. A folder that a server holds is reached through it.

A CSV with other names and units needs no rewriting:
  loadaware import runs.csv --map peak=memory_max_bytes --map rows=feature.rows --map note= --unit GB

CSV columns: `

// importing is one run of the verb.
type importing struct {
	con      console
	layout   trace.Layout
	strict   bool // all rows, or none
	batch    int
	into     recorder // nil: a dry run
	sum      tally
	tasks    map[sizing.TaskKey]bool
	troubles []string // of the file being read, to be told behind its progress bar
	unsaid   int

	failedFiles int // of several, those that were not imported, or not to their end
	warnings    importWarnings
}

// tally counts what became of rows.
type tally struct{ read, added, there, amended, refused int }

// importSources are kinds of history beside files; a FILE of such a name is written ./airflow.
var importSources = map[string]func(ctx context.Context, con console, args []string) error{
	"airflow":    importAirflow,
	"prometheus": importPrometheus,
	"usage-log":  importUsageLogs,
}

func importHistory(ctx context.Context, con console, args []string) error {
	if len(args) > 0 && importSources[args[0]] != nil {
		return importSources[args[0]](ctx, con, args[1:])
	}
	cmd := newCommand("import", importUsage+strings.Join(trace.Columns(), ", "), "url", "token", "database", "data")
	dryRun := cmd.Bool("dry-run", false, "read and check, and send nothing")
	batch := cmd.Int("batch", 500, "rows sent at once, 1 to 10000")
	train := cmd.Bool("train", false, "then have the server train every task, and wait for it; else it trains them within seconds by itself")
	i := &importing{con: con, tasks: map[sizing.TaskKey]bool{}}
	i.flags(cmd)
	files, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if err := i.layout.Check(); err != nil {
		return usageErrorf("--map or --unit: %v", err)
	}
	if len(files) == 0 {
		return usageErrorf("name the files to import, or - for standard input; see loadaware import --help")
	}
	if *batch < 1 || *batch > 10_000 {
		return usageErrorf("--batch must be 1 to 10000, not %d", *batch)
	}
	i.batch = *batch
	return i.run(ctx, cmd, *dryRun, *train, func() error { return i.allOrNone(ctx, files) })
}

// run reads, sends to where the command line says, and trains if that is asked for.
func (i *importing) run(ctx context.Context, cmd *command, dryRun, train bool, read func() error) error {
	if !dryRun {
		into, closeIt, err := cmd.findRecorder(ctx, i.con)
		if err != nil {
			return err
		}
		defer closeIt()
		i.into = into
	}
	if err := read(); err != nil {
		return err
	}
	if train && i.into != nil {
		if err := i.train(ctx); err != nil {
			return err
		}
	}
	if i.strict {
		return i.strictness()
	}
	if i.sum.refused > 0 {
		return &partlyError{refused: i.sum.refused, files: i.failedFiles}
	}
	if i.failedFiles > 0 {
		return &partlyError{files: i.failedFiles}
	}
	return nil
}

// say sums up the import.
func (i *importing) say() string {
	said := i.sum.say(i.into == nil)
	if i.warnings.rows > 0 {
		said += fmt.Sprintf("; %d with warnings", i.warnings.rows)
	}
	return said
}

func (s tally) say(dryRun bool) string {
	if dryRun {
		return fmt.Sprintf("%d rows read: %d can be imported, %d refused; nothing was sent", s.read, s.read-s.refused, s.refused)
	}
	return fmt.Sprintf("%d rows read: %d new, %d already there, %d amended, %d refused", s.read, s.added, s.there, s.amended, s.refused)
}

func (i *importing) file(ctx context.Context, name string) error {
	in, size, err := i.open(name)
	if err != nil {
		return &fileError{err}
	}
	defer in.Close()
	bar := progressbar.NewOptions64(size, progressbar.OptionSetDescription(name), progressbar.OptionShowBytes(true),
		progressbar.OptionSetWriter(i.con.err), progressbar.OptionSetVisibility(isTerminal(i.con.err)),
		progressbar.OptionClearOnFinish())
	defer i.tellTroubles(name)
	defer func() { _ = bar.Finish() }() // it only draws
	rows, err := trace.OpenAs(io.TeeReader(in, bar), i.layout)
	if err != nil {
		return &fileError{err}
	}
	before := i.sum.read
	if err := i.rows(ctx, rows); err != nil {
		return err
	}
	if i.sum.read == before {
		return &fileError{errNoRows}
	}
	return nil
}

// open is a file with its size; -1 for standard input, whose size is not known.
func (i *importing) open(name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(i.con.in), -1, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// rows sends what can be read, batch by batch.
func (i *importing) rows(ctx context.Context, in *trace.Reader) error {
	batch := make([]trace.Row, 0, i.batch)
	for row, err := range in.All() {
		var lost *trace.RowError
		if err != nil && !errors.As(err, &lost) {
			if unsent := i.send(ctx, batch); unsent != nil {
				return errors.Join(unsent, err)
			}
			return &fileError{err}
		}
		i.sum.read++
		if err != nil {
			i.refuse(err.Error())
			continue
		}
		i.warnings.zones.add(row.Zoneless, row.Line)
		if batch = append(batch, row); len(batch) == cap(batch) {
			if err := i.send(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return i.send(ctx, batch)
}

// send has a batch recorded and counts what became of it.
func (i *importing) send(ctx context.Context, batch []trace.Row) error {
	if i.into == nil {
		for n := range batch {
			i.warn(&batch[n].Observation, nil, fmt.Sprintf("line %d", batch[n].Line))
		}
		return ctx.Err()
	}
	if len(batch) == 0 {
		return ctx.Err()
	}
	observations := make([]sizing.Observation, len(batch))
	for n := range batch {
		observations[n] = batch[n].Observation
	}
	recorded, err := i.into.Record(ctx, observations)
	if err != nil {
		return err
	}
	for n := range recorded {
		i.count(&observations[n], &recorded[n], fmt.Sprintf("line %d", batch[n].Line))
	}
	if i.strict {
		return i.strictness()
	}
	return nil
}

// count takes in what became of one observation, which stood at a place.
func (i *importing) count(o *sizing.Observation, r *sizing.Recorded, place string) {
	i.tasks[o.Try.TaskKey] = true
	if r.Err == nil {
		i.warn(o, r, place)
	}
	switch {
	case r.Err != nil:
		i.refuse(fmt.Sprintf("%s: %v", place, r.Err))
	case r.Amended:
		i.sum.amended++
	case r.Duplicate:
		i.sum.there++
	default:
		i.sum.added++
	}
}

// troublesSaid bounds what is printed of one file: a wrong column makes every row
// a trouble, and the first ones tell it all.
const troublesSaid = 50

func (i *importing) refuse(why string) {
	i.sum.refused++
	if len(i.troubles) == troublesSaid {
		i.unsaid++
		return
	}
	i.troubles = append(i.troubles, why)
}

func (i *importing) tellTroubles(name string) {
	for _, trouble := range i.troubles {
		fmt.Fprintf(i.con.err, "%s: %s\n", name, trouble)
	}
	if i.unsaid > 0 {
		fmt.Fprintf(i.con.err, "%s: and %d more rows refused\n", name, i.unsaid)
	}
	i.troubles, i.unsaid = nil, 0
	i.warnings.print(i.con.err, name)
}

// train has the server train every task that was imported.
func (i *importing) train(ctx context.Context) error {
	server, ok := i.into.(*serverRecorder)
	if !ok {
		fmt.Fprintln(i.con.err, "no server runs on that database: it will train when one does")
		return nil
	}
	byName := func(a, b sizing.TaskKey) int { return strings.Compare(a.String(), b.String()) }
	for _, task := range slices.SortedFunc(maps.Keys(i.tasks), byName) {
		said, err := server.train(ctx, task)
		if err != nil {
			return fmt.Errorf("train %s: %w", task, err)
		}
		fmt.Fprintf(i.con.out, "%s: %s\n", task, said)
	}
	return nil
}
