package sizing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestParseMemoryFollowsKubernetes(t *testing.T) {
	for text, want := range map[string]sizing.Bytes{
		"350Gi":       350 << 30,
		"1.5Gi":       3 << 29,
		"1500M":       1_500_000_000,
		"10737418240": 10 << 30,
		"1e9":         1_000_000_000,
		"1E9":         1_000_000_000,
		"1500m":       2, // a fraction of a byte rounds up
		"0.5Ki":       512,
	} {
		got, err := sizing.ParseMemory(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestParseMemoryRejectsInvalidQuantities(t *testing.T) {
	for _, text := range []string{
		"", "Gi", "abc", "10GiB", "10 Gi", "-1Gi", "0", "NaN", "inf", "0x10", "1_000", "1e400", "1e9Gi", "9Pi", "2E", "--1", "1.2.3",
	} {
		_, err := sizing.ParseMemory(text)
		assert.Error(t, err, text)
	}
}

func TestParseCPURoundTrip(t *testing.T) {
	for text, want := range map[string]sizing.Cores{"6": 6, "0.5": 0.5, "250m": 0.25} {
		got, err := sizing.ParseCPU(text)
		require.NoError(t, err, text)
		assert.InDelta(t, float64(want), float64(got), 1e-12, text)
		back, err := sizing.ParseCPU(got.String())
		require.NoError(t, err)
		assert.Equal(t, got, back, "String and Parse are inverse")
	}
	assert.Equal(t, "251m", sizing.Cores(0.2501).String(), "cores must be rounded up, so that a grant is never too small")
}

func TestBytesAreWrittenInTheLargestExactUnit(t *testing.T) {
	for b, want := range map[sizing.Bytes]string{
		10 << 30: "10Gi", 1 << 40: "1Ti", 1536 << 20: "1536Mi", 1000: "1000", 0: "0", 3 << 10: "3Ki",
	} {
		assert.Equal(t, want, b.String())
	}
	assert.Equal(t, "1.46Gi", (146 * sizing.GiB / 100).Approx())
	assert.Equal(t, "340Gi", (340 * sizing.GiB).Approx())
}

func TestTimesRoundsUpAndSaturates(t *testing.T) {
	assert.Equal(t, sizing.Bytes(2), sizing.Bytes(1).Times(1.1))
	assert.Equal(t, sizing.Bytes(sizing.MaxBytes), sizing.Bytes(sizing.MaxBytes).Times(10))
	assert.Equal(t, sizing.MiB, sizing.Bytes(1).RoundUp(sizing.MiB))
	assert.Equal(t, sizing.MiB, sizing.MiB.RoundUp(sizing.MiB))
}

func FuzzParseMemory(f *testing.F) {
	for _, seed := range []string{"350Gi", "1e9", "1500m", "-0", "1E", "Ei"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := sizing.ParseMemory(text)
		if err != nil {
			return
		}
		require.Positive(t, b)
		require.LessOrEqual(t, b, sizing.Bytes(sizing.MaxBytes))
		back, err := sizing.ParseMemory(b.String())
		require.NoError(t, err)
		require.Equal(t, b, back, "String and Parse are inverse")
	})
}
