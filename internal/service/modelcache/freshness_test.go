package modelcache

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestStalenessGrowsUnlessSubscribedAndSynced(t *testing.T) {
	var f freshness
	f.markPinged()
	assert.Zero(t, f.staleness(), "the staleness is 0 before the first resync")

	hourAgo := time.Now().Add(-time.Hour)
	f.markSynced(hourAgo)
	f.markPinged()
	assert.GreaterOrEqual(t, f.staleness(), time.Hour, "a ping does not count without a subscription")

	f.setSubscribed(true)
	f.markPinged()
	assert.GreaterOrEqual(t, f.staleness(), time.Hour, "a ping must not count between a subscription and its resync, because earlier notifications may be lost")
	f.markSynced(hourAgo)
	f.markPinged()
	assert.Less(t, f.staleness(), time.Hour)

	f.setSubscribed(false)
	before := f.knownAt
	f.markPinged()
	assert.Equal(t, before, f.knownAt)
}
