package taskmodel

import (
	"hash/maphash"
	"math"
	"slices"
	"sync/atomic"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Memo caches recent answers of all models of a process (memoization), because mapped tries, a repeated
// try and a report page ask the same question many times. A cached answer equals the answer of
// Model.Size bit for bit, because its key includes the number of the model's state, which changes with every learned
// row, pool and set of shapes. A full Memo takes about 6 MB. It is safe for concurrent use; the zero Memo is empty.
type Memo struct {
	lastHash [memoSlots]atomic.Uint64 // hash of the last question of a slot; an answer is stored when its question repeats this hash
	slots    [memoSlots]atomic.Pointer[cachedAnswer]
}

// memoSlots is the number of slots. Each question has two of them, by its hash.
const memoSlots = 4096

type cachedAnswer struct {
	state  uint64
	q      Question // without features; cells holds them
	cells  []sizing.Value
	answer Answer
}

// states is the number of model states so far; a new state gets the next number.
var states atomic.Uint64

var memoSeed = maphash.MakeSeed()

// Size returns m.Size(q). The answer shares its slices and pointers with other callers, so the caller must not
// modify what they refer to.
func (c *Memo) Size(m *Model, q Question) Answer {
	if len(m.newFeaturesOf(q.Features)) > 0 { // the key of an answer does not contain these features
		return m.Size(q)
	}
	b := bufferPool.Get().(*buffers)
	b.cells = m.cells(q.Features, b.cells)
	features := q.Features
	q.Features = nil
	hash := hashOf(m.state, &q, b.cells)
	first, second := hash%memoSlots, hash>>32%memoSlots
	for _, slot := range [...]uint64{first, second} {
		if cached := c.slots[slot].Load(); cached != nil && cached.matches(m.state, &q, b.cells) {
			bufferPool.Put(b)
			return cached.answer
		}
	}
	repeated := c.lastHash[first].Swap(hash) == hash
	repeated = c.lastHash[second].Swap(hash) == hash || repeated
	var added *cachedAnswer
	if repeated {
		added = &cachedAnswer{state: m.state, q: q, cells: slices.Clone(b.cells)}
	}
	q.Features = features
	sized := m.size(q, b)
	bufferPool.Put(b)
	if repeated {
		added.answer = sized
		c.store(added, first, second)
	}
	return sized
}

// store puts an answer into the first of its two slots, or into the second if the first has an
// answer of the same model state: otherwise two questions with the same first slot would evict each
// other forever.
func (c *Memo) store(added *cachedAnswer, first, second uint64) {
	if old := c.slots[first].Load(); old != nil && old.state == added.state {
		first = second
	}
	c.slots[first].Store(added)
}

func (c *cachedAnswer) matches(state uint64, q *Question, cells []sizing.Value) bool {
	return c.state == state && c.q.Requested == q.Requested && c.q.Floor == q.Floor && c.q.Cap == q.Cap && c.q.MinGrant == q.MinGrant &&
		c.q.RiskTarget == q.RiskTarget && c.q.Above == q.Above && c.q.Lifts == q.Lifts && c.q.GuardFactor == q.GuardFactor && c.q.CapBy == q.CapBy && c.q.Open == q.Open && c.q.Timeout == q.Timeout && c.q.RunScore == q.RunScore && c.q.Shape == q.Shape &&
		slices.Equal(c.q.Edges, q.Edges) && slices.Equal(c.cells, cells)
}

// hashOf may leave out fields of the question, because matches compares all of them.
func hashOf(state uint64, q *Question, cells []sizing.Value) uint64 {
	h := state
	mix := func(v uint64) { h = (h ^ v) * 0x9e3779b97f4a7c15; h ^= h >> 29 }
	mix(uint64(q.Requested.Memory))
	mix(uint64(q.Cap))
	mix(uint64(q.Above))
	mix(uint64(q.Lifts))
	mix(math.Float64bits(q.RunScore))
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
