package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// flags defines the flags that say how a file is read.
func (i *importing) flags(cmd *command) {
	cmd.StringVar(&i.layout.Unit, "unit", "", "`unit` of the memory columns of a CSV: B, kB, MB, GB, TB, KiB, MiB, GiB or TiB; bytes if empty")
	cmd.Func("map", "`COLUMN=FIELD`: a column of a CSV under another name, such as peak=memory_max_bytes or rows=feature.rows; peak= leaves it out; may be repeated", i.mapColumn)
	cmd.BoolVar(&i.strict, "strict", false, "import all rows or none: where a row cannot be read nothing is sent, and the first batch with a row that the server refuses is the last")
}

// mapColumn reads COLUMN=FIELD.
func (i *importing) mapColumn(s string) error {
	column, field, ok := strings.Cut(s, "=")
	if column = strings.TrimSpace(column); !ok || column == "" {
		return fmt.Errorf("write COLUMN=FIELD, such as peak=memory_max_bytes")
	}
	if i.layout.Fields == nil {
		i.layout.Fields = map[string]string{}
	}
	if _, twice := i.layout.Fields[column]; twice {
		return fmt.Errorf("column %q is mapped twice", column)
	}
	i.layout.Fields[column] = strings.TrimSpace(field)
	return nil
}

// strictness is why a strict import fails; nil while nothing was refused.
func (i *importing) strictness() error {
	switch {
	case i.sum.refused > 0:
		return fmt.Errorf("%d rows were refused, and --strict takes all or none", i.sum.refused)
	case i.failedFiles > 0:
		return fmt.Errorf("%d files were not imported, and --strict takes all or none", i.failedFiles)
	}
	return nil
}

// allOrNone imports files; if that is strict, it reads all of them before it sends any.
func (i *importing) allOrNone(ctx context.Context, names []string) error {
	if !i.strict || i.into == nil {
		return i.files(ctx, names)
	}
	rewind := func() error { return nil }
	if slices.Contains(names, "-") {
		spooled, err := spool(i.con.in)
		if err != nil {
			return fmt.Errorf("keep standard input for its check: %w", err)
		}
		defer os.Remove(spooled.Name())
		defer spooled.Close()
		i.con.in = spooled
		rewind = func() error { _, err := spooled.Seek(0, io.SeekStart); return err }
	}
	check := &importing{con: console{in: i.con.in, out: io.Discard, err: i.con.err}, layout: i.layout, batch: i.batch, tasks: map[sizing.TaskKey]bool{}}
	err := check.files(ctx, names)
	if err == nil {
		err = check.strictness()
	}
	if err != nil {
		fmt.Fprintln(i.con.out, check.sum.say(true))
		return err
	}
	if err := rewind(); err != nil {
		return err
	}
	return i.files(ctx, names)
}

// spool copies a stream that can be read only once into a temporary file.
func spool(in io.Reader) (*os.File, error) {
	file, err := os.CreateTemp("", "loadaware-import-*")
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(file, in); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		os.Remove(file.Name())
		return nil, err
	}
	return file, nil
}
