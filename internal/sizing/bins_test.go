package sizing_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestLeastCost(t *testing.T) {
	bins := sizing.Bins{1 * gib, 4 * gib, 10 * gib}
	for name, c := range map[string]struct {
		p           []float64
		risk, price float64
		want        []sizing.Bytes
	}{
		"uses every rung if a kill has no price": {[]float64{.90, .09, .01}, 1, 0, []sizing.Bytes{gib, 4 * gib, 10 * gib}},
		"the first rung meets the risk target":   {[]float64{.90, .09, .01}, .05, 0, []sizing.Bytes{4 * gib, 10 * gib}},
		"skips a rung that rarely suffices":      {[]float64{.90, .01, .09}, 1, 0, []sizing.Bytes{gib, 10 * gib}},
		"avoids an expensive kill":               {[]float64{.90, .09, .01}, 1, float64(100 * gib), []sizing.Bytes{4 * gib, 10 * gib}},
		"a certain peak needs one rung":          {[]float64{1, 0, 0}, .01, 0, []sizing.Bytes{gib}},
	} {
		assert.Equal(t, c.want, sizing.LeastCost(bins, c.p, c.risk, c.price), name)
	}
}

func TestLeastCostMatchesBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		bins, p, total := sizing.Bins{}, []float64{}, 0.0
		for i := range 2 + rng.IntN(4) {
			bins = append(bins, sizing.Bytes(i+1)*gib+sizing.Bytes(rng.Int64N(int64(gib))))
			p = append(p, rng.Float64())
			total += p[i]
		}
		for i := range p {
			p[i] /= total
		}
		price := rng.Float64() * float64(gib)
		got := ladderCost(bins, p, price, sizing.LeastCost(bins, p, 1, price))
		for subset := range 1 << (len(bins) - 1) { // every ladder that ends at the last bin
			var ladder []sizing.Bytes
			for i, bin := range bins {
				if i == len(bins)-1 || subset>>i&1 == 1 {
					ladder = append(ladder, bin)
				}
			}
			assert.GreaterOrEqual(t, ladderCost(bins, p, price, ladder)+1, got)
		}
	}
}

func ladderCost(bins sizing.Bins, p []float64, price float64, ladder []sizing.Bytes) float64 {
	cost := 0.0
	for i := range bins {
		for _, rung := range ladder {
			cost += p[i] * float64(rung)
			if rung >= bins[i] {
				break
			}
			cost += p[i] * price
		}
	}
	return cost
}
