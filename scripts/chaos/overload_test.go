package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// loadOf returns a run with 100 answers in each bucket. If `failure` is not empty, it is the text of the first failure.
func loadOf(failure string) *loadRun {
	l := &loadRun{connections: 8, length: time.Second, buckets: make([]int, 11), firstFailure: failure}
	l.predicts.good = 1000
	for i := range l.buckets {
		l.buckets[i] = 100
	}
	if failure != "" {
		l.failed = 1
	}
	return l
}

func TestFailuresAfterTheOverloadAreCountedAndTheFirstIsNamed(t *testing.T) {
	k := &comparison{atBest: []*loadRun{loadOf(""), loadOf("cut off"), loadOf("refused")}, aboveBest: []*loadRun{loadOf(""), loadOf("")}}
	assert.Equal(t, 200, k.total().buckets[3], "the sum of the two runs with more than the best number of connections")
	var tr trialRun
	k.check(&tr, "storm")
	assert.Equal(t, []string{"storm: 2 calls failed: cut off"}, tr.failures)
}
