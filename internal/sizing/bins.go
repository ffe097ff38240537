package sizing

import "slices"

// Bins divides memory at ascending upper edges. A bin counts as its upper edge, because
// that is the amount that a grant rounds up to.
//
//	usage   0 ──────┬─────────┬─────────┬──────▶
//	edge           512M      2G        8G
//	bin         0   │    1    │    2    │  over
type Bins []Bytes

// Index returns the first bin with an upper edge of at least b, or len(bins) if b is above
// the last edge.
func (bins Bins) Index(b Bytes) int {
	i, _ := slices.BinarySearch(bins, b)
	return i
}

// RoundUp returns the smallest edge of at least b, or b itself if it is above the last edge.
func (bins Bins) RoundUp(b Bytes) Bytes {
	if i := bins.Index(b); i < len(bins) {
		return bins[i]
	}
	return b
}

// Valid reports whether there are edges, all positive and strictly ascending.
func (bins Bins) Valid() bool {
	for i, edge := range bins {
		if edge <= 0 || i > 0 && edge <= bins[i-1] {
			return false
		}
	}
	return len(bins) > 0
}
