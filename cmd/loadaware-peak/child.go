//go:build linux

package main

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/cgroup"
)

// child is the running program. A single goroutine forwards signals, reaps processes, samples and writes drafts.
// Therefore child needs no lock, and a reaped process is never signalled.
type child struct {
	pid     int
	signals chan os.Signal // to forward
	exited  chan os.Signal // SIGCHLD
	meter   *meter         // nil without measurement
	file    *message
}

// measure runs and measures the program, and then ends this process with the signal or exit code of the program. It
// returns only if the program could not be started.
func measure(path string, command []string, file *message) {
	if c, err := start(path, command, file); err == nil {
		exitLike(c.wait())
	}
}

// start starts the program and takes the first reading. It returns an error only if the program could not be started.
func start(path string, command []string, file *message) (*child, error) {
	runtime.LockOSThread() // Pdeathsig depends on the thread that forks
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(25) // reduces the minimum heap from 4 MB to 1 MB; the wrapper needs less
	reserveThreads()
	adoptOrphans()
	c := &child{signals: make(chan os.Signal, 64), exited: make(chan os.Signal, 1), file: file}
	signal.Notify(c.exited, syscall.SIGCHLD)
	signal.Notify(c.signals, forwardedSignals()...)
	c.protect(func() error {
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

// draftEvery is the interval of drafts: preliminary reports, which survive a kill of the whole container. A
// shorter interval loses less of the run after such a kill, and writes more often.
const draftEvery = 10 * time.Second

// wait measures until the program has ended, and returns its status. Other processes may still run. The kernel kills them
// when the wrapper exits as PID 1, and otherwise gives them another parent.
func (c *child) wait() syscall.WaitStatus {
	started, drafted := time.Now(), time.Now()
	cpu := ownCPU()
	sampling := time.NewTimer(minInterval)
	for {
		select {
		case s := <-c.signals:
			number := s.(syscall.Signal)
			_ = syscall.Kill(c.pid, number) // no effect if the program has ended and waits for `reap`
			if number == syscall.SIGTERM {
				c.protect(c.draft) // a SIGKILL of the whole container may follow
			}
		case <-c.exited:
			if status, hasEnded := c.reap(); hasEnded {
				c.protect(func() error { return c.finish(status) })
				return status
			}
		case <-sampling.C:
			c.protect(c.sample)
			if time.Since(drafted) >= draftEvery {
				c.protect(c.draft)
				drafted = time.Now()
			}
			before := cpu
			cpu = ownCPU()
			sampling.Reset(interval(time.Since(started), cpu-before))
		}
	}
}

// reap reaps all ended processes. hasEnded reports whether the program is one of them, and status is then its status.
func (c *child) reap() (status syscall.WaitStatus, hasEnded bool) {
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &s, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid == 0:
			return status, hasEnded
		case pid == c.pid:
			status, hasEnded = s, true
		}
	}
}

func (c *child) sample() error {
	if c.meter == nil {
		return nil
	}
	return c.meter.sample()
}

// draft writes a draft. It always returns nil, because a failed draft does not end the measurement.
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
	if err := c.meter.sample(); err != nil {
		return err
	}
	r := c.meter.report()
	code := exitCode(status)
	r.exit = &code
	return c.file.final(r)
}

// protect protects the program from errors and panics of the wrapper: the first of them ends the measurement.
func (c *child) protect(f func() error) {
	defer func() {
		if recover() != nil {
			c.meter = nil
		}
	}()
	if f() != nil {
		c.meter = nil
	}
}

// ownCPU returns the CPU time that the wrapper itself has used, or 0 if it is unknown.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return totalCPU(r)
}

// reserveThreads creates the threads that the Go runtime may need later. The runtime aborts the process if it cannot
// create a thread, such as when the program has exhausted the process limit of the container.
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
