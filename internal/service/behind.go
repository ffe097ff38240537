package service

import (
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
)

// A batch is acknowledged before the models have learned it: that takes longer than
// storing it. Few reports are learned at once, so that the next answer knows of them.
const (
	learnAtOnce  = 100        // reports of one call that are learned before it is acknowledged
	behindAtMost = tailAtMost // reports of a task that wait to be learned; of more, the newest: the training that they made due learns all
)

// behind are reports of a task that were acknowledged and not learned yet, oldest
// first. The zero value is ready.
type behind struct {
	mu       sync.Mutex
	waiting  []fitting.Told
	learning bool
}

// learnBehind learns what was told soon, and returns at once.
func (t *task) learnBehind(told []fitting.Told) {
	b := &t.behind
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, told...)
	if n := len(b.waiting); n > behindAtMost {
		b.waiting = append(b.waiting[:0], b.waiting[n-behindAtMost:]...)
	}
	if !b.learning {
		b.learning = true
		go t.catchUp()
	}
}

// catchUp learns what waits, and takes half of the time for it: a process that has one
// CPU hears of the network while nothing runs.
func (t *task) catchUp() {
	for {
		told, ok := t.behind.next()
		if !ok {
			return
		}
		began := time.Now()
		t.learn(told)
		time.Sleep(time.Since(began))
	}
}

// next takes the oldest out; where none is left, nobody learns any more.
func (b *behind) next() (fitting.Told, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.waiting, b.learning = nil, false
		return fitting.Told{}, false
	}
	told := b.waiting[0]
	b.waiting[0] = fitting.Told{}
	b.waiting = b.waiting[1:]
	return told, true
}
