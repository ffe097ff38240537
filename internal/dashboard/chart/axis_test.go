package chart

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumbersAreFormattedWithoutExponent(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "0.05": 0.05, "9500": 9500, "-500": -500, "10\u202f000": 1e4, "-25\u202f000": -2.5e4, "-200\u202f000": -2e5, "1\u202f500\u202f000": 1.5e6, "20 million": 2e7, "-12.5 million": -1.25e7, "9.5 billion": 9.5e9, "12 billion": 1.2e10,
	} {
		assert.Equal(t, want, (&Axis{}).format(v))
	}
	assert.Equal(t, "20\u202f000 %", (&Axis{Unit: Percent}).format(2e4))
}
