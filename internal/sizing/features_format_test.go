package sizing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestFormatNumberHasNoExponentUpTo15Digits(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "20200000": 2.02e7, "20200001": 20200000.7, "-1000000": -999999.9, "999999": 999999.4, "0.25": 0.25, "-1.5": -1.5,
		"1.23457": 1.2345678, "900719925474099": 900719925474099, "0.0001": 1e-4,
	} {
		assert.Equal(t, want, sizing.FormatNumber(v))
	}
}

func TestFormatFactorHasNoExponent(t *testing.T) {
	for want, v := range map[string]float64{"1024": 1024, "1000": 999.7, "999": 999.4, "1.03": 1.0272, "20200000": 2.02e7, "0.05": 0.05} {
		assert.Equal(t, want, sizing.FormatFactor(v))
	}
}
