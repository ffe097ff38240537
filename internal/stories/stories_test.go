package stories

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestStories(t *testing.T) { Run(t, "../../testdata/stories/*.txt") }

func TestParse(t *testing.T) {
	steps, err := parse("# nothing\n\nobserve etl.load rows=1e6..3e6 peak=1Gi region=emea x3 => new # three\n")
	require.NoError(t, err)
	require.Len(t, steps, 1)
	s := steps[0]
	assert.Equal(t, 3, s.line)
	assert.Equal(t, "etl/load", s.task.String())
	assert.Equal(t, 3, s.times)
	rows := []string{s.arguments(0)["rows"], s.arguments(1)["rows"], s.arguments(2)["rows"]}
	assert.ElementsMatch(t, []string{"1000000", "2000000", "3000000"}, rows)
	assert.Equal(t, "1Gi", s.arguments(1)["peak"])
	assert.Len(t, features(s.arguments(0)), 2, "peak must not be a feature")
}

func TestCheckReportsViolations(t *testing.T) {
	got := answer{words: []string{"model"}, numbers: map[string]float64{"": 2 << 30, "promised": 0.01}}
	for text, satisfied := range map[string]bool{
		"model": true, "profile": false,
		"2Gi": true, "3Gi": false, "1Gi..2Gi": true, "1Gi..1.5Gi": false,
		"<=2Gi": true, "<2Gi": false, ">=2Gi": true, ">2Gi": false, ">1Gi": true,
		"promised<=0.015": true, "promised<0.01": false, "promised=0.01": true, "shadow=2Gi": false,
	} {
		e, err := parseExpectation(text)
		require.NoError(t, err)
		assert.Equal(t, satisfied, got.check(e) == "", "%s: %s", text, got.check(e))
	}
}

func TestUnexpectedErrorFailsTheStory(t *testing.T) {
	steps, err := parse("observe a.b\nobserve a.b => conflict")
	require.NoError(t, err)
	conflict := errorAnswer(sizing.Errorf(sizing.Conflict, "another writer committed first"))
	assert.NotEmpty(t, steps[0].check(conflict))
	assert.Empty(t, steps[1].check(conflict))
	for kind := sizing.Internal; kind <= sizing.Exhausted; kind++ {
		assert.NotEmpty(t, steps[0].check(errorAnswer(sizing.Errorf(kind, "no"))), "kind %d", kind)
	}
}

func TestRestartFailsIfTheServiceDoesNotBecomeReady(t *testing.T) {
	e := newEnv(t)
	_, err := e.do(t.Context(), &step{verb: "restart"}, nil)
	require.NoError(t, err)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.do(cancelled, &step{verb: "restart"}, nil)
	assert.ErrorContains(t, err, "did not become ready")
}

func TestWaitNeedsOneDuration(t *testing.T) {
	for text, want := range map[string]string{
		"wait": "exactly one duration", "wait 2 h": "exactly one duration", "wait 1.5h": "exactly one duration", "wait 2hours": "unknown unit",
	} {
		steps, err := parse(text)
		require.NoError(t, err)
		_, err = new(env).wait(&steps[0])
		assert.ErrorContains(t, err, want, text)
	}
	steps, err := parse("wait 1h30m")
	require.NoError(t, err)
	_, err = new(env).wait(&steps[0])
	assert.NoError(t, err)
}
