package cohort

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// teams has the typical usage of the tasks of each team; memory and gpu are peaks in bytes.
var teams = []struct{ memory, seconds, cores, gpu float64 }{{1e9, 60, 1, 0}, {20e9, 600, 4, 8e9}, {2e8, 5, 0.2, 0}, {60e9, 7200, 16, 40e9}}

// teamTask returns a run of task i. The usage depends on the owner, except for one task in ten.
func teamTask(i int, r *rand.Rand) sizing.ContextRow {
	owner := i % len(teams)
	kind := teams[owner]
	if i%10 == 9 {
		kind = teams[r.IntN(len(teams))]
	}
	around := func(v float64) float64 { return v * math.Exp(0.1*r.NormFloat64()) }
	row := sizing.ContextRow{
		Task:     sizing.TaskKey{Namespace: "n", DAG: "d", Task: fmt.Sprint("task", i)},
		Metadata: sizing.Metadata{"owner": {fmt.Sprint("team", owner)}, "image": {fmt.Sprint("image", r.IntN(5))}},
	}
	row.Seq, row.Outcome = int64(i+1), sizing.Success
	row.MemoryMax, row.Duration, row.CPUMax = sizing.Bytes(around(kind.memory)), time.Duration(around(kind.seconds)*1e9), sizing.Cores(around(kind.cores))
	row.Requested = sizing.Resources{Memory: 64e9, CPU: 16}
	if kind.gpu > 0 {
		row.Usage = row.Usage.Set(sizing.GPUMemoryMax, around(kind.gpu))
	}
	return row
}

// fitTeams fits profiles to n tasks; `prepare` changes each of them before the fit.
func fitTeams(t testing.TB, n int, prepare func(*sizing.ContextRow)) (*Profiles, []Row) {
	t.Helper()
	r := rand.New(rand.NewPCG(21, 1))
	var rows []Row
	var runs []usageprofile.Run
	for i := range n {
		stored := teamTask(i, r)
		prepare(&stored)
		row, ok := RowOf(&stored)
		require.True(t, ok)
		run, ok := usageprofile.RunOf(&stored)
		require.True(t, ok)
		rows, runs = append(rows, row), append(runs, run)
	}
	set, err := usageprofile.Fit(runs, nil)
	require.NoError(t, err)
	require.Len(t, set.Profiles, len(teams))
	return FitProfiles(rows, set), rows
}

func TestProfilesFollowTheMetadata(t *testing.T) {
	p, _ := fitTeams(t, 400, func(*sizing.ContextRow) {})
	require.NotNil(t, p)
	r := rand.New(rand.NewPCG(22, 1))
	right, confidence, exceeded, n := 0, 0.0, 0, 0
	for i := 1000; i < 1400; i++ {
		stored := teamTask(i, r)
		row, _ := RowOf(&stored)
		predicted, ok := p.Place(&row.Facts)
		require.True(t, ok)
		n++
		confidence += predicted.Confidence
		team := teams[i%len(teams)]
		if own := p.classes[predicted.class()].Spreads[memory]; math.Abs(float64(own[gridSteps/2])-math.Log(team.memory)) < 0.5 && i%10 != 9 {
			right++
		}
		assert.LessOrEqual(t, predicted.Cores(.5), predicted.Cores(.95))
		if row.Cores > predicted.Cores(.95) {
			exceeded++
		}
		if i%10 != 9 {
			assert.GreaterOrEqual(t, predicted.Cores(.99), team.cores/2)
		}
	}
	assert.Equal(t, 360, right, "the profile must be right for the nine of ten tasks whose usage depends on the owner")
	assert.InDelta(t, 0.92, confidence/float64(n), 0.06, "the probabilities are calibrated")
	assert.InDelta(t, 0.05, float64(exceeded)/float64(n), 0.035, "a run exceeds the 95 % quantile of the cores in one of 20 cases")
	gpu := Facts{Metadata: sizing.Metadata{"owner": {"team3"}}, Requested: sizing.Resources{Memory: 64e9, CPU: 16}}
	predicted, _ := p.Place(&gpu)
	assert.InEpsilon(t, 40e9, predicted.GPUMemory(.5), 0.3)
	unknown, _ := p.Place(&Facts{})
	assert.Less(t, unknown.Confidence, 0.7, "without known facts no profile is probable")
}

func TestFitProfilesNeedsEnoughTasksAndTwoProfiles(t *testing.T) {
	var none *Profiles
	_, ok := none.Place(&Facts{})
	assert.False(t, ok)
	_, rows := fitTeams(t, 400, func(*sizing.ContextRow) {})
	r := rand.New(rand.NewPCG(23, 1))
	var runs []usageprofile.Run
	for i := range 400 {
		stored := teamTask(len(teams)*i, r)
		run, _ := usageprofile.RunOf(&stored)
		run.Vector = [len(run.Vector)]float64{usageprofile.MemoryPeak: r.NormFloat64()}
		runs = append(runs, run)
	}
	set, err := usageprofile.Fit(runs, nil)
	require.NoError(t, err)
	assert.Nil(t, FitProfiles(rows[:minProfileTasks-1], set), "too few tasks")
	assert.Nil(t, FitProfiles(rows, set), "all runs have the same profile")
}

// Metadata come from callers. They must not cost unbounded memory or cause an error.
func TestHostileMetadataCostBoundedMemory(t *testing.T) {
	i := 0
	p, rows := fitTeams(t, 800, func(row *sizing.ContextRow) {
		for k := range 29 {
			row.Metadata[fmt.Sprint("name", k)] = []string{fmt.Sprintf("%0200d", 29*i+k), "\x00\x1b[31m\u202e\n", strings.Repeat("😀", 50)}
		}
		row.Metadata["owner"] = []string{fmt.Sprint("owner", i)} // 800 different owners, and 10^5 below
		i++
	})
	require.NotNil(t, p)
	assert.LessOrEqual(t, len(p.bayes.Values), maxBayesValues)
	assert.LessOrEqual(t, len(p.facts.Values), maxValues)
	m := Fit(rows[:100]).WithProfiles(p)
	blob, err := m.MarshalBinary()
	require.NoError(t, err)
	assert.Less(t, len(blob), 5<<20)
	opened, err := Open(blob)
	require.NoError(t, err)
	unseen := rows[0].Facts
	for owner := range 100_000 {
		unseen.Metadata["owner"] = []string{fmt.Sprint("owner", owner)}
		if owner%1000 != 0 {
			opened.profiles.facts.learn(&taskRows{rows: []Row{{Facts: Facts{Metadata: sizing.Metadata{"owner": unseen.Metadata["owner"]}}, Peak: 1e9}}})
			continue
		}
		predicted, ok := opened.Place(&unseen)
		require.True(t, ok)
		require.InDelta(t, 0.5, predicted.Confidence, 0.5)
	}
	assert.LessOrEqual(t, len(opened.profiles.facts.Values), maxValues)
}

func TestTheSameRunsGiveTheSameProfiles(t *testing.T) {
	fit := func() []byte {
		r := rand.New(rand.NewPCG(24, 1))
		p, rows := fitTeams(t, 200, func(row *sizing.ContextRow) {
			for k := range 10 {
				row.Metadata[fmt.Sprint("name", k)] = []string{fmt.Sprint(r.IntN(5))}
			}
		})
		content, err := Fit(rows).WithProfiles(p).MarshalBinary()
		require.NoError(t, err)
		return content
	}
	first := fit()
	for range 3 {
		require.Equal(t, first, fit())
	}
}

func TestStoredProfilesGiveTheSameAnswers(t *testing.T) {
	p, rows := fitTeams(t, 400, func(*sizing.ContextRow) {})
	m := Fit(rows[:40]).WithProfiles(p)
	encoded, err := m.MarshalBinary()
	require.NoError(t, err)
	opened, err := Open(encoded)
	require.NoError(t, err)
	for i := range rows[:50] {
		want, _ := m.Place(&rows[i].Facts)
		got, ok := opened.Place(&rows[i].Facts)
		require.True(t, ok)
		assert.Equal(t, want.weights, got.weights)
		assert.Equal(t, want.Profile, got.Profile)
		assert.Equal(t, want.Grant(0.015), got.Grant(0.015))
	}
	for name, damage := range map[string]func(*profilesBlob){
		"classes":      func(b *profilesBlob) { b.Classes = b.Classes[:1] },
		"temperature":  func(b *profilesBlob) { b.Temperature = math.NaN() },
		"distribution": func(b *profilesBlob) { b.Classes[0].Spreads[0] = distribution{1} },
		"order":        func(b *profilesBlob) { b.Classes[0].Spreads[memory][3] = float32(math.Inf(1)) },
		"counts":       func(b *profilesBlob) { b.Bayes.Prior = nil },
		"trees":        func(b *profilesBlob) { b.Trees = b.Trees[:10] },
		"columns":      func(b *profilesBlob) { b.Numbers = append(b.Numbers, "z") },
	} {
		var b blob
		require.NoError(t, cbor.Unmarshal(encoded, &b))
		damage(b.Profiles)
		_, err = b.Profiles.open()
		assert.Error(t, err, name)
	}
}

// BenchmarkMemory reports the memory of a decoded model of 4,000 tasks, each with 28 long values of
// metadata that no other task has.
func BenchmarkMemory(b *testing.B) {
	i := 0
	p, rows := fitTeams(b, maxTasks, func(row *sizing.ContextRow) {
		for k := range 28 {
			row.Metadata[fmt.Sprint("name", k)] = []string{fmt.Sprintf("%0200d", 28*i+k)}
		}
		i++
	})
	blob, err := Fit(rows).WithProfiles(p).MarshalBinary()
	require.NoError(b, err)
	models := make([]*Model, 1)
	for b.Loop() {
		clear(models)
		before := liveHeap()
		models[0], err = Open(blob)
		require.NoError(b, err)
		b.ReportMetric(float64(liveHeap()-before), "B/model")
	}
	runtime.KeepAlive(models)
	runtime.KeepAlive(rows)
}

func liveHeap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func BenchmarkPlace(b *testing.B) {
	p, rows := fitTeams(b, 400, func(*sizing.ContextRow) {})
	b.Run("place and estimate", func(b *testing.B) {
		for b.Loop() {
			predicted, _ := p.Place(&rows[0].Facts)
			predicted.Cores(.99)
			predicted.GPUMemory(.5)
			predicted.GPUMemory(.95)
		}
	})
}

func TestATryThatReportsUsageWithoutGPUMemoryUsedNone(t *testing.T) {
	r := teamTask(0, rand.New(rand.NewPCG(25, 1)))
	for name, c := range map[string]struct {
		usage sizing.MeanUsage
		want  float64
	}{
		"no usage":         {nil, math.NaN()},
		"only other usage": {sizing.MeanUsage(nil).Set(sizing.CPUMean, 1), 0},
		"utilisation":      {sizing.MeanUsage(nil).Set(sizing.GPUUtilisation, .5), math.NaN()},
		"none":             {sizing.MeanUsage(nil).Set(sizing.GPUMemoryMax, 0), 0},
		"a gigabyte":       {sizing.MeanUsage(nil).Set(sizing.GPUMemoryMax, 1e9), 1e9},
	} {
		r.Usage = c.usage
		row, ok := RowOf(&r)
		require.True(t, ok)
		assert.InDelta(t, c.want, row.GPUMemory, 0, name)
	}
}
