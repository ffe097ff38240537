package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/config"
	"github.com/loadaware/loadaware/internal/httpserver"
	"github.com/loadaware/loadaware/internal/importer"
)

// console has the standard streams of a verb.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// forImport returns the console of an import.
func (con console) forImport() importer.Console {
	return importer.Console{In: con.in, Out: con.out, Err: con.err, Progress: isTerminal(con.err)}
}

// printRetry prints that a request is retried.
func (con console) printRetry(err error, pause time.Duration) {
	fmt.Fprintf(con.err, "%v; trying again in %s\n", err, pause.Round(100*time.Millisecond))
}

const exitCodes = `Exit codes:
  0  done
  1  failed
  2  the command line or the configuration is invalid
  3  partly done: some rows were refused, or some files were not imported
  130, 143  interrupted by SIGINT or SIGTERM
`

// usage prints the help of the command.
func (con console) usage(w io.Writer) {
	fmt.Fprint(w, "loadaware sizes Airflow tasks: it predicts before a launch and learns from reports afterwards.\n\nUsage: loadaware COMMAND [flags]\n\nCommands:\n")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-10s %s\n", v.name, v.summary)
	}
	fmt.Fprint(w, "\nloadaware --version prints the version.\nloadaware COMMAND --help lists every flag with its default and its environment variable.\n\n", exitCodes)
}

// usageErrorf returns the error of an invalid command line or configuration.
func usageErrorf(format string, args ...any) error {
	return config.Errorf(format, args...)
}

// errorMessage returns the message to print for an error, or "" for none.
func errorMessage(err error) string {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return ""
	}
	return err.Error()
}

// exitCode returns the exit code that exitCodes documents.
func exitCode(err error) int {
	var usage *config.Error
	var server *httpserver.ConfigError
	var partial *importer.PartialError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage), errors.As(err, &server), errors.Is(err, client.ErrInvalidURL):
		return 2
	case errors.As(err, &partial):
		return 3
	}
	return 1
}
