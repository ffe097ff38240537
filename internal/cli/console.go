// Package cli contains the parts that the subcommands of loadaware share: flags with environment
// variables, the standard streams, and exit codes.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/config"
	"github.com/loadaware/loadaware/internal/httpserver"
	"github.com/loadaware/loadaware/internal/importer"
)

// Subcommand is a command of loadaware, such as import, or a command below another one, such as run below experiment.
type Subcommand struct {
	Name, Summary string
	Run           func(ctx context.Context, con Console, args []string) error
}

// Console has the standard streams of a command.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// ForImport returns the console of an import.
func (con Console) ForImport() importer.Console {
	return importer.Console{In: con.In, Out: con.Out, Err: con.Err, Progress: IsTerminal(con.Err)}
}

// PrintRetry prints that a request is retried.
func (con Console) PrintRetry(err error, pause time.Duration) {
	fmt.Fprintf(con.Err, "%v; trying again in %s\n", err, pause.Round(100*time.Millisecond))
}

// ExitCodes describes the exit codes in help texts.
const ExitCodes = `Exit codes:
  0  done
  1  failed
  2  the command line or the configuration is invalid, or the server rejects a value (422)
  3  done, but some or all rows or structures of DAGs were rejected, or some files were not imported completely
  129, 130, 143  interrupted by SIGHUP, SIGINT or SIGTERM
`

// UsageErrorf returns the error of an invalid command line or configuration, whose exit code is 2.
func UsageErrorf(format string, args ...any) error {
	return config.Errorf(format, args...)
}

// ErrorMessage returns the message to print for an error, or "" for none.
func ErrorMessage(err error) string {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return ""
	}
	return err.Error()
}

// ExitCode returns the exit code of an error. It does not handle interruptions; package interrupt returns the exit
// codes after a signal.
func ExitCode(err error) int {
	var usage *config.Error
	var server *httpserver.ConfigError
	var partial *importer.PartialError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage), errors.As(err, &server), errors.Is(err, client.ErrInvalidURL), client.IsStatus(err, http.StatusUnprocessableEntity):
		return 2
	case errors.As(err, &partial):
		return 3
	}
	return 1
}
