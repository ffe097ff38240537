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

// maxMemory limits the server's resident memory for any input.
const maxMemory = 256 << 20

// fuzzRequests sends mutated requests over several connections, then concurrent bodies of tens of MiB to the batch
// operations.
func fuzzRequests(ctx context.Context, cluster *testcluster.Cluster, p options) error {
	server := cluster.Replicas[0]
	mutated, err := newGenerator(p.seed, secret, "")
	if err != nil {
		return err
	}
	oversized, err := newGenerator(p.seed, secret, "/batch")
	if err != nil {
		return err
	}
	oversized.oversized = true
	var small, large results
	addr := strings.TrimPrefix(server.URL, "http://")
	started := time.Now()
	err = sendAll(ctx, mutated, addr, p, &small)
	small.print(os.Stdout, time.Since(started))
	before, _ := peakMemory(server.PID())
	burst := p
	burst.requests = min(p.requests/1000, 200)
	started = time.Now()
	err = errors.Join(err, sendAll(ctx, oversized, addr, burst, &large))
	large.print(os.Stdout, time.Since(started))
	peak, known := peakMemory(server.PID())
	if known {
		fmt.Printf("resident memory at most %d MiB, %d MiB before the largest bodies\n", peak>>20, before>>20)
	}
	if peak > maxMemory {
		err = errors.Join(err, fmt.Errorf("check memory: resident memory rose to %d MiB, above the limit of %d MiB", peak>>20, maxMemory>>20))
	}
	return errors.Join(err, small.fault(), large.fault())
}

// sendAll sends p.requests requests, from number p.first on. It stops after a request that gets no answer within
// requestTimeout. If a caller cannot connect, only this caller stops.
func sendAll(ctx context.Context, m *generator, addr string, p options, t *results) error {
	var next atomic.Uint64
	next.Store(p.first)
	errs := make([]error, p.callers)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for c := range p.callers {
		all.Go(func() {
			w := &rawConn{addr: addr}
			defer w.close()
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				if n >= p.first+uint64(p.requests) {
					return
				}
				r := m.request(n)
				got, err := w.send(r)
				if err != nil {
					errs[c] = err
					return
				}
				t.add(n, r, got, r.op.check(r, got))
				if got.noAnswer && got.took >= requestTimeout { // each further request could take as long
					errs[c] = fmt.Errorf("request %d, %s: no answer within %s; a handler is blocked: %.600q", n, r.op.name, requestTimeout, r.encoded)
					stop()
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// peakMemory returns the peak of the resident memory, if /proc reports it.
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
