package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// fileError is what is wrong with one file. Other files can still be imported.
type fileError struct{ error }

func (e *fileError) Unwrap() error { return e.error }

var errNoRows = errors.New("the file has a header and no rows: nothing was imported from it")

// files imports one file after the other, then prints the tally. A file that cannot be
// read is named and does not stop the others; a server or a database that takes no more
// rows does, and then the files that were not read are named.
func (i *importing) files(ctx context.Context, names []string) error {
	var last error
	for n, name := range names {
		err := i.file(ctx, name)
		if err == nil {
			continue
		}
		last = fmt.Errorf("%s: %w", name, err)
		if bad := (*fileError)(nil); !errors.As(err, &bad) {
			if rest := names[n+1:]; len(rest) > 0 {
				fmt.Fprintf(i.con.err, "not read: %s\n", strings.Join(rest, ", "))
			}
			break
		}
		i.failedFiles++
		if len(names) > 1 {
			fmt.Fprintln(i.con.err, last)
		}
	}
	fmt.Fprintln(i.con.out, i.sum.say(i.into == nil))
	return i.verdict(last, len(names))
}

// verdict is what running all files comes to, if the last error was this one: nil where
// run has the rest to say.
func (i *importing) verdict(last error, files int) error {
	bad := (*fileError)(nil)
	switch {
	case last == nil:
		return nil
	case errors.As(last, &bad) && files > 1 && i.failedFiles < files:
		return nil // in part
	case errors.As(last, &bad) && files > 1:
		return fmt.Errorf("none of the %d files was imported to its end", files)
	case i.sum.added > 0:
		return fmt.Errorf("%w (what was stored stays; repeat the import, which adds only the rest)", last)
	}
	return last
}
