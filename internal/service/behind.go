package service

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
)

// Few reports are learned before they are acknowledged, so that the next answer knows of
// them. Those of a large batch, and those that come while another of their task is being
// learned, are acknowledged first: learning a row takes longer than storing it.
const (
	learnAtOnce  = 100        // reports of one call that are learned before it is acknowledged
	behindAtMost = tailAtMost // reports of a task that wait to be learned; of more, the newest: the training that they made due learns all
	restFor      = 3          // times what learning took, between two of those that wait: answers come first
)

// behind are reports of a task that were acknowledged and not learned yet, oldest
// first. The zero value is ready.
type behind struct {
	mu       sync.Mutex
	waiting  []fitting.TrainingRow
	learning bool
}

// learnNow learns a report, unless another of the task is being learned: then soon.
func (s *Service) learnNow(t *task, told fitting.TrainingRow) {
	b := &t.behind
	b.mu.Lock()
	busy := b.learning
	b.learning = true
	b.mu.Unlock()
	if busy {
		s.learnSoon(t, []fitting.TrainingRow{told})
		return
	}
	s.learn(t, told)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.learning = len(b.waiting) > 0; b.learning {
		go s.learnWaiting(t)
	}
}

// learnSoon learns what was told soon, and returns at once.
func (s *Service) learnSoon(t *task, told []fitting.TrainingRow) {
	b := &t.behind
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, told...)
	if n := len(b.waiting); n > behindAtMost {
		b.waiting = append(b.waiting[:0], b.waiting[n-behindAtMost:]...)
	}
	if !b.learning {
		b.learning = true
		go s.learnWaiting(t)
	}
}

// learnWaiting learns what waits, and rests in between.
func (s *Service) learnWaiting(t *task) {
	for {
		told, ok := t.behind.next()
		if !ok {
			return
		}
		began := time.Now()
		s.learn(t, told)
		time.Sleep(restFor * time.Since(began))
	}
}

// learn lets the model of a task learn a report. A panic stays with the task: the report
// is stored, and the training that it made due begins with the stored ones.
func (s *Service) learn(t *task, told fitting.TrainingRow) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("learning a report panicked, please report this", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	t.learn(told)
}

// next takes the oldest out; where none is left, nobody learns any more.
func (b *behind) next() (fitting.TrainingRow, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.waiting, b.learning = nil, false
		return fitting.TrainingRow{}, false
	}
	told := b.waiting[0]
	b.waiting[0] = fitting.TrainingRow{}
	b.waiting = b.waiting[1:]
	return told, true
}
