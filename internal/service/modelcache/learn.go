package modelcache

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/taskmodel"
)

const (
	maxQueued  = maxTail // rows of one task; the next training learns older rows beyond this limit
	pauseRatio = 3       // pause between queued rows in multiples of the learning time, so that predictions rarely wait for learning
)

// learnQueue holds rows that are acknowledged and not learned yet, oldest first. At most one
// goroutine learns the rows of a task. The zero value is empty.
type learnQueue struct {
	mu         sync.Mutex
	rows       []taskmodel.TrainingRow
	isLearning bool
}

// LearnNow learns a row before it returns, so that the next prediction takes the row into
// account. While other rows of the task are being learned or are queued, it queues the row instead.
func (c *Cache) LearnNow(t *Task, row *taskmodel.TrainingRow) {
	q := &t.queue
	q.mu.Lock()
	isBusy := q.isLearning
	q.isLearning = true
	q.mu.Unlock()
	if isBusy {
		c.LearnLater(t, []taskmodel.TrainingRow{*row})
		return
	}
	c.learn(t, *row)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isLearning = len(q.rows) > 0; q.isLearning {
		go c.learnQueued(t)
	}
}

// LearnLater queues rows and returns at once.
func (c *Cache) LearnLater(t *Task, rows []taskmodel.TrainingRow) {
	q := &t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rows = append(q.rows, rows...)
	if n := len(q.rows); n > maxQueued {
		q.rows = append(q.rows[:0], q.rows[n-maxQueued:]...)
	}
	if !q.isLearning {
		q.isLearning = true
		go c.learnQueued(t)
	}
}

func (c *Cache) learnQueued(t *Task) {
	for {
		row, ok := t.queue.next()
		if !ok {
			return
		}
		start := time.Now()
		c.learn(t, row)
		time.Sleep(pauseRatio * time.Since(start))
	}
}

// learn lets the model of a task learn a row. It recovers from panics, because the row is stored and the next training
// includes it.
func (c *Cache) learn(t *Task, row taskmodel.TrainingRow) {
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("learning a report panicked; report this error", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	if e, ok := t.learn(row); ok {
		c.cfg.RunErrors.Add(t.key, row.Run, e)
	}
	c.account(t)
}

// learnStored lets a model that is being loaded learn a stored row. If learning panics, learnStored returns the model without
// the row, because a task without a model would be worse.
func (c *Cache) learnStored(task string, m *taskmodel.Model, row taskmodel.TrainingRow) (learned *taskmodel.Model) {
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("learning a stored report panicked; report this error", "task", task, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			learned = m
		}
	}()
	return learn(m, row)
}

func (q *learnQueue) next() (taskmodel.TrainingRow, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.rows) == 0 {
		q.rows, q.isLearning = nil, false
		return taskmodel.TrainingRow{}, false
	}
	row := q.rows[0]
	q.rows[0] = taskmodel.TrainingRow{}
	q.rows = q.rows[1:]
	return row, true
}
