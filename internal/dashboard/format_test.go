package dashboard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAmounts(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", -0.001: "0.00", 0.004: "0.00", -0.006: "−0.01", 7.894: "7.89", -12.34: "−12.3", 46986.4: "46\u202f986",
	} {
		assert.Equal(t, want, amount(value), value)
	}
}

func TestDurationUsesTheNextUnitAfterRounding(t *testing.T) {
	for value, want := range map[time.Duration]string{
		0: unknown, 59940 * time.Millisecond: "59.9 s", 59950 * time.Millisecond: "1 min 0 s", 90700 * time.Millisecond: "1 min 30 s",
		time.Hour - 60*time.Millisecond: "59 min 59 s", time.Hour - 40*time.Millisecond: "1 h 0 min", 90 * time.Minute: "1 h 30 min",
	} {
		assert.Equal(t, want, duration(value), value)
	}
}

func TestShareIsRoundedAndHasANonBreakingSpace(t *testing.T) {
	for value, want := range map[float64]string{0: "0\u00a0%", 0.0069: "0.69\u00a0%", 0.123: "12.3\u00a0%", 1.5e-6: "0.00015\u00a0%", 1e-7: "<0.0001\u00a0%", 1: "100\u00a0%"} {
		assert.Equal(t, want, share(value), value)
	}
}
