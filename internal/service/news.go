package service

import (
	"sync"
	"time"
)

// news is when this replica last knew what is stored. While it listens, has read all
// once since it began to, and the store answers, it knows; from when one of these fails
// on, what is in memory may be stale. The zero value was never told anything.
type news struct {
	mu        sync.Mutex
	listening bool
	complete  bool      // all was read since it began to listen
	known     time.Time // by the monotonic clock
}

// listen notes that changes are announced here from now on, or no longer.
func (n *news) listen(is bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listening, n.complete = is, false
}

// read notes that all was read, as it was stored at a time.
func (n *news) read(at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.complete = n.listening
	if at.After(n.known) {
		n.known = at
	}
}

// ping notes that the store gave a sign of life.
func (n *news) ping() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.complete {
		n.known = time.Now()
	}
}

// since is the time since then; zero before the first time, when nothing answers yet.
func (n *news) since() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known.IsZero() {
		return 0
	}
	return time.Since(n.known)
}
