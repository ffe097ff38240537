package inflight

import (
	"bytes"
	"hash/maphash"
	"time"

	"github.com/loadaware/loadaware/internal/service/packed"
	"github.com/loadaware/loadaware/internal/sizing"
)

// answers stores the answers of in-flight tries, which were predicted and not reported yet, as packed records:
// a try's key, its answer and its features. With a map of maps, 100,000 tries would be a million heap objects, and each
// garbage collection would delay predictions by tenths of a second.
//
// answers has two generations. When the newer generation is full, answers discards the older one. The service then reads
// what it needs about a discarded try from the store, and no prediction fails. The zero value is empty.
type answers struct {
	newer, older generation
}

// generation appends records to blocks and never changes a record. The removal of a record deletes only its offset.
// A block without live records is freed if it is more than half full.
type generation struct {
	offsets    map[uint64]uint32 // hash of a try's key → index of the block (12 bits) and offset in it (20 bits)
	blocks     []block
	liveBlocks int // blocks that are not freed
}

type block struct {
	data []byte
	live int // number of records that are not removed
}

const (
	blockBits      = 20      // a block has 1 MiB, or the size of one larger record
	maxLiveBlocks  = 16      // of a generation: 16 MiB, or about 50,000 tries with a dozen features each
	maxTotalBlocks = 1 << 12 // live and freed blocks of a generation; their index has the other 12 bits of an offset
)

var hashSeed = maphash.MakeSeed()

// put stores the answer `a` in place of an earlier answer to the try. In the stored answer, Largest is the largest Limit of
// all answers to the try. put reports whether there was no earlier answer.
func (s *answers) put(try *sizing.TryKey, a Answer, features sizing.Features) (isFirst bool) {
	var buffer [1024]byte
	record := appendTry(buffer[:0], try)
	hash := maphash.Bytes(hashSeed, record)
	earlier, isKnown := s.removeKey(hash, record)
	a.Largest = a.Limit
	if isKnown {
		a.Largest = max(a.Limit, decodeAnswer(earlier).Largest)
	}
	record = packed.AppendFeatures(appendAnswer(record, &a), features)
	if s.newer.isFull() && !s.newer.fits(len(record)) {
		s.newer, s.older = generation{}, s.newer
	}
	s.newer.put(hash, record)
	return !isKnown
}

func (s *answers) get(try *sizing.TryKey) (a Answer, ok bool) {
	var buffer [256]byte
	key := appendTry(buffer[:0], try)
	hash := maphash.Bytes(hashSeed, key)
	for _, g := range []*generation{&s.newer, &s.older} {
		if record, ok := g.get(hash, key); ok {
			return decodeAnswer(record), true
		}
	}
	return Answer{}, false
}

func (s *answers) remove(try *sizing.TryKey) {
	var buffer [256]byte
	key := appendTry(buffer[:0], try)
	s.removeKey(maphash.Bytes(hashSeed, key), key)
}

func (s *answers) removeKey(hash uint64, key []byte) (rest []byte, wasPresent bool) {
	for _, g := range []*generation{&s.newer, &s.older} {
		if rest, ok := g.get(hash, key); ok {
			g.remove(hash)
			return rest, true
		}
	}
	return nil, false
}

func (s *answers) removeTask(task sizing.TaskKey) {
	prefix := appendTask(nil, task)
	for _, g := range []*generation{&s.newer, &s.older} {
		for hash, offset := range g.offsets {
			if bytes.HasPrefix(g.from(offset), prefix) {
				g.remove(hash)
			}
		}
	}
}

func (s *answers) len() int { return len(s.newer.offsets) + len(s.older.offsets) }

func (g *generation) isFull() bool {
	return g.liveBlocks >= maxLiveBlocks || len(g.blocks) == maxTotalBlocks
}

func (g *generation) fits(n int) bool {
	last := len(g.blocks) - 1
	return last >= 0 && g.blocks[last].data != nil && len(g.blocks[last].data)+n <= 1<<blockBits
}

func (g *generation) put(hash uint64, record []byte) {
	if g.offsets == nil {
		g.offsets = map[uint64]uint32{}
	}
	if _, collides := g.offsets[hash]; collides {
		g.remove(hash)
	}
	if !g.fits(len(record)) {
		g.blocks = append(g.blocks, block{data: make([]byte, 0, max(1<<blockBits, len(record)))})
		g.liveBlocks++
	}
	last := len(g.blocks) - 1
	b := &g.blocks[last]
	g.offsets[hash] = uint32(last<<blockBits | len(b.data))
	b.data = append(b.data, record...)
	b.live++
}

// remove removes a record. It also frees the block if the block is more than half full and has no live record. A block
// that is at most half full is kept, because put can usually add more records to it.
func (g *generation) remove(hash uint64) {
	b := &g.blocks[g.offsets[hash]>>blockBits]
	delete(g.offsets, hash)
	if b.live--; b.live == 0 && len(b.data) > 1<<(blockBits-1) {
		b.data = nil
		g.liveBlocks--
	}
}

func (g *generation) from(offset uint32) []byte {
	return g.blocks[offset>>blockBits].data[offset&(1<<blockBits-1):]
}

// get returns the part of a record after its key. It compares the whole key, because hashes can collide.
func (g *generation) get(hash uint64, key []byte) (rest []byte, ok bool) {
	offset, ok := g.offsets[hash]
	if !ok {
		return nil, false
	}
	return bytes.CutPrefix(g.from(offset), key)
}

// appendTask appends each part with its length, so that the encoded key of a task is not a prefix of the key of another task
// or of another task's tries.
func appendTask(b []byte, task sizing.TaskKey) []byte {
	return packed.AppendText(packed.AppendText(packed.AppendText(b, task.Namespace), task.DAG), task.Task)
}

func appendTry(b []byte, try *sizing.TryKey) []byte {
	b = packed.AppendText(appendTask(b, try.TaskKey), try.RunID)
	return packed.AppendInt(packed.AppendInt(b, int64(try.MapIndex)), int64(try.Number))
}

const (
	promisedFlag = 1 << iota
	restoredFlag
)

func appendAnswer(b []byte, a *Answer) []byte {
	b = packed.AppendInt(b, int64(a.Limit))
	b = packed.AppendInt(b, int64(a.Largest))
	b = packed.AppendInt(b, int64(a.Static))
	b = packed.AppendInt(b, int64(a.Request.Resources.Memory))
	b = packed.AppendNumber(b, float64(a.Request.Resources.CPU))
	b = packed.AppendInt(b, int64(a.Request.MaxMemory))
	b = packed.AppendNumber(b, a.Level)
	b = packed.AppendNumber(b, a.RunScore)
	b = packed.AppendInt(b, a.At.UnixMilli())
	var flags byte
	if a.IsRestored {
		flags |= restoredFlag
	}
	if a.Promised == nil {
		return append(b, flags)
	}
	return packed.AppendNumber(append(b, flags|promisedFlag), *a.Promised)
}

// decodeAnswer decodes an answer, except its features.
func decodeAnswer(r packed.Reader) Answer {
	a := Answer{Limit: sizing.Bytes(r.Int()), Largest: sizing.Bytes(r.Int()), Static: sizing.Bytes(r.Int())}
	a.Request.Resources.Memory = sizing.Bytes(r.Int())
	a.Request.Resources.CPU = sizing.Cores(r.Number())
	a.Request.MaxMemory = sizing.Bytes(r.Int())
	a.Level = r.Number()
	a.RunScore = r.Number()
	a.At = time.UnixMilli(r.Int())
	flags := r.Byte()
	a.IsRestored = flags&restoredFlag != 0
	if flags&promisedFlag != 0 {
		promised := r.Number()
		a.Promised = &promised
	}
	a.features = r
	return a
}
