package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The structures of the tests below, in the form of reportTries.
var (
	extractLoad    = [][2]string{{"extract", ""}, {"load", "extract"}}
	extractFitLoad = [][2]string{{"extract", ""}, {"fit", "extract"}, {"load", "fit"}}
	allParallel    = [][2]string{{"load", ""}, {"fit", ""}, {"extract", ""}}
)

// runsOf returns the tries of the daily runs from, …, to - 1. Each task takes 20 minutes, "fit" an hour. Tasks follow one
// another unless they are parallel.
func runsOf(from, to int, structure [][2]string, isParallel bool) (tries []dagTry) {
	for i := from; i < to; i++ {
		at := day(i)
		for _, task := range structure {
			seconds := 1200 * (1 + .02*float64(i%5))
			if task[0] == "fit" {
				seconds *= 3
			}
			tries = append(tries, dagTry{task: task[0], run: fmt.Sprint("r", i), started: at, seconds: seconds, megabytes: 1000})
			if !isParallel {
				at = at.Add(time.Duration(seconds * float64(time.Second)))
			}
		}
	}
	return tries
}

// The structure of a DAG changes after 40 runs.
func TestForecastAfterAChangeOfTheStructure(t *testing.T) {
	for name, c := range map[string]struct {
		before, after [][2]string
		isParallel    bool
		seconds       float64
	}{
		"inserted task":  {extractLoad, extractFitLoad, false, 6000},
		"removed task":   {extractFitLoad, extractLoad, false, 2400},
		"parallel tasks": {extractFitLoad, allParallel, true, 3600},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnv(t, noAuth)
			e.setTime(day(39).Add(20 * time.Hour))
			e.reportTries(runsOf(0, 40, c.before, false), c.before...)
			e.setStructure(c.after...)
			e.setTime(day(100))
			from := 40
			for _, runs := range []int{3, 10, 25} {
				e.reportTries(runsOf(from, 40+runs, c.after, c.isParallel))
				f := e.forecastKnown()
				assert.InEpsilon(t, c.seconds, f.MedianSeconds, .15, "after %d runs", runs)
				assert.Equal(t, runs, f.PastRuns)
				from = 40 + runs
			}
			e.setStructure(c.before...)
			e.setStructure(c.after...)
			assert.Zero(t, e.forecastKnown().PastRuns, "the structure changed after the newest run")
		})
	}
}

// The same structure in another order is no change.
func TestStructureInAnotherOrderIsNoChange(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportTries(runsOf(0, 20, extractLoad, false), extractLoad...)
	e.setStructure(extractLoad[1], extractLoad[0])
	assert.Equal(t, 20, e.forecastKnown().PastRuns)
}

// Imported runs are older than the first stored structure. The task "fit" is in the newest three of them.
func TestANewTaskDoesNotCountAsSkippedByEarlierRuns(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportTries(append(runsOf(0, 40, extractLoad, false), runsOf(40, 43, extractFitLoad, false)...), extractFitLoad...)
	f := e.forecastKnown()
	assert.InEpsilon(t, 6000, f.MedianSeconds, .05)
	assert.InDelta(t, 1, f.Tasks[1].Critical, 1e-9, "fit runs in all draws")
}
