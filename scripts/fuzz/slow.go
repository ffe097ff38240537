package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// drips is how many connections send their bodies slowly, and as many stall.
const drips = 16

const slowBody = `{"dag_id": "dag_000", "task_id": "task_00000", "requested": {"memory": "1Gi"}}`

// slow sends bodies byte by byte, which must be answered as they come within the 5 s
// that a body may take (here 1.6 s, so that a machine may stall), and bodies that never
// end, which must be given up with 408 within two minutes. Others are answered all
// the while.
func slow(ctx context.Context, cluster *testcluster.Cluster, p plan) error {
	server := cluster.Replicas[0]
	addr := strings.TrimPrefix(server.URL, "http://")
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		counts[what]++
	}
	var all sync.WaitGroup
	for range drips {
		all.Go(func() { count("byte by byte: " + drip(addr, len(slowBody), 20*time.Millisecond)) })
		if p.stalled {
			all.Go(func() { count("never ending: " + drip(addr, len(slowBody)/2, time.Millisecond)) })
		}
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	others := 0
	for waiting := true; waiting; others++ {
		if status, says, err := server.Call(ctx, http.MethodGet, "/readyz", nil); err != nil || status != http.StatusOK {
			return fmt.Errorf("another caller was answered %d %s: %w", status, says, err)
		}
		select {
		case <-done:
			waiting = false
		case <-time.After(50 * time.Millisecond):
		}
	}
	fmt.Printf("%v; %d other calls were answered meanwhile\n", counts, others)
	if counts["byte by byte: 200"] != drips || p.stalled && counts["never ending: 408"] != drips {
		return fmt.Errorf("not all %d were answered as they must be: %v", drips, counts)
	}
	return nil
}

// drip sends the first bytes of a body, one at a time, and says what was answered.
func drip(addr string, bytes int, pause time.Duration) string {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute)) // Write says if it is closed
	fmt.Fprintf(conn, "POST /predict HTTP/1.1\r\nHost: loadaware\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", secret, len(slowBody))
	for i := range bytes {
		time.Sleep(pause)
		if _, err := conn.Write([]byte{slowBody[i]}); err != nil {
			return err.Error()
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	return fmt.Sprint(response.StatusCode)
}
