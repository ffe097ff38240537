package sizing

import "slices"

// Bins cut memory at ascending upper edges. A bin is worth its upper edge,
// because the upper edge is what we would grant.
//
//	usage   0 ──────┬─────────┬─────────┬──────▶
//	edge           512M      2G        8G
//	bin         0   │    1    │    2    │  over
type Bins []Bytes

// Index is the first bin whose upper edge holds b; len(bins) above the last.
func (bins Bins) Index(b Bytes) int {
	i, _ := slices.BinarySearch(bins, b)
	return i
}

// RoundUp is the smallest edge that holds b; b itself above the last.
func (bins Bins) RoundUp(b Bytes) Bytes {
	if i := bins.Index(b); i < len(bins) {
		return bins[i]
	}
	return b
}

// Valid reports whether the edges are positive and strictly ascending.
func (bins Bins) Valid() bool {
	for i, edge := range bins {
		if edge <= 0 || i > 0 && edge <= bins[i-1] {
			return false
		}
	}
	return len(bins) > 0
}
