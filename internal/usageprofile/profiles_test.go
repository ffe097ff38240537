package usageprofile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// kind is a way to use resources: the memory peak in bytes, the run time in seconds, the CPU peak, and the peak as a share
// of the memory request.
type kind struct{ memory, seconds, cores, ofRequest float64 }

type stream struct {
	r   *rand.Rand
	seq int64
}

func newStream(seed uint64) *stream { return &stream{r: rand.New(rand.NewPCG(seed, 22))} }

// run returns a run of a task. The amounts of the run deviate from those of the kind by about 10 %.
func (s *stream) run(task string, k kind) usageprofile.Run {
	s.seq++
	around := func(v float64) float64 { return v * math.Exp(0.1*s.r.NormFloat64()) }
	row := sizing.ContextRow{Task: sizing.TaskKey{Namespace: "n", DAG: "d", Task: task}}
	row.Seq, row.Outcome = s.seq, sizing.Success
	row.MemoryMax = sizing.Bytes(around(k.memory))
	row.Duration = time.Duration(around(k.seconds) * 1e9)
	row.CPUMax = sizing.Cores(around(k.cores))
	row.Requested.Memory = sizing.Bytes(float64(row.MemoryMax) / around(k.ofRequest))
	run, ok := usageprofile.RunOf(&row)
	if !ok {
		panic("RunOf rejected a success with a peak")
	}
	return run
}

// anything returns a kind with random amounts.
func (s *stream) anything() kind {
	within := func(low, high float64) float64 { return low * math.Pow(high/low, s.r.Float64()) }
	return kind{within(1e7, 1e12), within(1, 1e5), within(0.05, 64), within(0.01, 1)}
}

// runs returns runs of tasks that take turns, and the index of the kind of each run.
func (s *stream) runs(kinds []kind, tasksOfKind, perTask int) (runs []usageprofile.Run, labels []int) {
	for range perTask {
		for label, k := range kinds {
			for task := range tasksOfKind {
				runs, labels = append(runs, s.run(fmt.Sprintf("kind%d-%d", label, task), k)), append(labels, label)
			}
		}
	}
	return runs, labels
}

var kinds = []kind{{1e9, 60, 1, 0.5}, {20e9, 600, 4, 0.8}, {2e8, 5, 0.2, 0.1}, {60e9, 7200, 16, 0.3}}

func fit(t *testing.T, runs []usageprofile.Run, previous *usageprofile.Set) *usageprofile.Set {
	t.Helper()
	set, err := usageprofile.Fit(runs, previous)
	require.NoError(t, err)
	require.NotNil(t, set)
	return set
}

func TestProfilesAreFoundAmongOutliers(t *testing.T) {
	s := newStream(1)
	var many []kind
	for range 26 {
		many = append(many, s.anything())
	}
	runs, labels := s.runs(many, 6, 10)
	outliers := len(runs) / 3 // a quarter of all
	for i := range outliers {
		runs, labels = append(runs, s.run(fmt.Sprint("odd", i), s.anything())), append(labels, -1)
	}
	set := fit(t, runs, nil)
	assert.InDelta(t, 26, len(set.Profiles), 1)
	assert.Equal(t, []usageprofile.Quantity{usageprofile.MemoryPeak, usageprofile.Duration, usageprofile.CPUPeak, usageprofile.PeakOverRequest}, set.Quantities)
	assert.Greater(t, set.Silhouette, 0.5)
	assert.Greater(t, set.Hopkins, 0.7)
	assert.GreaterOrEqual(t, adjustedRand(labels, labelsOf(set)), 0.9)
	found := 0
	for i, label := range labels {
		if label < 0 && set.Labels[i] < 0 {
			found++
		}
	}
	assert.GreaterOrEqual(t, float64(found)/float64(outliers), 0.8)

	largest := &set.Profiles[0]
	members := set.Members(largest.ID)
	sum := 0
	for _, m := range members {
		sum += m.Runs
	}
	assert.Equal(t, largest.Runs, sum)
	assert.Len(t, members, largest.Tasks)
	memory := largest.Spreads[usageprofile.MemoryPeak]
	assert.True(t, memory.P10 < memory.P50 && memory.P50 < memory.P90)
	p, share, n := set.OfTask(usageprofile.Task{DAG: "d", Task: members[0].Task.Task})
	assert.Equal(t, largest.ID, p.ID)
	assert.InDelta(t, members[0].Share, share, 1e-9)
	assert.Equal(t, 10, n)
	p, _, _ = set.OfTask(usageprofile.Task{DAG: "other", Task: "task"})
	assert.Nil(t, p)
}

func labelsOf(set *usageprofile.Set) []int {
	out := make([]int, len(set.Labels))
	for i, label := range set.Labels {
		out[i] = int(label)
	}
	return out
}

// adjustedRand compares two partitions (Hubert & Arabie 1985): 1 if they are equal, 0 by chance.
func adjustedRand(a, b []int) float64 {
	type pair struct{ a, b int }
	cells, rows, columns := map[pair]int{}, map[int]int{}, map[int]int{}
	for i := range a {
		cells[pair{a[i], b[i]}]++
		rows[a[i]]++
		columns[b[i]]++
	}
	pairs := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	sum, rowSum, columnSum := 0.0, 0.0, 0.0
	for _, n := range cells {
		sum += pairs(n)
	}
	for _, n := range rows {
		rowSum += pairs(n)
	}
	for _, n := range columns {
		columnSum += pairs(n)
	}
	expected := rowSum * columnSum / pairs(len(a))
	return (sum - expected) / ((rowSum+columnSum)/2 - expected)
}

// There are more runs than in the sample from which the silhouette is estimated.
func TestProfilesAreFoundWhereTasksRunInACycle(t *testing.T) {
	s := newStream(11)
	runs, labels := s.runs(kinds[:2], 1, 1000)
	set := fit(t, runs, nil)
	require.Len(t, set.Profiles, 2)
	assert.Greater(t, set.Silhouette, 0.7)
	assert.Greater(t, adjustedRand(labels, labelsOf(set)), 0.95)
}

func TestNewRunsArePlaced(t *testing.T) {
	s := newStream(2)
	runs, _ := s.runs(kinds, 4, 20)
	set := fit(t, runs, nil)
	require.Len(t, set.Profiles, len(kinds))
	for label, k := range kinds {
		run := s.run("new", k)
		place := set.Place(&run.Vector)
		p, _, _ := set.OfTask(usageprofile.Task{DAG: "d", Task: fmt.Sprintf("kind%d-0", label)})
		assert.Equal(t, p.ID, place.Profile.ID)
		assert.False(t, place.IsOutlier())
	}
	odd := s.run("new", kind{3e11, 2, 0.1, 0.9})
	place := set.Place(&odd.Vector)
	assert.True(t, place.IsOutlier())
	assert.Zero(t, place.Profile.ID)
	assert.Greater(t, place.Score, 0.8)
	assert.Zero(t, place.TailShare)
}

func TestProfilesKeepTheirIDs(t *testing.T) {
	s := newStream(3)
	runs, _ := s.runs(kinds, 4, 20)
	first := fit(t, runs, nil)
	id := func(set *usageprofile.Set, task string) int {
		p, _, _ := set.OfTask(usageprofile.Task{DAG: "d", Task: task})
		require.NotNil(t, p)
		return p.ID
	}
	// Kind 1 has ended, kind 4 is new, and kind 0 is the smallest by now.
	var later []usageprofile.Run
	for i := range 240 {
		later = append(later, s.run(fmt.Sprint("kind2-", i%8), kinds[2]), s.run(fmt.Sprint("kind3-", i%6), kinds[3]), s.run(fmt.Sprint("kind4-", i%4), kind{5e9, 20, 8, 0.05}))
		if i%8 == 0 {
			later = append(later, s.run("kind0-0", kinds[0]))
		}
	}
	second := fit(t, later, first)
	require.Len(t, second.Profiles, 4)
	for _, task := range []string{"kind0-0", "kind2-0", "kind3-0"} {
		assert.Equal(t, id(first, task), id(second, task), task)
	}
	assert.Equal(t, 5, id(second, "kind4-0"), "the id of a profile that ended is not used again")
	assert.Nil(t, second.Find(id(first, "kind1-0")))
	assert.InDelta(t, 0.25, second.Find(id(first, "kind2-0")).PreviousShare, 0.02)
	assert.Negative(t, second.Find(5).PreviousShare)
}

func TestARefitIsNeededAfterAShiftOrGrowth(t *testing.T) {
	s := newStream(4)
	runs, _ := s.runs(kinds, 5, 20)
	set := fit(t, runs, nil)
	for range 20 { // a stationary stream; in each round the tasks of a random kind run most
		busy := s.r.IntN(len(kinds))
		for range 60 {
			k := s.r.IntN(len(kinds))
			if s.r.IntN(2) == 0 {
				k = busy
			}
			runs = append(runs, s.run(fmt.Sprintf("kind%d-%d", k, s.r.IntN(5)), kinds[k]))
		}
		runs = runs[60:]
		require.Empty(t, set.NeedsRefit(runs))
	}
	shifted := slices.Clone(runs)
	for range 100 { // a new release of the tasks of kind 0 needs as much as those of kind 1
		shifted = append(shifted, s.run(fmt.Sprintf("kind0-%d", s.r.IntN(5)), kinds[1]))
	}
	assert.Contains(t, set.NeedsRefit(shifted[100:]), "changed their profile")
	more, _ := s.runs(kinds, 5, 12)
	assert.Contains(t, set.NeedsRefit(append(runs, more...)), "the sample grew from 400 to 640 runs")
}

// Each task has at most three runs, too few to show a change of its profile. Such tasks must cause a refit only if many of
// them fit no profile.
func TestProfilesAreFoundAgainWhenNewTasksFitNone(t *testing.T) {
	s := newStream(9)
	next := 0
	newTasks := func(n int, of func() kind) (runs []usageprofile.Run) {
		for range n {
			next++
			k := of()
			for range 1 + s.r.IntN(3) {
				runs = append(runs, s.run(fmt.Sprint("once", next), k))
			}
		}
		return runs
	}
	usual := func() kind { // one task in five is like no other
		if s.r.IntN(5) == 0 {
			return s.anything()
		}
		return kinds[s.r.IntN(len(kinds))]
	}
	runs := newTasks(400, usual)
	set := fit(t, runs, nil)
	size := len(runs)
	for range 20 { // all tasks are replaced several times
		runs = append(runs, newTasks(100, usual)...)
		runs = runs[len(runs)-size:]
		require.Empty(t, set.NeedsRefit(runs))
	}
	runs = append(runs, newTasks(250, func() kind { return kind{5e9, 20, 8, 0.05} })...)
	assert.Contains(t, set.NeedsRefit(runs[len(runs)-size:]), "new tasks fit no profile")
}

func TestRunsWithoutStructureAreOneProfile(t *testing.T) {
	s := newStream(5)
	var runs []usageprofile.Run
	for i := range 300 {
		runs = append(runs, s.run(fmt.Sprint("t", i%20), kinds[0]))
	}
	set := fit(t, runs, nil)
	require.Len(t, set.Profiles, 1)
	assert.Greater(t, set.Coverage, 0.95)
	odd := s.run("t", kinds[3])
	place := set.Place(&odd.Vector)
	assert.True(t, place.IsOutlier())

	few, err := usageprofile.Fit(runs[:usageprofile.MinRuns-1], nil)
	require.NoError(t, err)
	assert.Nil(t, few)
	for i := range runs {
		runs[i].Vector = runs[0].Vector
	}
	equal, err := usageprofile.Fit(runs, nil)
	require.NoError(t, err)
	assert.Nil(t, equal, "equal runs have no profiles")
}

func TestDecodedSetsGiveTheSamePlaces(t *testing.T) {
	s := newStream(6)
	var runs []usageprofile.Run
	for i := range 600 { // the longest names, of four bytes a character
		name := fmt.Sprintf("%03d", i/2) + strings.Repeat("𐍈", 247)
		run := s.run(name, kinds[i%len(kinds)])
		run.Task.DAG = name
		runs = append(runs, run)
	}
	set := fit(t, runs, nil)
	content, err := usageprofile.Encode(set)
	require.NoError(t, err)
	again, err := usageprofile.Encode(fit(t, runs, nil))
	require.NoError(t, err)
	assert.Equal(t, content, again, "the same runs give the same bytes")
	names, points := 300*2*(3+4*247), len(content)-300*2*(3+4*247)
	assert.Less(t, names*2000/300+points*usageprofile.MaxRuns/600, usageprofile.MaxSize, "the largest sample with the longest names fits")

	opened, err := usageprofile.Decode(usageprofile.Format, content)
	require.NoError(t, err)
	assert.Equal(t, set.Profiles, opened.Profiles)
	for _, k := range kinds {
		run := s.run("new", k)
		want, got := set.Place(&run.Vector), opened.Place(&run.Vector)
		assert.Equal(t, want.Profile.ID, got.Profile.ID)
		assert.Equal(t, want.Score, got.Score)
	}
	p, _, n := opened.OfTask(runs[0].Task)
	require.NotNil(t, p)
	assert.Equal(t, 2, n)

	_, err = usageprofile.Decode(usageprofile.Format+1, content)
	require.ErrorIs(t, err, usageprofile.ErrFormat)
	_, err = usageprofile.Decode(usageprofile.Format, content[:len(content)/2])
	require.ErrorIs(t, err, usageprofile.ErrFormat)
	for name, damage := range map[string]func(*usageprofile.Set){
		"label":    func(d *usageprofile.Set) { d.Labels[3] = 99 },
		"task":     func(d *usageprofile.Set) { d.TaskOf[3] = -1 },
		"lengths":  func(d *usageprofile.Set) { d.Core = d.Core[1:] },
		"quantity": func(d *usageprofile.Set) { d.Quantities[0] = 200 },
		"number":   func(d *usageprofile.Set) { d.Points[0] = float32(math.NaN()) },
		"scale":    func(d *usageprofile.Set) { d.Scale = nil },
	} {
		damaged, err := usageprofile.Decode(usageprofile.Format, content)
		require.NoError(t, err)
		damage(damaged)
		bad, err := usageprofile.Encode(damaged)
		require.NoError(t, err)
		_, err = usageprofile.Decode(usageprofile.Format, bad)
		require.ErrorIs(t, err, usageprofile.ErrFormat, name)
	}
}

func TestUsageOfAStoredTry(t *testing.T) {
	row := sizing.ContextRow{Usage: sizing.MeanUsage(nil).Set(sizing.MemoryMean, 5e8).Set(sizing.BytesRead, 3e9).Set(sizing.CPUMean, 0.5)}
	row.Outcome, row.MemoryMax, row.CPUMax, row.Duration = sizing.Success, 1e9, 2, time.Hour
	row.Requested.Memory = 4e9
	run, ok := usageprofile.RunOf(&row)
	require.True(t, ok)
	for q, want := range map[usageprofile.Quantity]float64{
		usageprofile.MemoryPeak: 1e9, usageprofile.Duration: 3600, usageprofile.CPUPeak: 2, usageprofile.CPUMean: 0.5, usageprofile.PeakOverRequest: 0.25,
		usageprofile.MeanOverPeak: 0.5, usageprofile.InputOutput: 3e9, usageprofile.GBHours: 0.5,
	} {
		assert.InEpsilon(t, want, run.Vector.Amount(q), 1e-9, q.String())
	}
	row.Usage, row.CPUMax, row.Requested = nil, 0, sizing.Resources{}
	run, ok = usageprofile.RunOf(&row)
	require.True(t, ok)
	assert.True(t, math.IsNaN(run.Vector.Amount(usageprofile.CPUPeak)))
	assert.True(t, math.IsNaN(run.Vector.Amount(usageprofile.PeakOverRequest)))
	assert.InEpsilon(t, 1, run.Vector.Amount(usageprofile.GBHours), 1e-9, "the peak stands for an unknown mean")

	row.Outcome, row.Allocated.Memory = sizing.OOMKilled, 2e9
	run, ok = usageprofile.RunOf(&row)
	require.True(t, ok)
	assert.True(t, run.Killed)
	row.Outcome, row.MemoryMax = sizing.Success, 0
	_, ok = usageprofile.RunOf(&row)
	assert.False(t, ok, "a success without a peak")
}

func TestMetadataPredictTheProfile(t *testing.T) {
	s := newStream(8)
	var runs []usageprofile.Run
	for i := range 200 { // the owner determines the profile of 9 of 10 tasks; the image determines no profile
		row := sizing.ContextRow{Task: sizing.TaskKey{Namespace: "n", DAG: "d", Task: fmt.Sprint("t", i)}}
		k := kinds[i%4]
		row.Outcome, row.MemoryMax, row.Duration = sizing.Success, sizing.Bytes(k.memory*math.Exp(0.1*s.r.NormFloat64())), time.Duration(k.seconds*1e9*math.Exp(0.1*s.r.NormFloat64()))
		row.Metadata = sizing.Metadata{"owner": {fmt.Sprint("team", i%4)}, "image": {fmt.Sprint("image", s.r.IntN(5))}, "tags": {"all", fmt.Sprint("own", i)}}
		if i%10 == 0 {
			row.Metadata["owner"] = []string{fmt.Sprint("team", s.r.IntN(4))}
		}
		if i%3 == 0 {
			delete(row.Metadata, "image")
		}
		run, ok := usageprofile.RunOf(&row)
		require.True(t, ok)
		runs = append(runs, run)
	}
	p := fit(t, runs, nil).Predictability
	require.NotNil(t, p)
	assert.Equal(t, 200, p.Tasks)
	assert.InDelta(t, 0.25, p.Majority, 0.03)
	assert.InDelta(t, 0.92, p.Accuracy, 0.05)
	require.Equal(t, "metadata.owner", p.Fields[0].Name)
	assert.InDelta(t, 0.92, p.Fields[0].Alone, 0.05)
	assert.Less(t, p.Fields[0].Without, 0.4)
	for _, f := range p.Fields[1:] {
		assert.Less(t, f.Alone, 0.4, "%s predicts nothing: the image is random, and the tag own… of a task is on no other task", f.Name)
		assert.InDelta(t, p.Accuracy, f.Without, 0.06, f.Name)
		if f.Name == "metadata.image" {
			assert.Equal(t, 133, f.Tasks)
		}
	}
	few, _ := s.runs(kinds, 4, 20)
	assert.Nil(t, fit(t, few, nil).Predictability, "16 tasks are too few for a prediction")
}

// All profiles have equally many tasks, and the owner of a task says nothing about its profile. Predicted only from the other
// tasks of its owner, a task would always get another profile than its own.
func TestAFieldThatSaysNothingIsNotWorseThanNone(t *testing.T) {
	s := newStream(9)
	var runs []usageprofile.Run
	for i := range 160 {
		row := sizing.ContextRow{Task: sizing.TaskKey{Namespace: "n", DAG: fmt.Sprint("d", i/16), Task: fmt.Sprint("t", i)}}
		k := kinds[i%4]
		row.Outcome, row.MemoryMax, row.Duration = sizing.Success, sizing.Bytes(k.memory*math.Exp(0.1*s.r.NormFloat64())), time.Duration(k.seconds*1e9*math.Exp(0.1*s.r.NormFloat64()))
		row.Metadata = sizing.Metadata{"owner": {fmt.Sprint("team", i/4%2)}, "image": {fmt.Sprint("image", i%4)}}
		run, ok := usageprofile.RunOf(&row)
		require.True(t, ok)
		runs = append(runs, run)
	}
	p := fit(t, runs, nil).Predictability
	require.NotNil(t, p)
	assert.InDelta(t, 0.25, p.Majority, 1e-9)
	assert.InDelta(t, 1, p.Accuracy, 1e-9)
	for _, f := range p.Fields {
		alone, without := p.Majority, 1.0
		if f.Name == "metadata.image" {
			alone, without = 1, p.Majority
		}
		assert.InDelta(t, alone, f.Alone, 1e-9, f.Name)
		assert.InDelta(t, without, f.Without, 1e-9, f.Name)
	}
}

// BenchmarkMemory reports the memory of a decoded set of the largest sample: 10,000 runs of 2,000 tasks.
func BenchmarkMemory(b *testing.B) {
	for name, length := range map[string]int{"usual names": 40, "longest names": 1000} {
		b.Run(name, func(b *testing.B) {
			s := newStream(10)
			runs := make([]usageprofile.Run, usageprofile.MaxRuns)
			for i := range runs {
				task := i % 2000
				runs[i] = s.run(fmt.Sprintf("%0*d", length, task), kinds[task%len(kinds)])
				runs[i].Task.DAG = fmt.Sprintf("%0*d", length, task)
			}
			set, err := usageprofile.Fit(runs, nil)
			require.NoError(b, err)
			content, err := usageprofile.Encode(set)
			require.NoError(b, err)
			decoded := make([]*usageprofile.Set, 1)
			for b.Loop() {
				clear(decoded)
				before := liveHeap()
				decoded[0], err = usageprofile.Decode(usageprofile.Format, content)
				require.NoError(b, err)
				b.ReportMetric(float64(liveHeap()-before), "B/set")
			}
			runtime.KeepAlive(decoded)
			runtime.KeepAlive(set)
			runtime.KeepAlive(runs)
		})
	}
}

func liveHeap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func BenchmarkFit(b *testing.B) {
	s := newStream(7)
	var many []kind
	for range 20 {
		many = append(many, s.anything())
	}
	runs, _ := s.runs(many, 40, 10)
	for i := range 2000 {
		runs = append(runs, s.run(fmt.Sprint("odd", i%200), s.anything()))
	}
	var set *usageprofile.Set
	b.Run("fit", func(b *testing.B) {
		for b.Loop() {
			var err error
			if set, err = usageprofile.Fit(runs, nil); err != nil {
				b.Fatal(err)
			}
		}
		content, err := usageprofile.Encode(set)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(content)), "bytes")
	})
	b.Run("place", func(b *testing.B) {
		for b.Loop() {
			set.Place(&runs[0].Vector)
		}
	})
}
