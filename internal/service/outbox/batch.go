package outbox

import (
	"github.com/loadaware/loadaware/internal/service/packed"
	"github.com/loadaware/loadaware/internal/sizing"
)

// batch holds up to BatchSize receipts. It stores their features in packed form. As maps, the
// features would be most of the memory that the garbage collector has to scan.
type batch struct {
	receipts  []sizing.Receipt // without their features
	features  []packed.Reader  // parallel to receipts
	chunk     []byte           // holds the newest features
	isReduced bool             // whether withoutUnneeded returned the batch
}

const chunkBytes = 64 << 10 // a full chunk is replaced and not extended, because a copy would block all predictions

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
	b.receipts, b.features, b.chunk, b.isReduced = b.receipts[:0], b.features[:0], b.chunk[:0], false
}

// withoutUnneeded returns a copy of the batch without the receipts that no report will need: it omits earlier answers to a try
// with a newer answer in the batch, and answers without a run id, to which no report belongs.
func (b *batch) withoutUnneeded() *batch {
	newest := make(map[sizing.TryKey]int, len(b.receipts))
	for i := range b.receipts {
		if try := &b.receipts[i].Ask.Try; try.RunID != "" {
			newest[*try] = i
		}
	}
	reduced := newBatch()
	reduced.isReduced = true
	for i := range b.receipts {
		if last, hasTry := newest[b.receipts[i].Ask.Try]; hasTry && last == i {
			reduced.add(b.receipts[i], b.features[i])
		}
	}
	return reduced
}
