package backtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// datedHistory returns the history of one task as CSV. The task has two features: the date of a run, and a number without
// influence.
func datedHistory(runs int, step time.Duration, peakGiB func(at time.Time) float64, rng *rand.Rand) string {
	var csv strings.Builder
	csv.WriteString("dag_id,task_id,run_id,started_at,duration_s,memory_requested_bytes,memory_max_bytes,feature.logical_date,feature.rows\n")
	at := time.Date(2024, 1, 10, 0, 0, 0, 0, time.UTC)
	for i := range runs {
		text := at.Format(time.RFC3339)
		fmt.Fprintf(&csv, "d,t,r%04d,%s,600,%d,%.0f,%s,%d\n", i, text, 32<<30, peakGiB(at)*(1<<30), text, rng.IntN(9000))
		at = at.Add(step)
	}
	return csv.String()
}

// The peaks of a task have two modes: they are either small or large, and no feature predicts which. The number of kills
// and the wastage in the first 60 runs, which include the cold start, are limited.
func TestColdStartOfTwoModesHasLimitedKills(t *testing.T) {
	kills, wasted, wastedByMax := 0, 0.0, 0.0
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		csv := datedHistory(60, 7*time.Hour, func(time.Time) float64 {
			noise := 0.95 + rng.Float64()/10
			if rng.Float64() < 0.3 {
				return 8 * noise
			}
			return noise / 2
		}, rng)
		own, max := replayOne(t, csv, Config{Policies: []string{Loadaware}}), replayOne(t, csv, Config{Policies: []string{"max"}})
		kills, wasted, wastedByMax = kills+own.Kills, wasted+own.WastedGBh, wastedByMax+max.WastedGBh
	}
	t.Logf("%d kills in 360 runs; %.0f GB·h are wasted, and %.0f by the policy max", kills, wasted, wastedByMax)
	assert.LessOrEqual(t, kills, 60, "at most 60 kills in 360 runs, of which about 108 have a large peak")
	assert.Less(t, wasted, 1.1*wastedByMax, "at most a tenth more wastage than by the policy max")
}

// The models learn peaks that depend on the day of the month or on the hour of a date feature.
func TestCyclesOfDatesAreLearned(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		step    time.Duration
		isLarge func(at time.Time) bool
		share   float64 // allowed wastage, as a share of that of the policy max
	}{
		"first day of the month": {24 * time.Hour, func(at time.Time) bool { return at.Day() == 1 }, 0.1},
		"last day of the month":  {24 * time.Hour, func(at time.Time) bool { return at.AddDate(0, 0, 1).Day() == 1 }, 0.1},
		"office hours":           {time.Hour, func(at time.Time) bool { return at.Hour() >= 8 && at.Hour() < 18 }, 0.5},
	} {
		csv := datedHistory(700, c.step, func(at time.Time) float64 {
			noise := 0.9 + rng.Float64()/5
			if c.isLarge(at) {
				return 10 * noise
			}
			return noise
		}, rng)
		own, max := replayOne(t, csv, Config{Policies: []string{Loadaware}, Skip: 0.5}), replayOne(t, csv, Config{Policies: []string{"max"}, Skip: 0.5})
		assert.Less(t, own.WastedGBh, c.share*max.WastedGBh, name)
		assert.LessOrEqual(t, own.Killed, 3.0, name)
	}
}
