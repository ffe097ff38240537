package taskmodel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Of 200 runs, those whose feature `full` is true were killed at 4 GiB and never succeeded, and the others needed 2 GiB.
func TestRepeatedKillsOfAFeatureRaiseItsGrantAndPromise(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(21, 4))
	full := sizing.Features{"full": sizing.BoolValue(true)}
	for i := range 200 {
		if i%12 == 6 {
			k.row(full, killed(4))
		} else {
			k.row(sizing.Features{"full": sizing.BoolValue(false)}, measuredRun(2*noise(rng, 0.08)))
		}
	}
	m := trained(t, k, nil)
	require.Len(t, m.RepeatedKills, 1)
	blob, err := m.Blob()
	require.NoError(t, err)
	m, err = taskmodel.Open(blob)
	require.NoError(t, err)
	s := m.Size(question(full))
	assert.Greater(t, s.Limit, 6*gib)
	require.NotNil(t, s.Promised)
	assert.Greater(t, *s.Promised, 0.08)
	k.row(full, measuredRun(5))
	assert.Empty(t, trained(t, k, m).RepeatedKills, "a run with this feature has succeeded")
}

// Every twentieth run was killed at 4 GiB and never succeeded, and no feature explains these kills. The promise contains the share
// of these runs.
func TestPromisesContainTheShareOfKillsThatNeverSucceeded(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(22, 4))
	for i := range 200 {
		if i%20 == 10 {
			k.row(nil, killed(4))
		} else {
			k.row(nil, measuredRun(2*noise(rng, 0.08)))
		}
	}
	s := trained(t, k, nil).Size(question(nil))
	require.NotNil(t, s.Promised)
	assert.Greater(t, *s.Promised, 0.035, "5 % of the tries were killed")
}
