package sizing_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func FuzzParseCPU(f *testing.F) {
	for _, seed := range []string{"6", "250m", "0.5", "1e3", "1n", "100u", "1E", "-0", "1e-300", "1048576"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := sizing.ParseCPU(text)
		if err != nil {
			return
		}
		require.Greater(t, c, sizing.Cores(0))
		require.LessOrEqual(t, c, sizing.Cores(sizing.MaxCores))
		back, err := sizing.ParseCPU(c.String())
		require.NoError(t, err, "%q is formatted as %q", text, c.String())
		require.InDelta(t, float64(c), float64(back), 0.001, "ParseCPU reverses String up to a millicore")
	})
}

func FuzzTextValue(f *testing.F) {
	for _, seed := range []string{"emea", "2020-01-03", "2020-02-30", "0000-01-01", "9999-12-31T23:59:59Z", "2020-01-03T02:15:00+25:00", "2020-01-03 02:15:00", "2020/01/03 02:15:00.5 +0100 CET", "2020-01-03T02:15[Europe/Berlin]", "----------", "37.5GB", "90 min", "20250103", "1,234,567", "1e6", "True", "1.7976931348623157e308 d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := sizing.TextValue(text)
		require.Equal(t, text, v.Text)
		require.Equal(t, v, sizing.TextValue(v.Text))
		require.False(t, math.IsNaN(v.Num) || math.IsInf(v.Num, 0))
		require.True(t, v.Kind == sizing.Date || v.Kind == sizing.Category || v.Kind == sizing.Number || v.Kind == sizing.Bool)
	})
}
