package sizing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestTextsOfDurationsAreSeconds(t *testing.T) {
	for text, want := range map[string]float64{
		"PT45M": 2700, "P1DT2H": 93600, "P7D": 604800, "P2W": 1209600, "PT1.5S": 1.5, "PT1H30M5S": 5405, "PT0S": 0,
		"0:45:00": 2700, "26:00:00": 93600, "1 day, 2:00:00": 93600, "7 days, 0:00:00.5": 604800.5, "-1 day, 23:59:00": -60,
		"3h05m": 11100, "1h30m0s": 5400, "1d12h": 129600, "2w1d": 1296000, "1m2.5s": 62.5, "2h 30min": 9000,
	} {
		got := sizing.TextValue(text)
		assert.Equal(t, sizing.Value{Kind: sizing.Number, Num: want, Text: text}, got)
	}
	for _, text := range []string{"", "P", "PT", "P1", "P1M", "P1Y", "P1DT", "PT1D", "P1H", "PT-5M", "12:30", "1:60:00", "1 day, ", "1 days 2:00:00", "Pat", "10:00:00 PM", "5m3h", "1h-5m", "1h5", "1hs", "12abc"} {
		assert.Equal(t, sizing.Category, sizing.TextValue(text).Kind, text)
	}
}
