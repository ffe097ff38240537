// Command loadaware-peak runs a program in a container and writes its peak usage into the
// container's termination message. See docs/peak.md.
//
//	loadaware-peak install DIR                    copies loadaware-peak into DIR, for an init container
//	loadaware-peak [-to FILE] -- COMMAND ARG…     runs and measures
//	loadaware-peak --version                      prints the version
//	loadaware-peak --help                         prints the usage
//
// loadaware-peak is the wrapper, and COMMAND is the program. After an error of the wrapper the program
// runs and ends as without the wrapper, and the measurement stops. A wrong command line without -- runs no
// program. The wrapper measures only on Linux.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

const (
	defaultFile = "/dev/termination-log"
	fileEnv     = "LOADAWARE_PEAK_FILE"
)

const usageText = `usage: loadaware-peak [-to FILE] -- COMMAND [ARG…]
       loadaware-peak install DIR
       loadaware-peak --version

Runs the command and writes its peak memory and CPU usage to FILE
(default: $` + fileEnv + `, else ` + defaultFile + `).
`

// Exit codes as in shells.
const (
	exitUsage    = 2
	exitNoExec   = 126
	exitNotFound = 127
)

// buildVersion is set by the linker with -X main.buildVersion=….
var buildVersion string

func main() {
	args := os.Args[1:]
	if len(args) == 1 && args[0] == "--version" {
		fmt.Println("loadaware-peak", cmp.Or(buildVersion, "unknown"))
		return
	}
	if len(args) == 1 && slices.Contains([]string{"--help", "-help", "-h"}, args[0]) {
		fmt.Print(usageText)
		return
	}
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

// parse returns the command to run, and the file for its message. The command is empty if the arguments contain none. If
// a flag is invalid, file is nil, and the command after -- runs without measurement.
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
	chosen := cmp.Or(*to, os.Getenv(fileEnv))
	return flags.Args(), &message{path: cmp.Or(chosen, defaultFile), create: chosen != ""}
}

// run runs the command, and measures it unless file is nil. It returns only if the command cannot be started at all.
func run(path string, command []string, file *message) error {
	if file != nil {
		measure(path, command, file)
	}
	return syscall.Exec(path, command, os.Environ())
}

// lookup returns the path of a command. Like execvp(3), it accepts relative folders of PATH.
func lookup(name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		return path, nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		err = errors.Join(err, os.ErrNotExist)
	}
	return path, err
}

// install copies this program into a folder. The copy is executable by all users, and replaces an earlier one atomically.
func install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.CreateTemp(dir, ".loadaware-peak-*")
	if err != nil {
		return err
	}
	defer os.Remove(to.Name())
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	if err := to.Chmod(0o755); err != nil {
		to.Close()
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	return os.Rename(to.Name(), filepath.Join(dir, "loadaware-peak"))
}
