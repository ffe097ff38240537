package outbox

import (
	"github.com/loadaware/loadaware/internal/service/packed"
	"github.com/loadaware/loadaware/internal/sizing"
)

// batch holds up to BatchSize receipts. It stores their features packed, because maps of
// features would be most of what the garbage collector has to scan.
type batch struct {
	receipts []sizing.Receipt // without their features
	features []packed.Reader  // parallel to receipts
	chunk    []byte           // holds the newest features
}

const chunkBytes = 64 << 10 // a full chunk is replaced, not grown: a copy would block all predictions

func newBatch() *batch {
	return &batch{receipts: make([]sizing.Receipt, 0, BatchSize), features: make([]packed.Reader, 0, BatchSize)}
}

func (b *batch) add(r sizing.Receipt, features []byte) {
	if cap(b.chunk)-len(b.chunk) < len(features) {
		b.chunk = make([]byte, 0, max(chunkBytes, len(features)))
	}
	from := len(b.chunk)
	b.chunk = append(b.chunk, features...)
	b.features = append(b.features, b.chunk[from:])
	b.receipts = append(b.receipts, r)
}

// receipt returns receipt i with its features.
func (b *batch) receipt(i int) sizing.Receipt {
	r := b.receipts[i]
	r.Ask.Features = b.features[i].Features()
	return r
}

func (b *batch) all() []sizing.Receipt {
	all := make([]sizing.Receipt, len(b.receipts))
	for i := range all {
		all[i] = b.receipt(i)
	}
	return all
}

func (b *batch) clear() {
	clear(b.receipts)
	clear(b.features)
	b.receipts, b.features, b.chunk = b.receipts[:0], b.features[:0], b.chunk[:0]
}
