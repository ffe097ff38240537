package gbt

import (
	"math"
	"math/rand/v2"
)

// draw picks the given share of items, at least one, without replacement and in
// their order (selection sampling, Knuth vol. 2, §3.4.2). A share of 1 costs no
// random number and returns items itself; else the result is in out's place.
func draw[T any](rng *rand.Rand, items []T, share float64, out []T) []T {
	if share >= 1 {
		return items
	}
	want := max(1, int(math.Round(share*float64(len(items)))))
	out = out[:0]
	for i, item := range items {
		if rng.IntN(len(items)-i) < want-len(out) {
			out = append(out, item)
		}
	}
	return out
}
