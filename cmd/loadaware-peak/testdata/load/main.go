//go:build linux

// Command load executes the steps in its arguments in order:
//
//	alloc:MIB          allocates and touches memory, and keeps it
//	spike:MIB:TIME     allocates and touches memory for a time, and frees it
//	file:PATH:MIB      writes a file, which fills the page cache
//	burn:TIME          uses the given CPU time, however long it waits for a core
//	sleep:TIME         sleeps
//	children:N:STEPS   runs N copies of itself at once; commas separate the steps, and + replaces :
//	meet:DIR:N         waits until N processes have reached this step with the same folder
//	orphans:N:TIME     leaves N sleeping processes without a parent
//	trap:SIGNAL:CODE   exits with the code when the signal arrives
//	ignore:SIGNAL      ignores the signal from now on
//	count:SIGNAL:N     waits until the signal has arrived N times; prints "ready" before each; exits with 98 after 10 s
//	print:TEXT         prints a line
//	cat:               copies standard input to standard output
//	append:PATH:TEXT   appends a line to a file
//	die:SIGNAL         kills itself with a signal
//	exit:CODE          exits with a code
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	for _, step := range os.Args[1:] {
		words := append(strings.SplitN(step, ":", 3), "", "")
		do(words[0], words[1], words[2])
	}
}

func do(step, first, second string) {
	switch step {
	case "alloc":
		touch(first)
	case "spike":
		memory := touch(first)
		time.Sleep(duration(second))
		check(syscall.Munmap(memory))
	case "file":
		check(os.WriteFile(first, make([]byte, number(second)<<20), 0o600))
	case "burn":
		for end := usedCPU() + duration(first); usedCPU() < end; {
		}
	case "sleep":
		time.Sleep(duration(first))
	case "children":
		children(number(first), strings.Split(strings.ReplaceAll(second, "+", ":"), ","))
	case "meet":
		check(os.WriteFile(filepath.Join(first, strconv.Itoa(os.Getpid())), nil, 0o600))
		for {
			arrived, err := os.ReadDir(first)
			check(err)
			if len(arrived) >= number(second) {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	case "orphans":
		orphans(number(first), second)
	case "trap":
		arrived := notify(first)
		go func() { <-arrived; os.Exit(number(second)) }()
	case "ignore":
		signal.Ignore(syscall.Signal(number(first)))
	case "count":
		arrived := notify(first)
		timeout := time.After(10 * time.Second)
		for range number(second) {
			fmt.Println("ready")
			select {
			case <-arrived:
			case <-timeout:
				os.Exit(98)
			}
		}
	case "print":
		fmt.Println(first)
	case "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		check(err)
	case "append":
		file, err := os.OpenFile(first, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o666)
		check(err)
		fmt.Fprintln(file, second)
		check(file.Close())
	case "die":
		die(syscall.Signal(number(first)))
	case "exit":
		os.Exit(number(first))
	default:
		check(fmt.Errorf("unknown step %q", step))
	}
}

// touch allocates memory and writes to each of its pages, so that it is resident.
func touch(mib string) []byte {
	size := number(mib) << 20
	if size == 0 {
		return nil
	}
	memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	check(err)
	for i := 0; i < size; i += 4096 {
		memory[i] = 1
	}
	return memory
}

func children(n int, steps []string) {
	var running []*exec.Cmd
	for range n {
		child := exec.Command("/proc/self/exe", steps...)
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		check(child.Start())
		running = append(running, child)
	}
	for _, child := range running {
		check(child.Wait())
	}
}

// orphans starts processes whose parent, a shell, ends without waiting for them.
func orphans(n int, lifetime string) {
	for range n {
		check(exec.Command("/bin/sh", "-c", fmt.Sprintf("sleep %v &", duration(lifetime).Seconds())).Run())
	}
}

func notify(name string) chan os.Signal {
	arrived := make(chan os.Signal, 100)
	signal.Notify(arrived, syscall.Signal(number(name)))
	return arrived
}

// die replaces this process with a shell that kills itself, because the Go runtime handles some
// signals.
func die(s syscall.Signal) {
	check(syscall.Exec("/bin/sh", []string{"sh", "-c", fmt.Sprintf("kill -%d $$; sleep 10", s)}, os.Environ()))
}

// usedCPU returns the CPU time of this process.
func usedCPU() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	check(err)
	return d
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(99)
	}
}
