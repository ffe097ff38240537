package render

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/backtest/growth"
)

func TestGrowthNamesHowThePoliciesChangeTheLimit(t *testing.T) {
	report := &growth.Report{Policies: []*growth.Figures{
		{Policy: growth.Static, Grows: true}, {Policy: "rising", Grows: true}, {Policy: "following"}, {Policy: "omniscient", Grows: true, Hindsight: true},
	}}
	var out bytes.Buffer
	require.NoError(t, Growth(&out, report, "csv"))
	for _, want := range []string{"static,constant,", "rising,grows,", "following,shrinks too,", "omniscient,hindsight,"} {
		assert.Contains(t, out.String(), "\n"+want)
	}
}
