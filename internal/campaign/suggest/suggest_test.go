package suggest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/campaign/suggest"
	"github.com/loadaware/loadaware/internal/sizing"
)

func candidate(rows float64, region string) suggest.Candidate {
	return suggest.Candidate{Features: sizing.Features{
		"rows": sizing.NumberValue(rows), "region": {Kind: sizing.Category, Text: region}}}
}

// mixed returns ninety equal runs, ten other equal runs, and two runs that are unlike all others.
func mixed() []suggest.Candidate {
	var all []suggest.Candidate
	for range 90 {
		all = append(all, candidate(100, "emea"))
	}
	for range 10 {
		all = append(all, candidate(100_000, "emea"))
	}
	return append(all, candidate(100, "apac"), candidate(100_000, "amer"))
}

func TestRankPrefersFrequentInputsAndVariesTheBatch(t *testing.T) {
	scored := suggest.Rank(mixed(), nil, 5)
	require.Len(t, scored, 5)
	assert.Less(t, scored[0].Index, 90, "the most frequent input must come first")
	for i, s := range scored {
		if i > 1 && i%2 == 0 {
			assert.LessOrEqual(t, s.Gain, scored[i-2].Gain+1e-12, "the gains of the V-optimal choices must not rise")
		}
		assert.Positive(t, s.Gain)
	}
	var frequent int
	for _, s := range scored {
		if s.Index < 90 {
			frequent++
		}
	}
	assert.Less(t, frequent, 5, "a batch must contain different inputs")
	assert.Equal(t, scored, suggest.Rank(mixed(), nil, 5), "the result must be deterministic")
}

// Two of three inputs are frequent. The choices by kernel herding (the second, the fourth, …; their i is odd) must
// not prefer the rare input.
func TestRankKeepsFrequentInputsFrequent(t *testing.T) {
	var all []suggest.Candidate
	for i := range 100 {
		rows := []float64{100, 10_000}[i%2]
		if i < 4 {
			rows = 1e7
		}
		all = append(all, candidate(rows, "emea"))
	}
	frequent := 0
	for i, s := range suggest.Rank(all, nil, 40) {
		if i%2 == 1 && s.Index >= 4 {
			frequent++
		}
	}
	assert.GreaterOrEqual(t, frequent, 18, "at least 18 of the 20 choices by kernel herding must be frequent inputs")
}

func TestKnownRunsReduceGains(t *testing.T) {
	all := mixed()
	known := make([]suggest.Candidate, 50)
	for i := range known {
		known[i] = candidate(100_000, "emea")
	}
	assert.Less(t, suggest.Rank(all, known, 1)[0].Gain, suggest.Rank(all, nil, 1)[0].Gain, "known runs must reduce the gain of similar candidates")
	assert.Empty(t, suggest.Rank(nil, nil, 3))
	assert.Len(t, suggest.Rank(all[:2], nil, 3), 2)
}

// A batch that follows another chooses the frequent input that the first batch lacks.
func TestRankContinuesAfterKnownRuns(t *testing.T) {
	var all, known []suggest.Candidate
	for i := range 40 {
		all = append(all, candidate([]float64{100, 10_000}[i%2], "emea"))
	}
	for range 20 {
		known = append(known, candidate(100, "emea"))
	}
	for _, s := range suggest.Rank(all, known, 10) {
		assert.Equal(t, 1, s.Index%2, "candidate %d must differ from the known runs", s.Index)
	}
}

// Registered runs are those that the campaign already contains.
func TestSplitRemovesRegisteredRuns(t *testing.T) {
	a, err := suggest.Read(strings.NewReader(`dag_id,task_id,run_id,started_at,memory_max_bytes,feature.rows,feature.day
pricing,load,r1,2020-01-03T02:00:00Z,100,5,2020-01-01
pricing,load,r2,2020-01-04T02:00:00Z,200,6,2020-01-02
pricing,price,r1,2020-01-03T02:10:00Z,300,5,2020-01-01
pricing,load,r3,2020-01-05T02:00:00Z,400,7,2020-01-03
`))
	require.NoError(t, err)
	another := a.Runs[1]
	another.Scenario = "r4"
	rest, known := a.Split([]campaign.ArchivedRun{a.Runs[0], another})
	assert.Equal(t, a.Runs[1:], rest.Runs)
	assert.Equal(t, []int{0, 1}, rest.RunOf)
	assert.Equal(t, a.Candidates()[1:], rest.Candidates())
	require.Len(t, known, 2)
	assert.Equal(t, a.Candidates()[0].Features["rows"], known[0].Features["rows"])
	assert.Equal(t, a.Candidates()[0].Features["day"], known[0].Features["day"])
}

// The campaign stores the dates of its runs in whole seconds.
func TestSplitRemovesARegisteredRunOfAListWithFractionsOfASecond(t *testing.T) {
	a, err := suggest.Read(strings.NewReader(`{"scenario": "r1", "execution_date": "2020-01-03T02:00:00.25Z", "conf": {"rows": 5}}`))
	require.NoError(t, err)
	rest, _ := a.Split([]campaign.ArchivedRun{{Scenario: "r1", ExecutionDate: time.Date(2020, 1, 3, 2, 0, 0, 0, time.UTC), Conf: json.RawMessage(`{"rows": 5}`)}})
	assert.Empty(t, rest.Runs)
}

func TestArchiveHasOneRunPerRunID(t *testing.T) {
	a, err := suggest.Read(strings.NewReader(`dag_id,task_id,run_id,started_at,memory_max_bytes,feature.rows,feature.region
pricing,load,r1,2020-01-03T02:00:00Z,100,5,emea
pricing,price,r1,2020-01-03T02:10:00Z,,5,emea
pricing,load,r2,2020-01-04T02:00:00Z,200,6,apac
`))
	require.NoError(t, err)
	require.Len(t, a.Runs, 2)
	assert.Equal(t, []int{0, 0, 1}, a.RunOf)
	assert.JSONEq(t, `{"rows": 5, "region": "emea"}`, string(a.Runs[0].Conf))
	assert.Equal(t, []float64{5, 6}, []float64{a.Candidates()[0].Features["rows"].Num, a.Candidates()[1].Features["rows"].Num})

	var lines bytes.Buffer
	require.NoError(t, suggest.Write(&lines, a.Runs))
	again, err := suggest.Read(&lines)
	require.NoError(t, err)
	assert.Equal(t, a.Runs, again.Runs)
	features := again.Candidates()[1].Features
	assert.Equal(t, []any{6.0, "apac", "2020-01-04"}, []any{features["rows"].Num, features["region"].Text, features["execution_date"].Text}, "the features of a list of runs must be its conf and its date")

	_, err = suggest.Read(strings.NewReader("dag_id,task_id,run_id,memory_max_bytes\npricing,load,r1,100\n"))
	require.ErrorContains(t, err, "has no started_at")
}

// The number of reads differs between the instances of a task, and samples is a feature of another task.
func TestConfHasTheFeaturesThatDoNotDifferWithinARun(t *testing.T) {
	a, err := suggest.Read(strings.NewReader(`dag_id,task_id,run_id,map_index,started_at,memory_max_bytes,feature.genome,feature.reads,feature.samples
rna,align,r1,0,2020-01-03T02:00:00Z,100,human,5,
rna,align,r1,1,2020-01-03T02:00:00Z,200,human,7,
rna,report,r1,,2020-01-03T03:00:00Z,300,human,,2
rna,align,r2,0,2020-01-04T02:00:00Z,100,mouse,6,
rna,report,r2,,2020-01-04T03:00:00Z,300,mouse,,1
`))
	require.NoError(t, err)
	require.Len(t, a.Runs, 2)
	assert.JSONEq(t, `{"genome": "human", "samples": 2}`, string(a.Runs[0].Conf))
	assert.JSONEq(t, `{"genome": "mouse", "reads": 6, "samples": 1}`, string(a.Runs[1].Conf))
	assert.Equal(t, map[string]int{"reads": 1}, a.DifferingFeatures())
}

func TestReadDetectsAListOfRuns(t *testing.T) {
	long := `{"conf": {"text": "` + strings.Repeat("x", 10_000) + `"}, "execution_date": "2020-01-03T00:00:00Z", "scenario": "r1"}`
	for name, c := range map[string]struct {
		text string
		rows int // 0 for a list of runs
	}{
		"a long conf before the scenario":       {long, 0},
		"a byte order mark":                     {"\ufeff" + long, 0},
		"a cell of a CSV that is \"scenario\"":  {"dag_id,task_id,run_id,started_at,memory_max_bytes,feature.kind\npricing,load,r1,2020-01-03T02:00:00Z,100,\"scenario\"\n", 1},
		"a feature of JSON lines, \"scenario\"": {`{"dag_id": "pricing", "task_id": "load", "run_id": "r1", "outcome": "success", "started_at": "2020-01-03T02:00:00Z", "memory_max_bytes": 100, "features": {"scenario": "s"}}`, 1},
	} {
		a, err := suggest.Read(strings.NewReader(c.text))
		require.NoError(t, err, name)
		assert.Len(t, a.Rows, c.rows, name)
		require.Len(t, a.Runs, 1, name)
		assert.Equal(t, "r1", a.Runs[0].Scenario, name)
	}
}
