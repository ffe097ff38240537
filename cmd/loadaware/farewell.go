package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// farewellFor is how long a server that was sent SIGTERM goes on answering. Whoever
// sends requests here, a balancer or Kubernetes, learns of the end at the same time as
// the server does, or by asking /readyz, and sends some more until then.
const farewellFor = 3 * time.Second

// errTerminated is the cause of a context that SIGTERM has ended. A person's Ctrl-C is
// another matter: nobody has to be told.
var errTerminated = errors.New("SIGTERM")

func causeOf(signal os.Signal) error {
	if signal == syscall.SIGTERM {
		return errTerminated
	}
	return context.Canceled
}

// farewell answers as next does. Once it is leaving, /readyz says no, and every answer
// closes its connection, so that none is closed under a request.
type farewell struct {
	next    http.Handler
	leaving atomic.Bool
}

func (f *farewell) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.leaving.Load() {
		f.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Connection", "close")
	if r.URL.Path != "/readyz" {
		f.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(`{"status":"stopping","observe":"ok","models":0}`)) // a prober that went away needs none
}

// say goes on answering for a while where SIGTERM has ended ctx, or until broken tells
// of an error.
func (f *farewell) say(ctx context.Context, broken <-chan error) error {
	if !errors.Is(context.Cause(ctx), errTerminated) {
		return nil
	}
	f.leaving.Store(true)
	select {
	case <-time.After(farewellFor):
		return nil
	case err := <-broken:
		return err
	}
}
