package render_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/render"
)

func TestCampaignsPrintsEachState(t *testing.T) {
	stopped := "budget"
	var out strings.Builder
	require.NoError(t, render.Campaigns(&out, []api.Campaign{{Name: "a"}, {Name: "b", Paused: true}, {Name: "c", Stopped: &stopped}, {Name: "d", Runs: 2, Progress: 1}}))
	var states []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
		fields := strings.Fields(line)
		states = append(states, fields[len(fields)-1])
	}
	assert.Equal(t, []string{"running", "paused", "stopped", "done"}, states)
}
