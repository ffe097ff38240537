package taskmodel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func withRows(rows float64) sizing.Features {
	return sizing.Features{"rows": sizing.NumberValue(rows)}
}

// A task that used 1 GiB suddenly needs 5 GiB. Its runs all have different features, are killed one
// after another, and are not retried. The amounts must rise until a run gets 5 GiB.
func TestKillsWithoutASuccessRaiseTheAmounts(t *testing.T) {
	k := newTask(t)
	for i := range 60 {
		k.reportSuccess(withRows(float64(1000+i)), 1+float64(i%7)/100)
	}
	k.fit()
	const needed = 5.0
	kills := 0
	for ; kills < 15; kills++ {
		f := withRows(1000.5 + float64(kills))
		limit := k.model.Size(question(f)).Limit
		if limit >= bytes(needed) {
			break
		}
		k.report(f, killed(float64(limit)/float64(gib)))
	}
	assert.Less(t, kills, 12, "the amount must be enough after fewer than twelve killed runs")
	k.requireForAll(withRows(1040.25), "a streak of kills", func(s taskmodel.Answer) bool { return s.Limit >= bytes(needed) })

	k.reportSuccess(withRows(1041.25), 1.02)
	s := k.model.Size(question(withRows(1042.25)))
	assert.Less(t, s.Limit, bytes(2), "a success ends the streak: %s", s.Reason)
}

func TestStreakRaisesAmountsToTwiceTheKill(t *testing.T) {
	k := newTask(t)
	for i := range 60 {
		k.reportSuccess(withRows(float64(1000+i)), 1+float64(i%7)/100)
	}
	k.fit()
	for i := range 60 {
		k.report(withRows(1000.5+float64(i)), killed(4))
	}
	s := k.model.Size(question(withRows(1040.25)))
	assert.Equal(t, bytes(8), s.Limit, s.Reason)
	assert.Contains(t, s.Reason, "raised because 60 runs with different features were OOM-killed, up to 4Gi")
	assert.Greater(t, *s.Promised, 0.1, "at twice the killed allocation, the promised risk must be at least the kill rate of the streak times (1/2)²")
	e := k.model.Explain(question(withRows(1040.25)))
	requireExact(t, e, s.Limit, "during a streak")
	assert.True(t, slices.ContainsFunc(e.Terms, func(term taskmodel.Term) bool {
		return term.Kind == taskmodel.TermLift && strings.Contains(term.Name, "60 runs with different features were OOM-killed")
	}), e)
}

// Each run is killed with 2 GiB and, after a lift, with 4 GiB. The second kill raises the largest killed allocation of the
// streak, but the run counts only once.
func TestKillsOfRetriesRaiseTheBoundOfAStreak(t *testing.T) {
	k := newTask(t)
	for i := range 60 {
		k.reportSuccess(withRows(float64(1000+i)), 1+float64(i%7)/100)
	}
	k.fit()
	for i := range 20 {
		run := fmt.Sprint("lifted", i)
		lifted := killedRun(run, 4)
		lifted.Try = 2
		k.report(withRows(1000.5+float64(i)), killedRun(run, 2))
		k.report(withRows(1000.5+float64(i)), lifted)
	}
	s := k.model.Size(question(withRows(1040.25)))
	assert.Equal(t, bytes(8), s.Limit, s.Reason)
	assert.Contains(t, s.Reason, "raised because 20 runs with different features were OOM-killed, up to 4Gi")
}

// Four successive kills may be chance: of runs that start together, the killed ones end first.
func TestFewKillsAreNoStreak(t *testing.T) {
	k := newTask(t)
	for i := range 60 {
		k.reportSuccess(withRows(float64(1000+i)), 1+float64(i%7)/100)
	}
	k.fit()
	before := k.model.Size(question(withRows(1040.25)))
	for i := range 4 {
		k.report(withRows(1000.5+float64(i)), killed(4))
	}
	for range 20 { // runs with the same features count once
		k.report(withRows(1003.5), killed(4))
	}
	after := k.model.Size(question(withRows(1040.25)))
	assert.InEpsilon(t, float64(before.Limit), float64(after.Limit), 0.1, after.Reason)
}
