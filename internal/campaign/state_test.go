package campaign_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The test follows all claims, reports, and resets of failed runs from each state.
func TestEveryStateLeadsToProfiled(t *testing.T) {
	branches := []campaign.Branch{campaign.TriggerDeploy, campaign.CheckDeploy, campaign.TriggerRun, campaign.CheckRun, campaign.TriggerProfile, campaign.CheckProfile}
	next := func(s campaign.State) (all []campaign.State) {
		for _, b := range branches {
			if rule, err := campaign.RuleOf(b); err == nil && rule.From == s && rule.IsTrigger() {
				all = append(all, rule.Claimed)
			}
		}
		for _, to := range campaign.States() {
			if campaign.CheckReport(s, to) == nil || s.IsFailure() && campaign.CheckReset(s, to) == nil {
				all = append(all, to)
			}
		}
		return all
	}
	for _, start := range campaign.States() {
		reached := []campaign.State{start}
		for i := 0; i < len(reached); i++ {
			for _, s := range next(reached[i]) {
				if !slices.Contains(reached, s) {
					reached = append(reached, s)
				}
			}
		}
		assert.Contains(t, reached, campaign.Profiled, "from %d", start)
	}
	assert.Len(t, campaign.States(), 13)
}

func TestOnlyInactiveRunsAreResetToTheSameOrAnEarlierState(t *testing.T) {
	for step, want := range map[[2]campaign.State]bool{
		{campaign.DeployFailed, campaign.Registered}: true, {campaign.RunFailed, campaign.Registered}: true,
		{campaign.RunFailed, campaign.Deployed}: true, {campaign.ProfileFailed, campaign.RunSucceeded}: true,
		{campaign.ProfileFailed, campaign.Deployed}: true, {campaign.Profiled, campaign.Registered}: true,
		{campaign.RunSucceeded, campaign.Deployed}: true, {campaign.Registered, campaign.Registered}: true,
		{campaign.DeployFailed, campaign.Deployed}: false, {campaign.RunFailed, campaign.RunSucceeded}: false,
		{campaign.Registered, campaign.Deployed}: false, {campaign.Running, campaign.Deployed}: false,
		{campaign.DeployTriggered, campaign.Registered}: false, {campaign.RunFailed, campaign.DeployFailed}: false,
	} {
		assert.Equal(t, want, campaign.CheckReset(step[0], step[1]) == nil, "%v", step)
	}
}

func TestCampaignNeedsASandboxConfOrAPool(t *testing.T) {
	for conf, want := range map[string]bool{"": false, "{}": false, `{"out": "x"}`: true} {
		c := campaign.Campaign{Name: "c", Namespace: "default", DAG: "d", Conf: json.RawMessage(conf)}
		assert.Equal(t, want, len(c.Validate()) == 0, conf)
		c.Pool = "sandbox"
		assert.Empty(t, c.Validate(), conf)
		c.Pool = " "
		assert.NotEmpty(t, c.Validate(), conf)
	}
}

func TestRunIDIsDeterministicAndMarksTheRun(t *testing.T) {
	date := time.Date(2020, 1, 3, 4, 5, 6, 0, time.FixedZone("", 3600))
	a := campaign.ArchivedRun{Scenario: "s", Conf: json.RawMessage(`{"a": 1, "b": [2]}`)}
	b := campaign.ArchivedRun{Scenario: "s", Conf: json.RawMessage(`{"b":[2],"a":1}`)}
	require.Equal(t, a.Hash(), b.Hash())
	b.Conf = nil
	require.NotEqual(t, a.Hash(), b.Hash())
	long, next := campaign.ArchivedRun{Scenario: "s", Conf: json.RawMessage(`{"id": 9007199254740993}`)}, campaign.ArchivedRun{Scenario: "s", Conf: json.RawMessage(`{"id": 9007199254740992}`)}
	require.NotEqual(t, long.Hash(), next.Hash(), "numbers that are equal only as float64 must give different hashes")
	id := campaign.RunID(7, a.Hash(), date, 2)
	require.Equal(t, fmt.Sprintf("loadaware_campaign__7__20200103T030506__%s__2", a.Hash()[:12]), id)
	require.True(t, sizing.IsReproduction(id))
	at, ok := sizing.ReproducedAt(id)
	require.True(t, ok)
	require.True(t, at.Equal(date))
	for _, other := range []string{"", "scheduled__2020-01-03", "loadaware_campaign__", "loadaware_campaign__x__y"} {
		_, ok := sizing.ReproducedAt(other)
		require.False(t, ok, other)
	}
	from, to := campaign.RunIDRange(7)
	require.True(t, from <= id && id < to)
	otherCampaign := campaign.RunID(70, a.Hash(), date, 1)
	require.False(t, from <= otherCampaign && otherCampaign < to)
}

func TestSandboxOverridesTheArchivedConf(t *testing.T) {
	conf, err := campaign.MergedConf(json.RawMessage(`{"out": "production", "rows": 5}`), json.RawMessage(`{"out": "sandbox"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"out": "sandbox", "rows": 5}`, string(conf))
}
