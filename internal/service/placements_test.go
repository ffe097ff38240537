package service

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestANewFitOfAKnownNamespaceKeepsTheEffectsOfOthers(t *testing.T) {
	var p placements
	for n := range placementNamespaces {
		p.set(fmt.Sprint("namespace-", n), fittedEffects{})
	}
	p.set("namespace-0", fittedEffects{})
	assert.Len(t, p.byNamespace, placementNamespaces)
	p.set("another", fittedEffects{})
	assert.Len(t, p.byNamespace, 1, "a new namespace in a full map removes the others")
}
