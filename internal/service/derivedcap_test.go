package service

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestTheLargestAmountDeterminesTheRuleOfADerivedCap(t *testing.T) {
	c := allocator{model: taskmodel.New()}
	for _, example := range []struct {
		known, minGrant, floor, killed sizing.Bytes
		rule                           taskmodel.CapRule
	}{
		{5, 4, 3, 2, taskmodel.CapDerived},
		{4, 5, 3, 2, taskmodel.CapMinGrant},
		{3, 4, 5, 2, taskmodel.CapFloor},
		{3, 2, 4, 5, taskmodel.CapKill},
	} {
		limit, rule := c.derivedCap(&taskmodel.Question{Cap: 4 * example.known, MinGrant: example.minGrant, Floor: example.floor, Above: example.killed}, 0)
		assert.Equal(t, sizing.Bytes(20), limit, "%v", example)
		assert.Equal(t, example.rule, rule, "%v", example)
	}
}
