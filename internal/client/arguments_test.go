package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestParseFeaturesInfersTheKinds(t *testing.T) {
	for text, want := range map[string]string{
		"7": "7", "-1.5": "-1.5", "007": `"007"`, "+2": `"+2"`, "1e+3": "1000", "1e3": `"1e3"`, "7e943102": `"7e943102"`, "true": "true", "False": `"False"`, "": "null",
		"emea": `"emea"`, "2020-02-01": `"2020-02-01"`, `"007"`: `"007"`, `"open`: `"\"open"`, "0x10": `"0x10"`, "NaN": `"NaN"`, "1_000": `"1_000"`, "a=b": `"a=b"`, "-": `"-"`,
	} {
		got, err := ParseFeatures([]string{"f=" + text})
		require.NoError(t, err, text)
		assert.JSONEq(t, `{"f": `+want+`}`, string(got), text)
	}
	none, err := ParseFeatures(nil)
	require.NoError(t, err)
	assert.Nil(t, none)
}

func TestNewPolicyRequestOmitsDefaults(t *testing.T) {
	defaults := sizing.Policy{}.WithDefaults()
	policy := api.Policy{Mode: api.Mode(defaults.Mode), RiskTarget: defaults.RiskTarget, MaxLifts: *defaults.MaxLifts, LimitRatio: defaults.LimitRatio, Grid: api.Grid(defaults.Grid)}
	assert.Equal(t, api.PolicyRequest{}, NewPolicyRequest(&policy), "a request omits default values")
}
