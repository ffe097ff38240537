package taskmodel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// One rule lowers the limit to the smallest limit that was enough. A later rule raises it to a peak that was measured after a kill.
// This peak is still below the amount of the models. The reason names both rules.
func TestTheReasonNamesALowerLimitThatWasRaised(t *testing.T) {
	d := boundedGrant{
		limit: 6 * sizing.GiB, model: 7 * sizing.GiB, rule: byPeak, lowered: 2 * sizing.GiB, loweredBy: byFollowing,
		killEvidence: killEvidence{needed: 6 * sizing.GiB},
	}
	assert.Equal(t, "raised because a run with the same features needed 6Gi after an OOM kill; "+
		"from 2Gi, the smallest limit that has been enough so far, because the peaks follow the limits; ", d.describe(Question{}))
	d.rule = byFollowing
	assert.Equal(t, 1, strings.Count(d.describe(Question{}), "; "))
	d.rule, d.loweredBy = byPeak, byModel
	assert.Equal(t, 1, strings.Count(d.describe(Question{}), "; "))
}

// If the amount for an input outside the range is less than half a percent above the amount at the edge, the reason names no
// factor, because it would be printed as 1.
func TestTheReasonNamesNoFactorOfOne(t *testing.T) {
	b := new(buffers)
	b.extrapolation.edgeAmount, b.extrapolation.riseFactor = 1e9, 1.1
	for amount, expected := range map[float64]string{1.004e9: ", with the amount at the edge", 1.2e9: ", extrapolated to 1.2 times", 1e9: ""} {
		var text strings.Builder
		describeFactor(&text, amount, b)
		assert.True(t, strings.HasPrefix(text.String(), expected), "%g: %s", amount, text.String())
		assert.Equal(t, expected == "", text.Len() == 0)
	}
}
