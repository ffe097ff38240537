package taskmodel

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestOnlySmallDifferencesOfNumbersAreEncoded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	var rows, short [][]sizing.Value
	for range 40 {
		from := 1e9 * rng.Float64()
		rows = append(rows, []sizing.Value{number(from + 1000*rng.Float64()), number(from), number(from + 7), number(1e9 * rng.Float64())})
	}
	short = rows[:10]
	// Field 2 differs from field 1 by a constant, and field 3 from all others by too much.
	assert.Equal(t, [][2]int{{1, 0}, {2, 0}}, encoded(rows).Pairs, "each pair must have the smaller number first")
	assert.Empty(t, encoded(short).Pairs, "ten rows must be too few for a pair")
}
