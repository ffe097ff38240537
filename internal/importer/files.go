package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

// fileError is an error that affects one file only, so that the other files can still be imported.
type fileError struct{ error }

func (e *fileError) Unwrap() error { return e.error }

var errNoRows = errors.New("the file has a header and no rows: nothing was imported from it")

// Files imports the named files; "-" is standard input. A strict import reads all files
// before it sends the first row.
func (i *Importer) Files(ctx context.Context, names []string) error {
	if !i.Strict || i.Target == nil {
		return i.files(ctx, names)
	}
	rewind := func() error { return nil }
	if slices.Contains(names, "-") {
		spooled, err := spool(i.con.In)
		if err != nil {
			return fmt.Errorf("copy standard input for the strict check: %w", err)
		}
		defer os.Remove(spooled.Name())
		defer spooled.Close()
		i.con.In = spooled
		rewind = func() error { _, err := spooled.Seek(0, io.SeekStart); return err }
	}
	dryRun := New(Console{In: i.con.In, Out: io.Discard, Err: i.con.Err}, i.batchSize)
	dryRun.Layout = i.Layout
	err := dryRun.files(ctx, names)
	if err == nil {
		err = dryRun.strictError()
	}
	if err != nil {
		fmt.Fprintln(i.con.Out, dryRun.counts.dryRun())
		return err
	}
	if err := rewind(); err != nil {
		return err
	}
	return i.files(ctx, names)
}

// spool copies a stream into a temporary file, so that it can be read twice.
func spool(in io.Reader) (*os.File, error) {
	temporary, err := os.CreateTemp("", "loadaware-import-*")
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(temporary, in); err == nil {
		_, err = temporary.Seek(0, io.SeekStart)
	}
	if err != nil {
		temporary.Close()
		os.Remove(temporary.Name())
		return nil, err
	}
	return temporary, nil
}

func (i *Importer) files(ctx context.Context, names []string) error {
	var last error
	for n, name := range names {
		err := i.file(ctx, name)
		if err == nil {
			continue
		}
		last = fmt.Errorf("%s: %w", name, err)
		if fileFault := (*fileError)(nil); !errors.As(err, &fileFault) {
			if rest := names[n+1:]; len(rest) > 0 {
				fmt.Fprintf(i.con.Err, "not read: %s\n", strings.Join(rest, ", "))
			}
			break
		}
		i.failedFiles++
		if len(names) > 1 {
			fmt.Fprintln(i.con.Err, last)
		}
	}
	fmt.Fprintln(i.con.Out, i.summary())
	if last == nil {
		last = i.sendStructures(ctx)
	}
	return i.filesResult(last, len(names))
}

// filesResult returns the error of an import of files, whose last error is `last`. It returns nil if at least one file was
// imported to its end and every error was a fileError. Importer.Result then reports rejected rows and failed files.
func (i *Importer) filesResult(last error, files int) error {
	fileFault := (*fileError)(nil)
	switch {
	case last == nil:
		return nil
	case errors.As(last, &fileFault) && files > 1 && i.failedFiles < files:
		return nil // a partial import
	case errors.As(last, &fileFault) && files > 1:
		return fmt.Errorf("none of the %d files was imported to its end", files)
	case i.counts.added > 0:
		return fmt.Errorf("%w (stored rows stay; repeat the import, which adds only the rest)", last)
	}
	return last
}

func (i *Importer) file(ctx context.Context, name string) error {
	in, size, err := i.open(name)
	if err != nil {
		return &fileError{err}
	}
	defer in.Close()
	bar := i.con.progress(size, name, progressbar.OptionShowBytes(true))
	defer i.printProblems(name)
	defer func() { _ = bar.Finish() }() // a drawing error does not matter
	rows, err := file.OpenAs(io.TeeReader(in, bar), i.Layout)
	if err != nil {
		return &fileError{err}
	}
	before := i.counts.read
	if err := i.rows(ctx, rows); err != nil {
		return err
	}
	if i.counts.read == before {
		return &fileError{errNoRows}
	}
	return nil
}

func (i *Importer) open(name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(i.con.In), -1, nil
	}
	in, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, in.Close())
	}
	return in, info.Size(), nil
}

// rows reads the rows of a file and sends them in batches. It sends the first row only after the unit check has decided or the
// file has ended.
func (i *Importer) rows(ctx context.Context, in *file.Reader) error {
	units := file.NewUnitCheck(&i.Layout, in)
	batch := make([]file.Row, 0, i.batchSize)
	for row, err := range in.All() {
		var rowError *file.RowError
		if err != nil && !errors.As(err, &rowError) {
			if sendErr := i.sendChecked(ctx, batch, &units); sendErr != nil {
				return errors.Join(sendErr, err)
			}
			return &fileError{err}
		}
		i.counts.read++
		if err != nil {
			i.reject(err.Error())
			continue
		}
		i.warnings.zones.add(row.Zoneless, row.Line)
		batch = append(batch, row)
		if units.Add(&row.Observation) && len(batch) >= i.batchSize {
			if err := i.sendChecked(ctx, batch, &units); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return i.sendChecked(ctx, batch, &units)
}

func (i *Importer) sendChecked(ctx context.Context, rows []file.Row, units *file.UnitCheck) error {
	if err := unitError(units); err != nil {
		i.counts.rejected += len(rows)
		return &fileError{err}
	}
	for batch := range slices.Chunk(rows, i.batchSize) {
		if err := i.send(ctx, batch); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (i *Importer) send(ctx context.Context, batch []file.Row) error {
	if i.Target == nil {
		for n := range batch {
			i.warn(&batch[n].Observation, nil, fmt.Sprintf("line %d", batch[n].Line))
			i.upstream.add(batch[n].Observation.Try.TaskKey, batch[n].Upstream)
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
	recorded, err := i.Target.Record(ctx, observations)
	if err != nil {
		return err
	}
	for n := range recorded {
		i.count(&observations[n], &recorded[n], fmt.Sprintf("line %d", batch[n].Line))
		if recorded[n].Err == nil {
			i.upstream.add(observations[n].Try.TaskKey, batch[n].Upstream)
		}
	}
	if i.Strict {
		return i.strictError()
	}
	return nil
}
