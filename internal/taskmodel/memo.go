package taskmodel

import (
	"hash/maphash"
	"math"
	"slices"
	"sync/atomic"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Memo caches recent answers of all models of a process (memoization): the tasks of a mapped run,
// a repeated try and a report page ask the same question many times. A cached answer equals that
// of Model.Size bit for bit: its key includes the model's state, which changes with every learned
// row. A full Memo takes about 6 MB. It is safe for concurrent use; the zero Memo is empty.
type Memo struct {
	lastHash [memoSlots]atomic.Uint64 // hash of the last question per slot: only repeated questions are stored
	slots    [memoSlots]atomic.Pointer[cachedAnswer]
}

const memoSlots = 4096

// cachedAnswer is one answer with everything it depends on.
type cachedAnswer struct {
	state  uint64
	q      Question // without features; cells holds them
	cells  []sizing.Value
	answer Answer
}

// states issues unique model states.
var states atomic.Uint64

var memoSeed = maphash.MakeSeed()

// Size returns m.Size(q). The answer shares its slices with other callers, who must not modify
// them.
func (k *Memo) Size(m *Model, q Question) Answer {
	b := bufferPool.Get().(*buffers)
	b.cells = m.cells(q.Features, b.cells)
	features := q.Features
	q.Features = nil
	hash := hashOf(m.state, &q, b.cells)
	first, second := hash%memoSlots, hash>>32%memoSlots
	for _, slot := range [...]uint64{first, second} {
		if cached := k.slots[slot].Load(); cached != nil && cached.matches(m.state, &q, b.cells) {
			bufferPool.Put(b)
			return cached.answer
		}
	}
	repeated := k.lastHash[first].Swap(hash) == hash
	repeated = k.lastHash[second].Swap(hash) == hash || repeated
	var fresh *cachedAnswer
	if repeated {
		fresh = &cachedAnswer{state: m.state, q: q, cells: slices.Clone(b.cells)}
	}
	bufferPool.Put(b)
	q.Features = features
	sized := m.Size(q)
	if repeated {
		fresh.answer = sized
		k.store(fresh, first, second)
	}
	return sized
}

// store puts an answer into one of its two slots, preferably one without a current answer of the
// same model: otherwise two questions that share a slot would evict each other forever.
func (k *Memo) store(fresh *cachedAnswer, first, second uint64) {
	if old := k.slots[first].Load(); old != nil && old.state == fresh.state {
		first = second
	}
	k.slots[first].Store(fresh)
}

// matches reports whether k answers a question.
func (k *cachedAnswer) matches(state uint64, q *Question, cells []sizing.Value) bool {
	return k.state == state && k.q.Requested == q.Requested && k.q.Floor == q.Floor && k.q.Cap == q.Cap && k.q.MinGrant == q.MinGrant &&
		k.q.RiskTarget == q.RiskTarget && k.q.Above == q.Above && k.q.Lifts == q.Lifts && k.q.Widen == q.Widen && k.q.CapBy == q.CapBy && k.q.Open == q.Open &&
		slices.Equal(k.q.Edges, q.Edges) && slices.Equal(k.cells, cells)
}

// hashOf hashes a question. It may leave out fields, because matches compares all of them.
func hashOf(state uint64, q *Question, cells []sizing.Value) uint64 {
	h := state
	mix := func(v uint64) { h = (h ^ v) * 0x9e3779b97f4a7c15; h ^= h >> 29 }
	mix(uint64(q.Requested.Memory))
	mix(uint64(q.Cap))
	mix(uint64(q.Above))
	mix(uint64(q.Lifts))
	for i := range cells {
		switch v := &cells[i]; v.Kind {
		case sizing.Category:
			mix(maphash.String(memoSeed, v.Text))
		default:
			mix(math.Float64bits(v.Num) + uint64(v.Kind))
		}
	}
	return h
}
