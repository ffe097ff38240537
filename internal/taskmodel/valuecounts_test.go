package taskmodel

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A model of an earlier release has levels with rows, but no counts. Ordinary values must not become exceptions (rare values
// of a feature that mostly has one other value) when the model learns.
func TestNoExceptionsWithoutTheCountsOfEarlierRows(t *testing.T) {
	common, usual, rare := sizing.TextValue("common"), sizing.TextValue("usual"), sizing.TextValue("rare")
	c := column{Kind: sizing.Category, Levels: map[string]*categoryLevel{"common": {Rows: 100}, "usual": {Rows: 80}, "rare": {Rows: 20}}}
	for range 20 {
		for _, v := range []sizing.Value{common, usual, rare} {
			c.level(v).Rows++
			c.count(v)
		}
		assert.False(t, c.isException(rare), "%+v", c.Counts)
	}
	c = column{Kind: sizing.Category, Levels: map[string]*categoryLevel{}}
	for i := range 100 {
		v := common
		if i%10 == 0 {
			v = rare
		}
		c.level(v).Rows++
		c.count(v)
	}
	assert.True(t, c.isException(rare))
	assert.False(t, c.isException(common))
}
