package testcluster

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

type process struct {
	cmd        *exec.Cmd
	terminated bool          // end was called while the process ran
	ended      chan struct{} // closed when the process has been reaped
}

// launch starts a command and appends its output to a log file. A wrapper command must exec the program, so that both have
// the same process id.
func launch(command, env []string, logFile string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own descriptor
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = log, log, env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal does not reach the command
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(p.ended) }() // the result is in cmd.ProcessState
	return p, nil
}

func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// end sends a signal and waits until the process has ended. It returns an error if the process had to be killed after the
// timeout.
func (p *process) end(signal syscall.Signal, timeout time.Duration) error {
	if !p.running() {
		return nil
	}
	p.terminated = true
	_ = p.cmd.Process.Signal(signal) // fails only if the process has just ended
	select {
	case <-p.ended:
	case <-time.After(timeout):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("process %d did not end within %v after the signal %v and was killed", p.cmd.Process.Pid, timeout, signal)
	}
	return nil
}
