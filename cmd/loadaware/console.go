package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// console is where a verb reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// isTerminal reports whether a person reads w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

const exitCodes = `Exit codes:
  0  done
  1  failed
  2  the command line or the configuration is wrong
  3  done in part: some rows were refused, or some of several files not imported
  130, 143  interrupted by SIGINT or SIGTERM
`

func (con console) usage(w io.Writer) {
	fmt.Fprint(w, "loadaware sizes Airflow tasks: it is asked before a launch, and told afterwards.\n\nUsage: loadaware COMMAND [flags]\n\nCommands:\n")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-10s %s\n", v.name, v.does)
	}
	fmt.Fprint(w, "\nloadaware --version says which build this is.\nloadaware COMMAND --help says every flag, its default and its environment variable.\n\n", exitCodes)
}

// usageError is a command line or a configuration that cannot be followed.
type usageError struct{ detail string }

func (e *usageError) Error() string { return e.detail }

func usageErrorf(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// partlyError is work that was done for some rows and files and not for others, which
// have been named already.
type partlyError struct{ refused, files int }

func (e *partlyError) Error() string {
	var parts []string
	if e.files > 0 {
		parts = append(parts, fmt.Sprintf("%d files were not imported, or not to their end", e.files))
	}
	if e.refused > 0 {
		parts = append(parts, fmt.Sprintf("%d rows were refused", e.refused))
	}
	return strings.Join(parts, "; ")
}

// complaint is what is to be said of an error; "" where all was said.
func complaint(err error) string {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return ""
	}
	return err.Error()
}

func exitCode(err error) int {
	var usage *usageError
	var partly *partlyError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		return 2
	case errors.As(err, &partly):
		return 3
	}
	return 1
}
