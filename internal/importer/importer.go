// Package importer sends histories to a loadaware server or into its database.
//
//	files                        ──rows──▶ Importer ──batches──▶ Target
//	Airflow, Prometheus, logs    ──tries─▶ TriesImporter ─┘
//
// The package joins the data of several sources about a try, counts the results of the rows, and
// prints the counts. It does not depend on the command line.
//
// A new source of history needs a reader in internal/source, a method of TriesImporter in a
// file of this package, such as prometheus.go, and a command in internal/cli/imports/sources.go.
package importer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

// Target stores observations and structures of DAGs. It is a client of a server, or a store.
type Target interface {
	// Record returns one result for each observation, after the commit.
	Record(context.Context, []sizing.Observation) ([]sizing.RecordResult, error)
	// SetStructure replaces the structure of a DAG.
	SetStructure(context.Context, sizing.Structure) error
}

// Console is the input and output of an import.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Progress bool // show progress bars on Err
}

// Importer imports rows batch by batch and counts their results.
type Importer struct {
	Layout file.Layout // of CSV files
	Strict bool        // send nothing if a row or a file cannot be read, and stop after a batch with a rejected row
	Target Target      // nil for a dry run

	con         Console
	batchSize   int
	counts      counts
	tasks       map[sizing.TaskKey]bool // for Train
	upstream    dependencies            // of the accepted rows (in a dry run of all readable rows), or of the DAGs in Airflow
	rejections  Rejections              // of the current file; printed after its progress bar has ended
	failedFiles int                     // number of files that were not imported, or not to their end
	warnings    warnings

	rejectedStructures int // number of DAGs
}

// New returns an Importer for a dry run; set Target to import.
func New(con Console, batchSize int) *Importer {
	return &Importer{con: con, batchSize: batchSize, tasks: map[sizing.TaskKey]bool{}, upstream: dependencies{}}
}

type counts struct{ read, added, duplicate, amended, rejected int }

// String formats the counts of an import.
func (c counts) String() string {
	return fmt.Sprintf("%s read: %d new, %d already there, %d amended, %d rejected", render.Count(c.read, "row"), c.added, c.duplicate, c.amended, c.rejected)
}

func (c counts) dryRun() string {
	return fmt.Sprintf("%s read: %d can be imported, %d rejected; nothing was sent", render.Count(c.read, "row"), c.read-c.rejected, c.rejected)
}

// PartialError means that the import or the backtest ran to its end, but some or all rows or structures of DAGs were rejected, or
// some files were not imported to their end. The reasons have been printed.
type PartialError struct{ Rows, Files, Structures int }

// Error implements error.
func (e *PartialError) Error() string {
	var parts []string
	if e.Files > 0 {
		parts = append(parts, render.Count(e.Files, "file")+" not imported, or not to the end")
	}
	if e.Rows > 0 {
		parts = append(parts, render.Count(e.Rows, "row")+" rejected")
	}
	if e.Structures > 0 {
		parts = append(parts, "structures of "+render.Count(e.Structures, "DAG")+" rejected")
	}
	return strings.Join(parts, "; ")
}

// Result returns nil if everything was imported, and otherwise a *PartialError, or the
// error of a strict import.
func (i *Importer) Result() error {
	if i.Strict {
		return i.strictError()
	}
	if i.counts.rejected > 0 || i.failedFiles > 0 || i.rejectedStructures > 0 {
		return &PartialError{Rows: i.counts.rejected, Files: i.failedFiles, Structures: i.rejectedStructures}
	}
	return nil
}

func (i *Importer) strictError() error {
	switch {
	case i.counts.rejected > 0:
		return fmt.Errorf("%s rejected, and --strict stops the import", render.Count(i.counts.rejected, "row"))
	case i.failedFiles > 0:
		return fmt.Errorf("%s not imported, and --strict stops the import", render.Count(i.failedFiles, "file"))
	case i.rejectedStructures > 0:
		return fmt.Errorf("structures of %s rejected, and --strict stops the import", render.Count(i.rejectedStructures, "DAG"))
	}
	return nil
}

// Train trains the imported tasks if Target is a server. If Target is a store, Train only prints which server trains the
// tasks. In a dry run it does nothing.
func (i *Importer) Train(ctx context.Context) error {
	if i.Target == nil {
		return nil
	}
	server, ok := i.Target.(*client.Client)
	if !ok {
		fmt.Fprintln(i.con.Out, "a server on that database trains the tasks: one that runs now, or the next one that starts")
		return nil
	}
	byName := func(a, b sizing.TaskKey) int { return strings.Compare(a.String(), b.String()) }
	for _, task := range slices.SortedFunc(maps.Keys(i.tasks), byName) {
		result, err := server.Train(ctx, task)
		if err != nil {
			return fmt.Errorf("train %s: %w", task, err)
		}
		fmt.Fprintf(i.con.Out, "%s: %s\n", task, result)
	}
	return nil
}

func (i *Importer) summary() string {
	text := i.counts.String()
	if i.Target == nil {
		text = i.counts.dryRun()
	}
	if i.warnings.rows > 0 {
		text += fmt.Sprintf("; %d with warnings", i.warnings.rows)
	}
	return text
}

// count adds the result of one observation. location names its line or its try.
func (i *Importer) count(o *sizing.Observation, r *sizing.RecordResult, location string) {
	if r.Err == nil {
		i.tasks[o.Try.TaskKey] = true
		i.warn(o, r, location)
	}
	switch {
	case r.Err != nil:
		i.reject(fmt.Sprintf("%s: %v", location, r.Err))
	case r.Amended:
		i.counts.amended++
	case r.Duplicate:
		i.counts.duplicate++
	default:
		i.counts.added++
	}
}

// maxPrintedRejections limits the output for one file, because a wrong column leads to a rejection of every row.
const maxPrintedRejections = 50

// Rejections are the reasons for which rows of a file are rejected.
type Rejections struct {
	reasons   []string
	unprinted int // number of rejections beyond maxPrintedRejections
}

// Add adds the reason of one row.
func (r *Rejections) Add(reason string) {
	if len(r.reasons) == maxPrintedRejections {
		r.unprinted++
		return
	}
	r.reasons = append(r.reasons, reason)
}

// Print prints the reasons, and removes them.
func (r *Rejections) Print(to io.Writer, name string) {
	for _, reason := range r.reasons {
		fmt.Fprintf(to, "%s: %s\n", name, reason)
	}
	if r.unprinted > 0 {
		fmt.Fprintf(to, "%s: and %s rejected\n", name, render.Count(r.unprinted, "more row"))
	}
	*r = Rejections{}
}

func (i *Importer) reject(reason string) {
	i.counts.rejected++
	i.rejections.Add(reason)
}

func (i *Importer) printProblems(name string) {
	i.rejections.Print(i.con.Err, name)
	i.warnings.print(i.con.Err, name)
}

// progress returns a progress bar on the error stream; -1 is an unknown total.
func (c Console) progress(total int64, description string, options ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, append([]progressbar.Option{
		progressbar.OptionSetDescription(description), progressbar.OptionSetWriter(c.Err),
		progressbar.OptionSetVisibility(c.Progress), progressbar.OptionClearOnFinish(),
	}, options...)...)
}
