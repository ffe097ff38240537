//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/cgroup"
)

// child is the program that runs, seen from its parent. One goroutine does everything:
// it forwards signals, reaps, samples and drafts, so nothing here needs a lock, and no
// signal is sent to a process that has been reaped.
type child struct {
	pid     int
	signals chan os.Signal
	ended   chan os.Signal // SIGCHLD
	meter   *meter         // nil: not measured
	file    *message
}

// start runs the program with our own streams, directory and environment. The error says
// that no process could be made; then nothing has been done.
func start(path string, command []string, file *message) (*child, error) {
	runtime.LockOSThread() // Pdeathsig is bound to the thread that forks
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(25) // the heap's floor is 4 MB by default, and we live on less than 1
	reserveThreads()
	adoptOrphans()
	c := &child{signals: make(chan os.Signal, 64), ended: make(chan os.Signal, 1), file: file}
	signal.Notify(c.ended, syscall.SIGCHLD)
	signal.Notify(c.signals, forwarded()...)
	c.guard(func() error {
		var err error
		c.meter, err = openMeter()
		return err
	})
	var err error
	c.pid, err = syscall.ForkExec(path, command, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	return c, err
}

func openMeter() (*meter, error) {
	if group, err := cgroup.Open("/"); err == nil {
		return newMeter(group, false)
	}
	return newMeter(newTree(), true)
}

// Drafts are for a container that is killed as a whole.
const draftEvery = 10 * time.Second

// wait serves the program until it ends, and says how. Processes that it leaves behind
// share its fate: the kernel ends them with a PID 1, and hands them on otherwise.
func (c *child) wait() syscall.WaitStatus {
	started, drafted := time.Now(), time.Now()
	cpu := ownCPU()
	look := time.NewTimer(quickest)
	for {
		select {
		case s := <-c.signals:
			number := s.(syscall.Signal)
			_ = syscall.Kill(c.pid, number) // it may have ended: then it is reaped next
			if number == syscall.SIGTERM {
				c.guard(c.draft) // what follows may be a SIGKILL
			}
		case <-c.ended:
			if status, over := c.reap(); over {
				c.guard(func() error { return c.finish(status) })
				return status
			}
		case <-look.C:
			c.guard(c.look)
			if time.Since(drafted) >= draftEvery {
				c.guard(c.draft)
				drafted = time.Now()
			}
			before := cpu
			cpu = ownCPU()
			look.Reset(pause(time.Since(started), cpu-before))
		}
	}
}

// reap takes all that has ended; over says that the program itself has.
func (c *child) reap() (status syscall.WaitStatus, over bool) {
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &s, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid == 0:
			return status, over
		case pid == c.pid:
			status, over = s, true
		}
	}
}

func (c *child) look() error {
	if c.meter == nil {
		return nil
	}
	return c.meter.look()
}

// draft is tried again and again, so its failure costs nothing.
func (c *child) draft() error {
	if c.meter != nil {
		_ = c.file.draft(c.meter.report())
	}
	return nil
}

func (c *child) finish(status syscall.WaitStatus) error {
	if c.meter == nil {
		return nil
	}
	if err := c.meter.look(); err != nil {
		return err
	}
	r := c.meter.report()
	code := exitCode(status)
	r.exit = &code
	return c.file.final(r)
}

// guard keeps our own failures from the program: after the first one it is not measured.
func (c *child) guard(f func() error) {
	defer func() {
		if recover() != nil {
			c.meter = nil
		}
	}()
	if f() != nil {
		c.meter = nil
	}
}

// lookup finds a command as execvp(3) does.
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

func ownCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return spent(r)
}

// reserveThreads makes the threads that the runtime may want later. Where the program has
// used up the container's processes, a new one could not be made, and Go would abort.
func reserveThreads() {
	const reserve = 4
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	for range reserve {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		}()
	}
	ready.Wait()
	close(release)
	done.Wait()
}
