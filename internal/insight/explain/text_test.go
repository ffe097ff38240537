package explain

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPercentHasNoExponent(t *testing.T) {
	for share, want := range map[float64]string{0: "0", 1e-7: "<0.0001", 1.5e-6: "0.00015", 0.0123: "1.2", 0.5: "50"} {
		assert.Equal(t, want, percent(share), share)
	}
}
