package testcluster

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is one running program, by its process id.
type process struct {
	cmd   *exec.Cmd
	told  bool          // to end
	ended chan struct{} // closed when it was reaped
}

// launch starts a command whose output goes to the end of a log file. A command in
// front must exec what follows, so that the process id is that of the program.
func launch(command, env []string, logFile string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = log, log, env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal reaches us alone
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(p.ended) }() // how it ended is in ProcessState
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

// end sends a signal and waits; after patience it kills.
func (p *process) end(signal syscall.Signal, patience time.Duration) error {
	if !p.running() {
		return nil
	}
	p.told = true
	_ = p.cmd.Process.Signal(signal) // fails only if it has just ended
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("process %d did not end within %v of %v and was killed", p.cmd.Process.Pid, patience, signal)
	}
	return nil
}
