package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestListsReuseTheUsageOfACampaignAndItsStatusIsExact(t *testing.T) {
	var u campaignUsages
	now := time.Unix(1000, 0)
	_, ok := u.find(1, 7, true, now)
	assert.False(t, ok)
	u.add(1, campaignUsage{fingerprint: 7, gbHours: 3, at: now, cost: time.Millisecond})
	got, ok := u.find(1, 7, true, now.Add(time.Hour))
	assert.True(t, ok, "nothing has changed")
	assert.InDelta(t, 3, got, 0)
	_, ok = u.find(1, 8, true, now)
	assert.False(t, ok, "a fast sum is repeated after each change")
	u.add(1, campaignUsage{fingerprint: 7, gbHours: 3, at: now, cost: time.Second})
	_, ok = u.find(1, 8, true, now.Add(19*time.Second))
	assert.True(t, ok, "a slow sum is reused for 20 times its cost")
	_, ok = u.find(1, 8, false, now)
	assert.False(t, ok, "the status of one campaign is exact")
	_, ok = u.find(1, 8, true, now.Add(21*time.Second))
	assert.False(t, ok)
	for id := range int64(2 * maxCampaignUsages) {
		u.add(id, campaignUsage{})
	}
	assert.LessOrEqual(t, len(u.cached), maxCampaignUsages)
}
