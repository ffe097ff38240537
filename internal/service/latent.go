package service

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A replica that starts lists which version answers for each task, and opens a model
// when somebody asks about its task: a start must not take the longer the more tasks
// there are. What was opened stays.

// latent is a task of which only the version is known, for its model has not been
// opened here yet.
type latent struct {
	version atomic.Int64

	mu     sync.Mutex
	under  chan struct{} // closed when the opening under way has ended; nil: none is
	failed time.Time     // when the last one did
}

const (
	openAtMost = 10 * time.Second // one opening, the wait for its turn included
	openAtOnce = 4                // decoding takes a CPU
	openAgain  = 2 * time.Second  // after one that failed
	warmAtMost = 500              // models that are opened before anybody asks
)

// begin starts an opening, or joins the one under way. It is nil where one failed a
// moment ago: a model that cannot be opened must not hold up every question.
func (l *latent) begin(open func() error) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under != nil {
		return l.under
	}
	if time.Since(l.failed) < openAgain {
		return nil
	}
	under := make(chan struct{})
	l.under = under
	go func() {
		err := open()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.under = nil; err != nil {
			l.failed = time.Now()
		}
		close(under)
	}()
	return under
}

// opened is the task in memory, its model open if that takes no longer than
// Config.OpenWait; an opening that takes longer goes on, for the next question. It is
// nil where nothing is known.
func (s *Service) opened(ctx context.Context, key sizing.TaskKey) *task {
	t := s.tasks.find(key)
	if t == nil {
		return nil
	}
	l := t.latent.Load()
	if l == nil || !s.storeOK.Load() {
		return t
	}
	timer := time.NewTimer(s.cfg.OpenWait)
	defer timer.Stop()
	select {
	case <-s.open(ctx, key, l):
	case <-timer.C:
	case <-ctx.Done():
	}
	return s.tasks.find(key) // it may be gone
}

// open opens a task's model for whoever asks next, and says when it has ended. Nobody
// who stops waiting ends it.
func (s *Service) open(ctx context.Context, key sizing.TaskKey, l *latent) <-chan struct{} {
	under := l.begin(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openAtMost)
		defer cancel()
		select {
		case s.opening <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-s.opening }()
		err := s.reload(ctx, key)
		if err != nil {
			s.log.Warn("a model could not be opened; the static request is answered", "task", key.String(), "err", err)
		}
		return err
	})
	if under == nil {
		return ended
	}
	return under
}

// ended is what nobody waits for.
var ended = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// warm opens models before anybody asks, so that where tasks are not too many all of
// them answer while the database is away. It works half of the time.
func (s *Service) warm(ctx context.Context) {
	for !s.loaded.Load() {
		if !sleep(ctx, 50*time.Millisecond) {
			return
		}
	}
	keys := s.tasks.keys()
	slices.SortFunc(keys, func(a, b sizing.TaskKey) int { return strings.Compare(a.String(), b.String()) })
	left := warmAtMost
	for _, key := range keys {
		t := s.tasks.find(key)
		if t == nil {
			continue
		}
		l := t.latent.Load()
		if l == nil {
			continue
		}
		if left--; left < 0 {
			return
		}
		began := time.Now()
		<-s.open(ctx, key, l)
		if !sleep(ctx, time.Since(began)) {
			return
		}
	}
}
