//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/testwait"
)

var wrapper, load string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "loadaware-peak")
	if err != nil {
		panic(err)
	}
	wrapper, load = filepath.Join(dir, "loadaware-peak"), filepath.Join(dir, "load")
	for to, from := range map[string]string{wrapper: ".", load: "./testdata/load"} {
		if out, err := exec.Command("go", "build", "-o", to, from).CombinedOutput(); err != nil {
			panic(string(out))
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// result is how a command ended. Its output is the standard output, followed by the standard error.
type result struct {
	status syscall.WaitStatus
	output string
}

// runCommand runs a command, sends it the signals, and returns its result. Before each signal it waits for one more line
// "ready" of the command, because the kernel drops a signal while one of the same kind is pending.
func runCommand(t *testing.T, input string, signals []syscall.Signal, command ...string) result {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(input)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var errText bytes.Buffer
	cmd.Stderr = &errText
	require.NoError(t, cmd.Start())
	out := bufio.NewReader(pipe)
	var output string
	for _, s := range signals {
		for {
			line, err := out.ReadString('\n')
			require.NoError(t, err, "the program is not ready: %s", errText.String())
			if output += line; line == "ready\n" {
				break
			}
		}
		require.NoError(t, cmd.Process.Signal(s))
	}
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	_ = cmd.Wait()
	return result{cmd.ProcessState.Sys().(syscall.WaitStatus), output + string(rest) + errText.String()}
}

func wrapped(file string, command ...string) []string {
	return append([]string{wrapper, "-to", file, "--"}, command...)
}

func signum(s syscall.Signal) string { return strconv.Itoa(int(s)) }

func TestProgramEndsAsWithoutWrapper(t *testing.T) {
	usr1, term, kill := signum(syscall.SIGUSR1), signum(syscall.SIGTERM), signum(syscall.SIGKILL)
	for name, c := range map[string]struct {
		command []string
		input   string
		signals []syscall.Signal
	}{
		"success":                      {command: []string{load}},
		"exit code 1":                  {command: []string{load, "exit:1"}},
		"exit code 77":                 {command: []string{load, "exit:77"}},
		"exit code 137 without signal": {command: []string{load, "exit:137"}},
		"exit code 255":                {command: []string{load, "exit:255"}},
		"input and output pass":        {command: []string{load, "cat", "exit:4"}, input: strings.Repeat("word ", 100_000)},
		"standard error passes":        {command: []string{load, "exit:x"}},
		"arguments pass as they are":   {command: []string{load, "print:a b -- -to $x"}},
		"killed by itself":             {command: []string{load, "die:" + kill}},
		"terminated by itself":         {command: []string{load, "die:" + term}},
		"a crash":                      {command: []string{load, "die:" + signum(syscall.SIGSEGV)}},
		"an abort":                     {command: []string{load, "die:" + signum(syscall.SIGABRT)}},
		"a bus error":                  {command: []string{load, "die:" + signum(syscall.SIGBUS)}},
		"a broken pipe":                {command: []string{load, "die:" + signum(syscall.SIGPIPE)}},
		"a hangup":                     {command: []string{load, "die:" + signum(syscall.SIGHUP)}},
		"quit by its own signal":       {command: []string{load, "die:" + signum(syscall.SIGQUIT)}},
		"terminated from outside": {command: []string{"sh", "-c", "echo ready; exec sleep 10"},
			signals: []syscall.Signal{syscall.SIGTERM}},
		"interrupted from outside": {command: []string{"sh", "-c", "echo ready; exec sleep 10"},
			signals: []syscall.Signal{syscall.SIGINT}},
		"quit by an outside signal": {command: []string{"sh", "-c", "echo ready; exec sleep 10"},
			signals: []syscall.Signal{syscall.SIGQUIT}},
		"killed from outside": {command: []string{"sh", "-c", "echo ready; exec sleep 10"},
			signals: []syscall.Signal{syscall.SIGKILL}},
		"handles SIGTERM": {command: []string{load, "trap:" + term + ":5", "print:ready", "sleep:10s"},
			signals: []syscall.Signal{syscall.SIGTERM}},
		"ignores SIGTERM": {command: []string{load, "ignore:" + term, "print:ready", "sleep:300ms", "exit:6"},
			signals: []syscall.Signal{syscall.SIGTERM}},
		"each signal arrives once": {command: []string{load, "count:" + usr1 + ":5", "exit:8"},
			signals: []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR1, syscall.SIGUSR1, syscall.SIGUSR1, syscall.SIGUSR1}},
		"a change of the window size": {command: []string{load, "count:" + signum(syscall.SIGWINCH) + ":1", "exit:9"},
			signals: []syscall.Signal{syscall.SIGWINCH}},
		"a real-time signal": {command: []string{load, "count:40:1", "exit:10"},
			signals: []syscall.Signal{40}},
		"fifty children at once":  {command: []string{load, "children:50:sleep+200ms", "exit:11"}},
		"a child that fails":      {command: []string{load, "children:1:exit+3"}},
		"remaining orphans":       {command: []string{load, "orphans:3:0ms", "exit:12"}},
		"the file limit":          {command: []string{"sh", "-c", "ulimit -n"}},
		"the file mode mask":      {command: []string{"sh", "-c", "umask"}},
		"default signal handlers": {command: []string{"sh", "-c", "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"}},
		"the open files":          {command: []string{"sh", "-c", "ls /proc/self/fd | wc -l"}},
		"unread input":            {command: []string{"true"}, input: strings.Repeat("x", 1<<20)},
		"ignores its own SIGHUP":  {command: []string{"sh", "-c", "trap '' HUP; kill -HUP $$; exit 14"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "message")
			alone := runCommand(t, c.input, c.signals, c.command...)
			measured := runCommand(t, c.input, c.signals, wrapped(file, c.command...)...)
			assert.Equal(t, alone, measured)
			if name == "killed from outside" {
				return // the signal killed the wrapper
			}
			assert.Equal(t, exitCode(alone.status), readMessage(t, file).Exit)
		})
	}
}

type messageFields struct {
	Peak     int64   `json:"memory_max_bytes"`
	Sampled  int64   `json:"memory_sampled_bytes"`
	Cores    float64 `json:"cpu_max_cores"`
	Source   string  `json:"source"`
	Kills    int     `json:"oom_kills"`
	Duration float64 `json:"duration_seconds"`
	Exit     int     `json:"exit_code"`
	Series   struct {
		Step   float64   `json:"step_seconds"`
		Memory []int64   `json:"memory_mib"`
		Cores  []float64 `json:"cpu_cores"`
	} `json:"series"`
}

func readMessage(t *testing.T, file string) messageFields {
	text := read(t, file)
	assert.Less(t, len(text), 4096)
	var fields messageFields
	require.NoError(t, json.Unmarshal([]byte(text), &fields), text)
	return fields
}

func TestExitCodesOfCommandsThatCannotRun(t *testing.T) {
	notExecutable := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(notExecutable, nil, 0o644))
	for name, c := range map[string]struct {
		command []string
		want    int
	}{
		"a missing file":      {[]string{wrapper, "--", "/no/such/program"}, 127},
		"not in PATH":         {[]string{wrapper, "--", "no-such-program"}, 127},
		"not executable":      {[]string{wrapper, "--", notExecutable}, 126},
		"no command":          {[]string{wrapper}, 2},
		"no command after --": {[]string{wrapper, "-to", "x", "--"}, 2},
	} {
		assert.Equal(t, c.want, runCommand(t, "", nil, c.command...).status.ExitStatus(), name)
	}
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	for _, flag := range []string{"--help", "-help", "-h"} {
		out, err := exec.Command(wrapper, flag).Output()
		require.NoError(t, err, flag)
		assert.Contains(t, string(out), "usage: loadaware-peak", flag)
	}
	ran := runCommand(t, "", nil, wrapper, "--help", "--", "echo", "ran")
	assert.Contains(t, ran.output, "ran\n", "--help before a command must not keep the program from running")
}

func TestUnusualEnvironmentsDoNotAffectProgram(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o666))
	shell := "exec " + wrapper + " -to " + filepath.Join(dir, "m") + " -- sh -c 'echo works; exit 5'"
	for name, command := range map[string][]string{
		"a missing folder":              wrapped("/no/such/dir/file", "sh", "-c", "echo works; exit 5"),
		"a folder in place of the file": wrapped(dir, "sh", "-c", "echo works; exit 5"),
		"a pipe in place of the file":   wrapped(pipe, "sh", "-c", "echo works; exit 5"),
		"a device in place of the file": wrapped("/dev/full", "sh", "-c", "echo works; exit 5"),
		"at most five open files":       {"sh", "-c", "ulimit -n 5; " + shell},
		"no file may grow":              {"sh", "-c", "ulimit -f 0; " + shell},
		"no standard input":             {"sh", "-c", shell + " <&-"},
		"no standard error":             {"sh", "-c", shell + " 2>&-"},
		"only PATH in the environment":  append([]string{"env", "-i", "PATH=/usr/bin:/bin"}, wrapped(filepath.Join(dir, "n"), "sh", "-c", "echo works; exit 5")...),
		"an empty environment, no PATH": append([]string{"env", "-i"}, wrapped(filepath.Join(dir, "n"), "/bin/sh", "-c", "echo works; exit 5")...),
		"no default file":               {wrapper, "--", "sh", "-c", "echo works; exit 5"},
		"without the two dashes":        {wrapper, "sh", "-c", "echo works; exit 5"},
		"a deleted directory":           {"sh", "-c", "mkdir " + dir + "/gone; cd " + dir + "/gone; rmdir ../gone; " + shell},
		"signals ignored by the parent": {"sh", "-c", "trap '' HUP INT; " + shell},
		"an existing message":           {"sh", "-c", "echo 7 >" + dir + "/own; exec " + wrapper + " -to " + dir + "/own -- sh -c 'echo works; exit 5'"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(t, "", nil, command...)
			assert.Equal(t, 5, got.status.ExitStatus())
			assert.Contains(t, got.output, "works\n")
			assert.NotContains(t, got.output, "loadaware-peak")
		})
	}
	unknown := runCommand(t, "", nil, wrapper, "-unknown", "--", "sh", "-c", "echo works; exit 5")
	assert.Equal(t, 5, unknown.status.ExitStatus())
	assert.Contains(t, unknown.output, "not measured")
}

func TestIgnoredHangupStaysIgnored(t *testing.T) {
	script := "trap '' HUP; exec \"$@\""
	inner := []string{"sh", "-c", "grep SigIgn /proc/self/status"}
	alone := runCommand(t, "", nil, append([]string{"sh", "-c", script, "sh"}, inner...)...)
	got := runCommand(t, "", nil, append([]string{"sh", "-c", script, "sh"}, wrapped(filepath.Join(t.TempDir(), "m"), inner...)...)...)
	assert.Equal(t, alone, got)
}

func TestOrphansAreReaped(t *testing.T) {
	cmd := exec.Command(wrapper, "-to", filepath.Join(t.TempDir(), "m"), "--", load, "orphans:20:10s", "print:ready", "sleep:60s") // starting 20 processes takes seconds on a busy machine
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	tasks := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/task/"
	if _, err := os.Stat(tasks + strconv.Itoa(cmd.Process.Pid) + "/children"); err != nil {
		t.Skip("this kernel does not list children: ", err)
	}
	children := func(n int) func() bool {
		return func() bool {
			threads, err := filepath.Glob(tasks + "*/children") // the program belongs to the thread that started it, an orphan to any
			require.NoError(t, err)
			total := 0
			for _, path := range threads {
				list, _ := os.ReadFile(path) // a thread may end
				total += len(strings.Fields(string(list)))
			}
			return total == n
		}
	}
	assert.Eventually(t, children(21), testwait.Limit, 10*ms, "the wrapper adopts the orphans")
	assert.Eventually(t, children(1), testwait.Limit, 20*ms, "only the program remains")
}

func TestProgramDiesWithWrapper(t *testing.T) {
	cmd := exec.Command(wrapper, "-to", filepath.Join(t.TempDir(), "m"), "--", "sh", "-c", "echo $$; exec sleep 60")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	assert.Eventually(t, func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || bytes.Contains(text, []byte(") Z "))
	}, testwait.Limit, 20*ms)
}

func TestInstalledCopyRuns(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second installation replaces the first
		require.Zero(t, runCommand(t, "", nil, wrapper, "install", dir).status)
	}
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 1)
	copied := filepath.Join(dir, names[0].Name())
	assert.Equal(t, "loadaware-peak", names[0].Name())
	assert.Equal(t, 6, runCommand(t, "", nil, copied, "--", "sh", "-c", "exit 6").status.ExitStatus())
	assert.Equal(t, 1, runCommand(t, "", nil, wrapper, "install", "/no/such/dir").status.ExitStatus())
}
