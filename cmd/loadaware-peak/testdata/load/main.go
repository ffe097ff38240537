//go:build linux

// Command load uses memory, CPU and processes as its arguments say, one after the other:
//
//	alloc:MIB          touches so much memory and keeps it
//	spike:MIB:TIME     touches so much and gives it back
//	file:PATH:MIB      writes a file, which fills the page cache, and keeps it
//	burn:TIME          keeps one core busy
//	sleep:TIME         does nothing
//	children:N:STEPS   runs N copies of itself at once, steps parted by commas and times by +
//	orphans:N:TIME     leaves N sleeping processes without a parent
//	trap:SIGNAL:CODE   will exit with the code when the signal comes
//	ignore:SIGNAL      will not care
//	count:SIGNAL:N     waits until the signal has come N times, at most 10 s
//	print:TEXT         writes a line
//	cat:               copies standard input to standard output
//	append:PATH:TEXT   writes a line behind what is there
//	die:SIGNAL         ends by a signal
//	exit:CODE          ends
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
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

func do(verb, first, second string) {
	switch verb {
	case "alloc":
		touch(first)
	case "spike":
		memory := touch(first)
		time.Sleep(duration(second))
		check(syscall.Munmap(memory))
	case "file":
		check(os.WriteFile(first, make([]byte, number(second)<<20), 0o600))
	case "burn":
		for end := time.Now().Add(duration(first)); time.Now().Before(end); {
		}
	case "sleep":
		time.Sleep(duration(first))
	case "children":
		children(number(first), strings.Split(strings.ReplaceAll(second, "+", ":"), ","))
	case "orphans":
		orphans(number(first), second)
	case "trap":
		came := notify(first)
		go func() { <-came; os.Exit(number(second)) }()
	case "ignore":
		signal.Ignore(syscall.Signal(number(first)))
	case "count":
		came := notify(first)
		late := time.After(10 * time.Second)
		for range number(second) {
			fmt.Println("ready")
			select {
			case <-came:
			case <-late:
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
		check(fmt.Errorf("no such step: %s", verb))
	}
}

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

// orphans are children of children that do not wait for them.
func orphans(n int, lifetime string) {
	for range n {
		check(exec.Command("/bin/sh", "-c", fmt.Sprintf("sleep %v &", duration(lifetime).Seconds())).Run())
	}
}

func notify(name string) chan os.Signal {
	came := make(chan os.Signal, 100)
	signal.Notify(came, syscall.Signal(number(name)))
	return came
}

// die asks the shell, since Go answers some signals by itself.
func die(s syscall.Signal) {
	check(syscall.Exec("/bin/sh", []string{"sh", "-c", fmt.Sprintf("kill -%d $$; sleep 10", s)}, os.Environ()))
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
