package gbt

import (
	"math"
	"math/rand/v2"
)

// draw samples a share of the items without replacement, at least one, in their order
// (selection sampling, Knuth vol. 2, §3.4.2). A share of 1 uses no random numbers and returns
// items itself. Otherwise the result reuses the memory of out.
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
