package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCampaignListsReuseSlowSumsAndASingleCampaignHasAnExactSum(t *testing.T) {
	var u campaignUsages
	now := time.Unix(1000, 0)
	_, ok := u.find(1, 7, true, now)
	assert.False(t, ok)
	u.add(1, campaignUsage{fingerprint: 7, gbHours: 3, at: now, cost: time.Millisecond})
	got, ok := u.find(1, 7, true, now.Add(time.Hour))
	assert.True(t, ok, "a sum with the current fingerprint must be reused")
	assert.InDelta(t, 3, got, 0)
	_, ok = u.find(1, 8, true, now)
	assert.False(t, ok, "a fast sum must be computed again after each change")
	u.add(1, campaignUsage{fingerprint: 7, gbHours: 3, at: now, cost: time.Second})
	_, ok = u.find(1, 8, true, now.Add(19*time.Second))
	assert.True(t, ok, "a list must reuse a slow sum for 20 times its cost")
	_, ok = u.find(1, 8, false, now)
	assert.False(t, ok, "the sum of a single campaign must be exact")
	_, ok = u.find(1, 8, true, now.Add(21*time.Second))
	assert.False(t, ok)
	for id := range int64(2 * maxCampaignUsages) {
		u.add(id, campaignUsage{})
	}
	assert.LessOrEqual(t, len(u.cached), maxCampaignUsages)
}
