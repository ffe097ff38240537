package taskmodel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAffineMapsCombineAndInvert(t *testing.T) {
	a, b := affine{Log: math.Log(2), Bytes: 30}, affine{Log: math.Log(1.5), Bytes: -10}
	assert.InDelta(t, 230, a.apply(100), 1e-9)
	assert.InDelta(t, b.apply(a.apply(100)), a.then(b).apply(100), 1e-9)
	assert.InDelta(t, 100, a.inverse().apply(a.apply(100)), 1e-9)
	assert.InDelta(t, 1, affine{Bytes: -100}.apply(10), 1e-9, "a subtracted amount leaves a share of a smaller peak")
}

// The model stores a limited number of changes. The oldest one is combined with the next.
func TestTheOldestChangeIsCombinedWithTheNext(t *testing.T) {
	l := levels{Changes: []levelChange{{Seq: 3, Log: .5}, {Seq: 7, Log: math.Log(3)}}, Added: map[int64]affine{3: {Bytes: 50}}}
	l.mergeOldest()
	assert.Len(t, l.Changes, 1)
	assert.InDelta(t, 450, l.mapOf(0).apply(100), 1e-9)
	assert.Len(t, l.Added, 1)
}
