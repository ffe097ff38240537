package taskmodel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func runAt(at time.Time) sizing.Features {
	return sizing.Features{"execution_date": sizing.TextValue(at.Format(time.RFC3339))}
}

// firstRun is the date of the first run of datedTask, a Sunday.
var firstRun = time.Date(2025, 1, 5, 0, 0, 0, 0, time.UTC)

// datedTask returns a task of n runs of 1 GiB, one per step. A heavy run takes 5400 seconds and six cores, any other run 300
// seconds and 0.9 cores.
func datedTask(t *testing.T, seed uint64, n int, step time.Duration, isHeavy func(at time.Time) bool) *task {
	k, rng := newTask(t), newRand(seed)
	k.between = step
	for i := range n {
		at, seconds, cores := firstRun.Add(time.Duration(i)*step), 300.0, 0.9
		if isHeavy(at) {
			seconds, cores = 5400, 6
		}
		r := measuredRun(noise(rng, 0.05))
		r.Duration, r.CPUMax = time.Duration(seconds*noise(rng, 0.1)*float64(time.Second)), sizing.Cores(cores*noise(rng, 0.05))
		k.report(runAt(at), r)
		k.train()
	}
	k.fit()
	return k
}

func sizeAt(k *task, at time.Time) taskmodel.Answer {
	q := question(runAt(at))
	q.Requested.CPU, q.Timeout = 8, time.Hour
	return k.model.Size(q)
}

func TestRunTimeAndCPUFollowTheCyclesOfADate(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		step    time.Duration
		isHeavy func(at time.Time) bool
	}{
		"Sunday":                {day, func(at time.Time) bool { return at.Weekday() == time.Sunday }},
		"Monday":                {day, func(at time.Time) bool { return at.Weekday() == time.Monday }},
		"Wednesday":             {day, func(at time.Time) bool { return at.Weekday() == time.Wednesday }},
		"last day of the month": {day, func(at time.Time) bool { return at.AddDate(0, 0, 1).Day() == 1 }},
		"the 15th":              {day, func(at time.Time) bool { return at.Day() == 15 }},
		"hour 3":                {time.Hour, func(at time.Time) bool { return at.Hour() == 3 }},
	} {
		for _, runs := range []int{100, 200} {
			k := datedTask(t, 5, runs, c.step, c.isHeavy)
			stored := reopen(t, blobOf(t, k.model))
			heavy := 0
			for i := range 62 {
				at := firstRun.Add(time.Duration(runs+i) * c.step)
				checkUsage(k, stored, at, c.isHeavy(at), fmt.Sprint(name, " after ", runs, " runs at ", at))
				if c.isHeavy(at) {
					heavy++
				}
			}
			require.Positive(t, heavy, name)
		}
	}
}

// checkUsage checks the run time and the CPU of a run. `stored` is the decoded model of the task.
func checkUsage(k *task, stored *taskmodel.Model, at time.Time, isHeavy bool, name string) {
	s := sizeAt(k, at)
	require.NotNil(k.t, s.Duration, name)
	q := question(runAt(at))
	require.Equal(k.t, k.model.Size(q).Duration, stored.Size(q).Duration, name)
	if isHeavy {
		assert.InEpsilon(k.t, 5400, s.Duration.Median.Seconds(), 0.25, name)
		assert.Greater(k.t, *s.Duration.Timeout, 0.7, name)
		assert.GreaterOrEqual(k.t, float64(s.CPU), 6.0, name)
		return
	}
	assert.InEpsilon(k.t, 300, s.Duration.Median.Seconds(), 0.25, name)
	assert.Less(k.t, *s.Duration.Timeout, 0.05, name)
	assert.LessOrEqual(k.t, float64(s.CPU), 1.5, name)
}
