package sizing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestTryKeyValidateRejectsInvalidIDs(t *testing.T) {
	good := sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "pricing", Task: "predict_demand"}, RunID: "scheduled__2020-01-03T00:00:00+00:00", MapIndex: -1, Number: 1}
	assert.Empty(t, good.Validate(true))
	for field, invalidate := range map[string]func(*sizing.TryKey){
		"dag_id":     func(k *sizing.TryKey) { k.DAG = "" },
		"task_id":    func(k *sizing.TryKey) { k.Task = "a/b" },
		"namespace":  func(k *sizing.TryKey) { k.Namespace = strings.Repeat("n", 251) },
		"run_id":     func(k *sizing.TryKey) { k.RunID = "" },
		"map_index":  func(k *sizing.TryKey) { k.MapIndex = -2 },
		"try_number": func(k *sizing.TryKey) { k.Number = 0 },
	} {
		bad := good
		invalidate(&bad)
		fields := bad.Validate(true)
		require.Len(t, fields, 1, field)
		assert.Equal(t, field, fields[0].Field)
	}
	adHoc := good
	adHoc.RunID = ""
	assert.Empty(t, adHoc.Validate(false), "an ad-hoc prediction has no run")
	assert.NotEmpty(t, sizing.CheckID("tab\there"))
	assert.NotEmpty(t, sizing.CheckID("bad\xff"))
	assert.Empty(t, sizing.CheckID(strings.Repeat("é", 250)), "the limit must count characters, not bytes")
}

func TestSchemaOnlyGrows(t *testing.T) {
	var s sizing.Schema
	first := sizing.Features{"size": sizing.NumberValue(7), "region": sizing.TextValue("emea"), "day": sizing.TextValue("2020-01-03")}
	require.True(t, s.Extend(first))
	assert.False(t, s.Extend(first), "features that the schema already has must not change it")
	assert.Equal(t, 1, s.Version)

	row := s.Row(sizing.Features{"size": sizing.TextValue("big"), "region": sizing.TextValue("apac"), "day": sizing.TextValue("1970-01-02")}, nil)
	require.Len(t, row, 3) // day, region, size
	assert.Equal(t, 1.0, row[0], "days since 1970")
	assert.Equal(t, float64(sizing.Unseen), row[1])
	assert.True(t, math.IsNaN(row[2]), "a value of another kind must count as missing")

	require.True(t, s.Extend(sizing.Features{"region": sizing.TextValue("apac"), "extra": sizing.BoolValue(true)}))
	old := s.Features(row[:3])
	assert.Equal(t, sizing.Date, old["day"].Kind)
	assert.NotContains(t, old, "extra", "a row that is older than a field must lack its feature")
	again := s.Row(first, nil)
	assert.Equal(t, first["region"], s.Features(again)["region"])
}

func TestANameGetsAFieldForEachKindThatItsFieldsCannotStore(t *testing.T) {
	var s sizing.Schema
	sent := []sizing.Value{
		sizing.TextValue("n/a"), sizing.NumberValue(7), sizing.TextValue("2020-01-03"), sizing.BoolValue(true), sizing.NumberValue(0),
	}
	for i, v := range sent {
		assert.Equal(t, i < 3, s.Extend(sizing.Features{"x": v}), "value %d: a text, a number and a date get fields, a bool and a further number do not", i)
	}
	require.Len(t, s.Fields, 3)
	assert.Equal(t, []int{-1, 0, 1}, s.PreviousSameName())
	for _, v := range sent[:3] {
		assert.Equal(t, v, s.Features(s.Row(sizing.Features{"x": v}, nil))["x"])
	}
	assert.Equal(t, sizing.NumberValue(1), s.Features(s.Row(sizing.Features{"x": sent[3]}, nil))["x"])
	assert.Equal(t, sent[2].Num, s.Fields[2].ReadStored(sizing.Value{Kind: sizing.Category, Text: "2020-01-03"}).Num, "stored as text")
	assert.Equal(t, "2020-01-03", s.Fields[0].ReadStored(sizing.Value{Kind: sizing.Date, Num: sent[2].Num}).Text)

	s = sizing.Schema{}
	s.Extend(sizing.Features{"x": sizing.BoolValue(true)})
	s.Extend(sizing.Features{"x": sizing.NumberValue(0), "y": sizing.NumberValue(0)})
	assert.Nil(t, s.PreviousSameName(), "a bool field stores 0 and 1")
	s.Extend(sizing.Features{"x": sizing.NumberValue(2)})
	assert.Equal(t, []int{-1, -1, 0}, s.PreviousSameName())
	assert.Equal(t, sizing.NumberValue(1), s.Fields[2].ReadStored(s.Fields[0].Value(1)))
}

func TestSchemaWarnsAtItsLimits(t *testing.T) {
	var s sizing.Schema
	full := sizing.Features{}
	for i := range sizing.MaxFields - 1 {
		full[fmt.Sprint("name ", i)] = sizing.NumberValue(1)
	}
	s.Extend(full)
	assert.Empty(t, s.Warnings(sizing.Features{"one more": sizing.NumberValue(1)}))
	for i := range sizing.MaxCategories {
		s.Extend(sizing.Features{"id": sizing.TextValue(fmt.Sprint("id ", i))})
	}
	assert.Len(t, s.Fields, sizing.MaxFields)
	f := sizing.Features{"id": sizing.TextValue("another"), "one more": sizing.NumberValue(1), "name 0": sizing.NumberValue(2), "gone": {}}
	assert.False(t, s.Extend(f))
	assert.Equal(t, []sizing.FieldError{
		{Field: "features.id", Detail: `"another" is stored as an unknown category: this feature has reached the limit of 5000 values; send categories, not ids`},
		{Field: "features.one more", Detail: "is not stored: the task has reached the limit of 1000 fields (one for each name and kind of value); send the same names and kinds with every run"},
	}, s.Warnings(f))
}

func TestPeakCensoringFollowsOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		o         sizing.Observation
		peak      sizing.Bytes
		censoring sizing.Censoring
	}{
		"the measured peak of a success is exact":                         {sizing.Observation{Outcome: sizing.Success, MemoryMax: 5, Allocated: sizing.Resources{Memory: 9}}, 5, sizing.Exact},
		"the unknown peak of a success is at most the allocation":         {sizing.Observation{Outcome: sizing.Success, Allocated: sizing.Resources{Memory: 9}}, 9, sizing.AtMost},
		"the peak of an OOM-killed try is at least the allocation":        {sizing.Observation{Outcome: sizing.OOMKilled, MemoryMax: 8, Allocated: sizing.Resources{Memory: 9}}, 9, sizing.AtLeast},
		"the peak of a try that failed for other reasons reveals nothing": {sizing.Observation{Outcome: sizing.Failed, MemoryMax: 5}, 0, sizing.NoPeak},
	} {
		peak, censoring := c.o.Peak()
		assert.Equal(t, c.peak, peak, name)
		assert.Equal(t, c.censoring, censoring, name)
	}
}

func TestObservationValidateNamesTheField(t *testing.T) {
	try := sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "n", DAG: "d", Task: "t"}, RunID: "r", MapIndex: -1, Number: 1}
	start := time.Date(2020, 1, 3, 0, 0, 0, 0, time.UTC)
	for field, o := range map[string]sizing.Observation{
		"outcome":                {Try: try},
		"memory_max_bytes":       {Try: try, Outcome: sizing.Success, MemoryMax: -1},
		"cpu_max_cores":          {Try: try, Outcome: sizing.Success, CPUMax: sizing.Cores(math.NaN())},
		"duration_seconds":       {Try: try, Outcome: sizing.Success, Duration: -1},
		"ended_at":               {Try: try, Outcome: sizing.Success, StartedAt: start, EndedAt: start.Add(-1)},
		"allocated.memory_bytes": {Try: try, Outcome: sizing.OOMKilled},
		"features.x":             {Try: try, Outcome: sizing.Success, Features: sizing.Features{"x": sizing.TextValue(strings.Repeat("a", 501))}},
	} {
		bad := o.Validate()
		require.Len(t, bad, 1, field)
		assert.Equal(t, field, bad[0].Field)
	}
}

func TestBinsIndexIncludesUpperEdge(t *testing.T) {
	bins := sizing.Bins{512, 2048, 8192}
	assert.True(t, bins.Valid())
	assert.False(t, sizing.Bins{5, 5}.Valid())
	assert.Equal(t, 0, bins.Index(512))
	assert.Equal(t, 1, bins.Index(513))
	assert.Equal(t, 3, bins.Index(9000))
}

func TestBinsRoundUp(t *testing.T) {
	bins := sizing.Bins{512, 2048}
	assert.Equal(t, sizing.Bytes(512), bins.RoundUp(5))
	assert.Equal(t, sizing.Bytes(2048), bins.RoundUp(2048))
	assert.Equal(t, sizing.Bytes(3000), bins.RoundUp(3000), "an amount above the last edge stays unchanged")
	assert.Equal(t, sizing.Bytes(7), sizing.Bins(nil).RoundUp(7))
}

func TestPolicyValidateNamesTheField(t *testing.T) {
	for field, p := range map[string]sizing.Policy{
		"mode": {Mode: "loud"}, "floor_bytes": {Floor: 2 * gib, Cap: gib}, "cap_bytes": {Cap: -1}, "risk_target": {RiskTarget: 0.9},
		"limit_ratio": {LimitRatio: 0.5}, "grid": {Grid: "coarse"}, "bin_edges_bytes": {Edges: sizing.Bins{4, 2}},
	} {
		bad := p.Validate()
		require.Len(t, bad, 1, field)
		assert.Equal(t, field, bad[0].Field)
	}
	assert.Equal(t, []sizing.FieldError{{Field: "cap_bytes", Detail: "must be 1Mi to 8Pi: 350 bytes is less than any container uses: check the unit"}},
		sizing.Policy{Cap: 350}.Validate())
	assert.Empty(t, sizing.Policy{Floor: sizing.MiB, Cap: sizing.MiB}.Validate())
	assert.True(t, sizing.Policy{}.IsZero())
	assert.Empty(t, sizing.Policy{}.WithDefaults().Validate())
}

func TestCapForReturnsTheSmallerCapOrFourTimesTheKnownAmount(t *testing.T) {
	assert.Equal(t, 4*gib, sizing.Policy{Cap: 4 * gib}.CapFor(8*gib, gib))
	assert.Equal(t, 8*gib, sizing.Policy{}.CapFor(8*gib, gib))
	assert.Equal(t, 12*gib, sizing.Policy{}.CapFor(0, 3*gib))
	assert.Zero(t, sizing.Policy{}.CapFor(0, 0))
}

func TestWilsonIntervalAgreesWithStatsmodels(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/oracle/intervals/wilson.json") // make.py in the same folder writes it
	require.NoError(t, err)
	var oracle struct {
		Intervals []struct {
			Method           string
			K, N             int
			Level, Low, High float64
		}
	}
	require.NoError(t, json.Unmarshal(raw, &oracle))
	compared := 0
	for _, c := range oracle.Intervals {
		if c.Method == "wilson" && c.Level == 0.95 {
			low, high := sizing.WilsonInterval(c.K, c.N)
			assert.InDelta(t, c.Low, low, 1e-6, "%d of %d", c.K, c.N)
			assert.InDelta(t, c.High, high, 1e-6, "%d of %d", c.K, c.N)
			compared++
		}
	}
	assert.Positive(t, compared)
	low, high := sizing.WilsonInterval(0, 0)
	assert.Equal(t, [2]float64{0, 1}, [2]float64{low, high}, "the interval without data")
}

func TestErrorfKeepsKindAndCause(t *testing.T) {
	cause := errors.New("broken pipe")
	err := fmt.Errorf("record: %w", sizing.Errorf(sizing.Unavailable, "the database is down: %w", cause))
	assert.Equal(t, sizing.Unavailable, sizing.KindOf(err))
	assert.ErrorIs(t, err, cause)
	assert.Equal(t, sizing.Internal, sizing.KindOf(cause))
}

func TestGroupOfDependsOnTheMedianAndTheP99(t *testing.T) {
	q := func(p50, p99 sizing.Bytes) sizing.Quantiles {
		return sizing.Quantiles{P50: float64(p50), P99: float64(p99)}
	}
	assert.Equal(t, sizing.Light, sizing.GroupOf(q(0, 600*sizing.MiB)))
	assert.Equal(t, sizing.Moderate, sizing.GroupOf(q(2*gib, 4*gib)))
	assert.Equal(t, sizing.Heavy, sizing.GroupOf(q(gib, 6*gib)))
	assert.Equal(t, sizing.Heavy, sizing.GroupOf(q(15*gib, 20*gib)))
}

func TestADurationBelowTheResolutionIsShort(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		reported time.Duration
		ended    time.Time
		want     time.Duration
	}{
		"unknown":                                        {0, time.Time{}, 0},
		"unknown, the end equals the start":              {0, start, 0},
		"unknown, with times":                            {0, start.Add(time.Hour), time.Hour},
		"below the resolution":                           {sizing.BelowResolution, time.Time{}, time.Second / 2},
		"below the resolution, the end equals the start": {sizing.BelowResolution, start, time.Second / 2},
		"below it, with times":                           {sizing.BelowResolution, start.Add(time.Millisecond), time.Millisecond},
		"less than the store can hold":                   {time.Microsecond - 1, time.Time{}, time.Second / 2},
		"known":                                          {time.Microsecond, start.Add(time.Hour), time.Microsecond},
	} {
		o := sizing.Observation{Duration: c.reported, StartedAt: start, EndedAt: c.ended}
		o.DeriveDuration()
		assert.Equal(t, c.want, o.Duration, name)
	}
}
