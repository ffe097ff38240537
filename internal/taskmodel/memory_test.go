package taskmodel_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestMemoryBytesMatchesTheHeap(t *testing.T) {
	for name, blob := range map[string][]byte{"small": trainedBlob(t, 40), "large": trainedBlob(t, 400)} {
		models := make([]*taskmodel.Model, 20)
		before := liveHeap()
		for i := range models {
			models[i] = reopen(t, blob)
		}
		heap := float64(liveHeap()-before) / float64(len(models))
		assert.InEpsilon(t, heap, float64(models[0].MemoryBytes()), 0.15, name)
		runtime.KeepAlive(models)
	}
}

func trainedBlob(t *testing.T, runs int) []byte {
	k, rng := newTask(t), newRand(51)
	for range runs {
		f, gibs := growing(rng)
		g, _ := kinds(rng)
		f["kind"] = g["kind"]
		k.row(f, measuredRun(gibs))
	}
	k.fit()
	return blobOf(t, k.model)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // the values of a sync.Pool survive one collection
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestOutlineAnswersFromRequestOrLargestPeak(t *testing.T) {
	k, _ := trainedTask(t, constant, 52, 60)
	q := question(nil)
	outline := k.model.Outline().Model()
	answer := outline.Size(q)
	assert.Equal(t, sizing.FromRequested, answer.Source)
	assert.Equal(t, q.Requested.Memory, answer.Limit)

	q.Requested = sizing.Resources{}
	answer = outline.Size(q)
	assert.Equal(t, sizing.FromProfile, answer.Source)
	assert.Greater(t, answer.Limit, k.model.LargestPeak())
	assert.Less(t, answer.Limit, k.model.LargestPeak().Times(2))
	assert.Nil(t, answer.Promised)
	assert.Equal(t, k.model.AmbiguityWarning(), outline.AmbiguityWarning())
	assert.Equal(t, k.model.Bins, outline.Bins)
	assert.Equal(t, k.model.Quarantined(), outline.Quarantined())

	q.Above = answer.Limit.Times(3)
	answer = outline.Size(q)
	assert.Equal(t, sizing.FromLift, answer.Source)
	assert.Greater(t, answer.Limit, q.Above)

	k.reportSuccess(nil, 5000)
	require.Len(t, k.model.Quarantined(), 1)
	assert.Equal(t, k.model.Quarantined(), k.model.Outline().Model().Quarantined())
	k.report(nil, killed(3))
	q = question(nil)
	q.Requested.Memory = bytes(2.5)
	answer = k.model.Outline().Model().Size(q)
	assert.Equal(t, sizing.FromProfile, answer.Source, "the outline must not grant the request, because a run was killed with more")
	assert.Greater(t, answer.Limit, bytes(3))
}

func TestOutlineReasonNamesTheBoundThatChangedTheAmount(t *testing.T) {
	k := newTask(t)
	for range 20 {
		k.reportSuccess(nil, 8)
	}
	outline := k.model.Outline().Model()
	q := taskmodel.Question{Cap: bytes(2), CapBy: taskmodel.CapPolicy}
	assert.Equal(t, "2Gi: at the cap of 2Gi (set by the policy); 10Gi is above the largest peak of 20 runs", outline.Size(q).Reason)
	q.Requested.Memory = bytes(8)
	assert.Equal(t, "2Gi: at the cap of 2Gi (set by the policy); 8Gi is the static request", outline.Size(q).Reason)
	q = taskmodel.Question{Above: bytes(6), Cap: bytes(11), CapBy: taskmodel.CapPolicy}
	assert.Equal(t, "11Gi: at the cap of 11Gi (set by the policy); 12Gi is at least twice the killed allocation", outline.Size(q).Reason)
	q.Cap = 0
	assert.Equal(t, "12Gi: at least twice the killed allocation", outline.Size(q).Reason)
}

// BenchmarkModelMemory reports the memory of a decoded model of 1,460 runs with 30 features.
func BenchmarkModelMemory(b *testing.B) {
	k := wideHistory(1460)
	m, _, err := taskmodel.Fit(&k.history, nil)
	require.NoError(b, err)
	blob, err := m.Blob()
	require.NoError(b, err)
	models := make([]*taskmodel.Model, 20)
	for b.Loop() {
		clear(models)
		before := liveHeap()
		for i := range models {
			models[i], err = taskmodel.Open(blob)
			require.NoError(b, err)
		}
		b.ReportMetric(float64(liveHeap()-before)/float64(len(models)), "B/model")
	}
	runtime.KeepAlive(models)
	runtime.KeepAlive(m)
}
