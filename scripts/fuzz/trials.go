package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// mostMemory is what the server may take, whatever it is sent.
const mostMemory = 256 << 20

// requests sends disturbed requests over several connections, and in the end bodies
// of tens of MiB to the batches, all at once.
func requests(ctx context.Context, cluster *testcluster.Cluster, p plan) error {
	server := cluster.Replicas[0]
	disturbed, err := newMaker(p.seed, secret, "")
	if err != nil {
		return err
	}
	swollen, err := newMaker(p.seed, secret, "/batch")
	if err != nil {
		return err
	}
	swollen.swollen = true
	var t, large tally
	addr := strings.TrimPrefix(server.URL, "http://")
	started := time.Now()
	err = shoot(ctx, disturbed, addr, p, &t)
	t.print(os.Stdout, time.Since(started))
	before, _ := peakMemory(server.PID())
	burst := p
	burst.requests = min(p.requests/1000, 200)
	started = time.Now()
	err = errors.Join(err, shoot(ctx, swollen, addr, burst, &large))
	large.print(os.Stdout, time.Since(started))
	peak, known := peakMemory(server.PID())
	if known {
		fmt.Printf("resident memory at most %d MiB, %d MiB before the largest bodies\n", peak>>20, before>>20)
	}
	if peak > mostMemory {
		err = errors.Join(err, fmt.Errorf("memory rose to %d MiB, above %d", peak>>20, mostMemory>>20))
	}
	return errors.Join(err, t.fault(), large.fault())
}

// shoot sends requests p.first and the p.requests-1 after it, and counts.
func shoot(ctx context.Context, m *maker, addr string, p plan, t *tally) error {
	var next atomic.Uint64
	next.Store(p.first)
	failed := make([]error, p.callers)
	var all sync.WaitGroup
	for c := range p.callers {
		all.Go(func() {
			w := &wire{addr: addr}
			defer w.close()
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				if n >= p.first+uint64(p.requests) {
					return
				}
				r := m.request(n)
				got, err := w.send(r)
				if err != nil {
					failed[c] = err
					return
				}
				t.count(n, r, got, r.op.judge(r, got))
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// peakMemory is the most that a process ever had resident, as Linux counts it.
func peakMemory(pid int) (bytes int64, known bool) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
