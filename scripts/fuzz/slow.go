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

// slowConnections is the number of connections that send a body slowly, and of those that never complete their body.
const slowConnections = 16

const slowBody = `{"dag_id": "dag_000", "task_id": "task_00000", "requested": {"memory": "1Gi"}}`

// fuzzSlowBodies sends bodies byte by byte. Sending takes 1.6 s, and the server reads a body for up to 5 s, so it must
// answer them with 200. With p.neverEnding, it also sends bodies that never end, which the server must answer with 408
// within two minutes. The server must answer other callers meanwhile.
func fuzzSlowBodies(ctx context.Context, cluster *testcluster.Cluster, p options) error {
	server := cluster.Replicas[0]
	addr := strings.TrimPrefix(server.URL, "http://")
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(result string) {
		mu.Lock()
		defer mu.Unlock()
		counts[result]++
	}
	var all sync.WaitGroup
	for range slowConnections {
		all.Go(func() { count("byte by byte: " + sendSlowly(addr, len(slowBody), 20*time.Millisecond)) })
		if p.neverEnding {
			all.Go(func() { count("never ending: " + sendSlowly(addr, len(slowBody)/2, time.Millisecond)) })
		}
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	others := 0
	for waiting := true; waiting; others++ {
		status, answer, err := server.Call(ctx, http.MethodGet, "/readyz", nil)
		if err != nil {
			return fmt.Errorf("call GET /readyz while slow bodies arrive: %w", err)
		}
		if status != http.StatusOK {
			return fmt.Errorf("call GET /readyz while slow bodies arrive: status %d %s", status, answer)
		}
		select {
		case <-done:
			waiting = false
		case <-time.After(50 * time.Millisecond):
		}
	}
	fmt.Printf("%v; the server answered %d other calls meanwhile\n", counts, others)
	if counts["byte by byte: 200"] != slowConnections || p.neverEnding && counts["never ending: 408"] != slowConnections {
		return fmt.Errorf("send bodies slowly: results %v; want %d of each", counts, slowConnections)
	}
	return nil
}

// sendSlowly sends the first bytes of slowBody, one at a time with a pause before each. It returns the status of the answer
// or the text of the error.
func sendSlowly(addr string, bytes int, pause time.Duration) string {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute)) // Write reports a closed connection
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
