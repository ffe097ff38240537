package fitting

import (
	"hash/maphash"
	"math"
	"slices"
	"sync/atomic"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Memo keeps the answers to questions that were asked lately, for all models of a
// process: the tasks of a mapped run, a try asked again and a report's page ask the
// same many times. What it answers is what Model.Size would, bit for bit: an answer is
// kept with the stamp of the model that gave it, and every row that a model learns
// gives it a new one. It takes some 6 MB when full, and is safe for many goroutines.
// The zero Memo is empty.
type Memo struct {
	asked [memoSlots]atomic.Uint64 // hash of what was asked here last, so that only what is asked twice is kept
	slots [memoSlots]atomic.Pointer[cachedAnswer]
}

const memoSlots = 4096

// kept is one answer, and all that it depends on.
type cachedAnswer struct {
	state  uint64
	q      Question // without its features, which stand in cells
	cells  []sizing.Value
	answer Answer
}

// stamps are given out once each.
var states atomic.Uint64

var memoSeed = maphash.MakeSeed()

// Size is m.Size(q). The answer shares its slices with others: read them only.
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
	repeated := k.asked[first].Swap(hash) == hash
	repeated = k.asked[second].Swap(hash) == hash || repeated
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

// keep puts an answer into the one of its two places where no other answer of the model
// as it is now stands: two questions that share a place would else drive each other out
// for ever.
func (k *Memo) store(fresh *cachedAnswer, first, second uint64) {
	if old := k.slots[first].Load(); old != nil && old.state == fresh.state {
		first = second
	}
	k.slots[first].Store(fresh)
}

// answers reports whether k is the answer to a question.
func (k *cachedAnswer) matches(state uint64, q *Question, cells []sizing.Value) bool {
	return k.state == state && k.q.Requested == q.Requested && k.q.Floor == q.Floor && k.q.Cap == q.Cap && k.q.MinGrant == q.MinGrant &&
		k.q.RiskTarget == q.RiskTarget && k.q.Above == q.Above && k.q.Lifts == q.Lifts && k.q.Widen == q.Widen && k.q.CapBy == q.CapBy && k.q.Open == q.Open &&
		slices.Equal(k.q.Edges, q.Edges) && slices.Equal(k.cells, cells)
}

// hashOf mixes a question; what it leaves out is compared anyway.
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
