package service

import (
	"bytes"
	"cmp"
	"hash/maphash"

	"github.com/loadaware/loadaware/internal/sizing"
)

// asked is one try that was answered and has not been reported yet.
type asked struct {
	limit    sizing.Bytes
	promised *float64
	terms    terms
	features packed
}

// terms are what the caller said of the amounts of a run. Zero fields are not known.
type terms struct {
	requested sizing.Resources
	most      sizing.Bytes // max_memory
}

func termsOf(ask *sizing.Ask) terms { return terms{requested: ask.Requested, most: ask.MaxMemory} }

// or fills what t leaves open from other.
func (t terms) or(other terms) terms {
	return terms{
		requested: sizing.Resources{
			Memory: cmp.Or(t.requested.Memory, other.requested.Memory),
			CPU:    cmp.Or(t.requested.CPU, other.requested.CPU),
		},
		most: cmp.Or(t.most, other.most),
	}
}

// fill writes what an ask leaves open into it.
func (t terms) fill(ask *sizing.Ask) {
	all := termsOf(ask).or(t)
	ask.Requested, ask.MaxMemory = all.requested, all.most
}

// askedTries remembers the tries that were answered until they end. They are written one
// behind the other as bytes, which a garbage collection need not look into: as a map of
// maps, a hundred thousand of them were a million pieces, and held up answers for tenths
// of a second at each collection. Where the younger half is full, the older one is
// forgotten as a whole, which costs a read of the store for each, never an answer. The
// zero value is ready.
type askedTries struct {
	young, old half
}

// half holds records of one time. What was written stays as it is: a record that ended or
// was asked again is only no longer found, and a block of which none is found is given up.
type half struct {
	found  map[uint64]uint32 // hash of a try's key: where its record begins
	blocks []block
	kept   int // blocks that were not given up
}

type block struct {
	log  []byte
	open int // records that are found
}

const (
	blockBits  = 20      // a record lies in one block of 1 MiB, or has one of its own
	halfBlocks = 16      // a half takes 16 MiB, some 50,000 tries of a dozen features each
	mostBlocks = 1 << 12 // that are told apart
)

var askedSeed = maphash.MakeSeed()

// put remembers an answer, and reports whether it is the try's first.
func (m *askedTries) put(try *sizing.TryKey, a *asked, features sizing.Features) (first bool) {
	var room [1024]byte
	record := appendTry(room[:0], try)
	hash := maphash.Bytes(askedSeed, record)
	first = !m.remove(hash, record)
	record = appendFeatures(appendAnswer(record, a), features)
	if m.young.full() && !m.young.fits(len(record)) {
		m.young, m.old = half{}, m.young
	}
	m.young.put(hash, record)
	return first
}

// get is what a try was answered, if it is remembered.
func (m *askedTries) get(try *sizing.TryKey) (a asked, ok bool) {
	var room [256]byte
	key := appendTry(room[:0], try)
	hash := maphash.Bytes(askedSeed, key)
	for _, h := range []*half{&m.young, &m.old} {
		if answer, ok := h.get(hash, key); ok {
			return answerOf(answer), true
		}
	}
	return asked{}, false
}

// drop forgets a try.
func (m *askedTries) drop(try *sizing.TryKey) {
	var room [256]byte
	key := appendTry(room[:0], try)
	m.remove(maphash.Bytes(askedSeed, key), key)
}

func (m *askedTries) remove(hash uint64, key []byte) (was bool) {
	for _, h := range []*half{&m.young, &m.old} {
		if _, ok := h.get(hash, key); ok {
			h.remove(hash)
			return true
		}
	}
	return false
}

// dropTask forgets all tries of a task.
func (m *askedTries) dropTask(task sizing.TaskKey) {
	prefix := appendTask(nil, task)
	for _, h := range []*half{&m.young, &m.old} {
		for hash, at := range h.found {
			if bytes.HasPrefix(h.from(at), prefix) {
				h.remove(hash)
			}
		}
	}
}

func (m *askedTries) len() int { return len(m.young.found) + len(m.old.found) }

func (h *half) full() bool { return h.kept >= halfBlocks || len(h.blocks) == mostBlocks }

func (h *half) fits(n int) bool {
	last := len(h.blocks) - 1
	return last >= 0 && h.blocks[last].log != nil && len(h.blocks[last].log)+n <= 1<<blockBits
}

func (h *half) put(hash uint64, record []byte) {
	if h.found == nil {
		h.found = map[uint64]uint32{}
	}
	if _, shared := h.found[hash]; shared {
		h.remove(hash)
	}
	if !h.fits(len(record)) {
		h.blocks = append(h.blocks, block{log: make([]byte, 0, max(1<<blockBits, len(record)))})
		h.kept++
	}
	last := len(h.blocks) - 1
	b := &h.blocks[last]
	h.found[hash] = uint32(last<<blockBits | len(b.log))
	b.log = append(b.log, record...)
	b.open++
}

// remove gives up the block, too, where nothing in it is found any more and it is half
// full: one that was hardly begun is written on.
func (h *half) remove(hash uint64) {
	b := &h.blocks[h.found[hash]>>blockBits]
	delete(h.found, hash)
	if b.open--; b.open == 0 && len(b.log) > 1<<(blockBits-1) {
		b.log = nil
		h.kept--
	}
}

// from is what was written from a place on.
func (h *half) from(at uint32) []byte {
	return h.blocks[at>>blockBits].log[at&(1<<blockBits-1):]
}

// get is what stands behind a key.
func (h *half) get(hash uint64, key []byte) (behind []byte, ok bool) {
	at, ok := h.found[hash]
	if !ok {
		return nil, false
	}
	return bytes.CutPrefix(h.from(at), key) // two tries may share a hash
}
