package config_test

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/config"
)

// The chart always sets the ages. So with other ages in the chart, a change of the defaults would not reach its users.
func TestTheChartKeepsRowsAsLongAsTheDefaults(t *testing.T) {
	chart, err := os.ReadFile("../../scripts/deploy/chart/values.yaml")
	require.NoError(t, err)
	keep := config.Defaults().Keep
	for kind, age := range map[string]time.Duration{"observations": keep.Observations, "receipts": keep.Receipts, "experiments": keep.Experiments} {
		value := regexp.MustCompile(`(?m)^  ` + kind + `: *(\w+)`).FindSubmatch(chart)
		require.NotNil(t, value, kind)
		inChart, err := time.ParseDuration(string(value[1]))
		require.NoError(t, err)
		assert.Equal(t, age, inChart, kind)
	}
}
