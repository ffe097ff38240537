package modelcache

import (
	"sync"
	"sync/atomic"
)

// memory limits the bytes of decoded models, and selects the least recently used model for eviction. Its clock counts
// installed models, and all models that were used since the newest installation are equally recent. A prediction
// therefore needs a few atomic operations instead of a locked list.
type memory struct {
	limit int64 // in bytes; zero: no limit

	clock                   atomic.Int64 // number of models that refreshes have installed so far
	hits, misses, evictions atomic.Int64

	mu    sync.Mutex
	used  int64           // bytes, the sum of sizes
	sizes map[*Task]int64 // bytes by task with a model in memory
}

// MemoryStats counts hits, misses and evictions of decoded models since the start. Bytes is the current
// size of the decoded models, and Limit the configured bound; zero: no limit.
type MemoryStats struct {
	Hits, Misses, Evictions int64
	Bytes, Limit            int64
}

func (m *memory) stats() MemoryStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return MemoryStats{Hits: m.hits.Load(), Misses: m.misses.Load(), Evictions: m.evictions.Load(), Bytes: m.used, Limit: m.limit}
}

func (m *memory) hit(t *Task) {
	m.hits.Add(1)
	if now := m.clock.Load(); t.usedAt.Load() != now {
		t.usedAt.Store(now)
	}
}

// set records the size of a task's model; zero: the model is not in memory. It returns the tasks to evict, whose bytes are no
// longer counted. `t` is never one of them, so a single model may exceed the limit.
func (m *memory) set(t *Task, size int64) (victims []*Task) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used += size - m.sizes[t]
	if size == 0 {
		delete(m.sizes, t)
		return nil
	}
	m.sizes[t] = size
	for m.limit > 0 && m.used > m.limit {
		victim := m.oldest(t)
		if victim == nil {
			break
		}
		m.used -= m.sizes[victim]
		delete(m.sizes, victim)
		m.evictions.Add(1)
		victims = append(victims, victim)
	}
	return victims
}

// oldest returns the task whose decoded model was used least recently, apart from `except`. It scans all tasks with such a
// model: a thousand of them take microseconds, and decoding one model takes milliseconds.
func (m *memory) oldest(except *Task) (oldest *Task) {
	var usedAt int64
	for t := range m.sizes {
		if at := t.usedAt.Load(); t != except && (oldest == nil || at < usedAt) {
			oldest, usedAt = t, at
		}
	}
	return oldest
}

// isFull reports whether another model of average size would exceed the limit.
func (m *memory) isFull() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.limit > 0 && len(m.sizes) > 0 && m.used+m.used/int64(len(m.sizes)) > m.limit
}

// MemoryStats returns the current MemoryStats.
func (c *Cache) MemoryStats() MemoryStats { return c.memory.stats() }

// account records the current size of a task's model, and evicts other models if the limit is
// exceeded. The caller holds neither mu nor sizeMu of a task.
func (c *Cache) account(t *Task) {
	t.sizeMu.Lock()
	victims := c.memory.set(t, t.memoryBytes())
	t.sizeMu.Unlock()
	for _, victim := range victims {
		victim.evict()
		c.account(victim) // another call may have loaded it again
	}
}
