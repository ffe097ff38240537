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

// child is the running program. One goroutine forwards signals, reaps processes, samples
// and writes drafts. So it needs no lock, and never signals a reaped process.
type child struct {
	pid     int
	signals chan os.Signal
	exited  chan os.Signal // SIGCHLD
	meter   *meter         // nil without measurement
	file    *message
}

// measure runs the program and ends this process as the program ended. It returns only if it
// could not create the process.
func measure(path string, command []string, file *message) {
	if c, err := start(path, command, file); err == nil {
		exitLike(c.wait())
	}
}

// start runs the program with the streams, the directory and the environment of the
// wrapper. It returns an error only if it could not create the process.
func start(path string, command []string, file *message) (*child, error) {
	runtime.LockOSThread() // Pdeathsig depends on the thread that forks
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(25) // the minimum heap is 4 MB by default, and this program needs less than 1
	reserveThreads()
	adoptOrphans()
	c := &child{signals: make(chan os.Signal, 64), exited: make(chan os.Signal, 1), file: file}
	signal.Notify(c.exited, syscall.SIGCHLD)
	signal.Notify(c.signals, forwardedSignals()...)
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

// openMeter opens a meter of the control group, or of the process tree without cgroups.
func openMeter() (*meter, error) {
	if group, err := cgroup.Open("/"); err == nil {
		return newMeter(group, false)
	}
	return newMeter(newTree(), true)
}

// draftEvery is the interval of drafts, which survive a kill of the whole container.
const draftEvery = 10 * time.Second

// wait returns the status of the program when it has ended. The kernel kills remaining
// processes if this process is PID 1, and otherwise gives them another parent.
func (c *child) wait() syscall.WaitStatus {
	started, drafted := time.Now(), time.Now()
	cpu := ownCPU()
	sampling := time.NewTimer(minInterval)
	for {
		select {
		case s := <-c.signals:
			number := s.(syscall.Signal)
			_ = syscall.Kill(c.pid, number) // fails if the program has ended; reap follows
			if number == syscall.SIGTERM {
				c.guard(c.draft) // a SIGKILL may follow
			}
		case <-c.exited:
			if status, hasEnded := c.reap(); hasEnded {
				c.guard(func() error { return c.finish(status) })
				return status
			}
		case <-sampling.C:
			c.guard(c.sample)
			if time.Since(drafted) >= draftEvery {
				c.guard(c.draft)
				drafted = time.Now()
			}
			before := cpu
			cpu = ownCPU()
			sampling.Reset(interval(time.Since(started), cpu-before))
		}
	}
}

// reap reaps all ended processes. hasEnded reports whether the program is one of them.
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

// draft writes a preliminary report. The next draft follows, so it ignores errors.
func (c *child) draft() error {
	if c.meter != nil {
		_ = c.file.draft(c.meter.report())
	}
	return nil
}

// finish writes the final report.
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

// guard protects the program from errors and panics of the wrapper: the first one ends the
// measurement.
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

func ownCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return totalCPU(r)
}

// reserveThreads creates the threads that the runtime may need later. Go aborts if it cannot
// create a thread because the program has exhausted the process limit of the container.
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
