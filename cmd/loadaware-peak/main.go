//go:build linux

// Command loadaware-peak runs a program in a container and leaves what it used at most in
// the container's termination message. docs/peak.md tells how and what.
//
//	loadaware-peak install DIR                    copies itself, for an init container
//	loadaware-peak [-to FILE] -- COMMAND ARG…     runs and measures
//
// The program comes first: whatever goes wrong in here, it runs and ends as if it were
// alone, only unmeasured.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
)

const (
	defaultFile = "/dev/termination-log"
	fileEnv     = "LOADAWARE_PEAK_FILE"
)

const usageText = `usage: loadaware-peak [-to FILE] -- COMMAND [ARG…]
       loadaware-peak install DIR

Runs the command and leaves its peak of memory and CPU in FILE
(default: $` + fileEnv + `, else ` + defaultFile + `).
`

// As shells have it: a command that is not there, or may not be run.
const (
	exitUsage    = 2
	exitNoExec   = 126
	exitNotFound = 127
)

func main() {
	args := os.Args[1:]
	if len(args) == 2 && args[0] == "install" {
		if err := install(args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "loadaware-peak:", err)
			os.Exit(1)
		}
		return
	}
	command, file := parse(args)
	if len(command) == 0 {
		fmt.Fprint(os.Stderr, usageText)
		os.Exit(exitUsage)
	}
	path, err := lookup(command[0])
	if err == nil {
		err = run(path, command, file)
	}
	fmt.Fprintln(os.Stderr, "loadaware-peak:", err)
	if errors.Is(err, os.ErrNotExist) {
		os.Exit(exitNotFound)
	}
	os.Exit(exitNoExec)
}

// parse splits the command from our flags. Flags that nobody knows cost the measurement,
// not the program.
func parse(args []string) (command []string, file *message) {
	flags := flag.NewFlagSet("loadaware-peak", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	to := flags.String("to", "", "")
	if err := flags.Parse(args); err != nil {
		i := slices.Index(args, "--")
		if i < 0 {
			return nil, nil
		}
		fmt.Fprintln(os.Stderr, "loadaware-peak: not measured:", err)
		return args[i+1:], nil
	}
	named := cmp.Or(*to, os.Getenv(fileEnv))
	return flags.Args(), &message{path: cmp.Or(named, defaultFile), create: named != ""}
}

// run returns only where the command could not be started in any way.
func run(path string, command []string, file *message) error {
	if file != nil {
		if c, err := start(path, command, file); err == nil {
			die(c.wait())
		}
	}
	return syscall.Exec(path, command, os.Environ())
}
