package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A server that stands still for 300 ms once is charged with every question that had
// to wait, not with one.
func TestAStallIsChargedToAllThatWaitedForIt(t *testing.T) {
	var one sync.Mutex
	asked := 0
	url, _ := serving(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		one.Lock()
		defer one.Unlock()
		if asked++; asked == 50 {
			time.Sleep(300 * time.Millisecond)
		}
	}))
	got := pace{url: url, bodies: asks(1, name, 2, 1), rate: 200, span: time.Second}.run(context.Background())
	assert.Len(t, got.took, 200)
	assert.Zero(t, got.errors)
	late := 0
	for _, took := range got.took {
		if took > 100*time.Millisecond {
			late++
		}
	}
	assert.Greater(t, late, 20, "of the 60 that were due meanwhile")
	assert.GreaterOrEqual(t, got.at(0.999), 250*time.Millisecond)
}

func TestRefusedQuestionsAreCounted(t *testing.T) {
	url, _ := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }))
	got := pace{url: url, bodies: asks(1, name, 2, 1), rate: 100, span: time.Second}.run(context.Background())
	assert.Equal(t, 100, got.errors)
}

func TestAPlotHasABarForEverySize(t *testing.T) {
	picture := plot([]grown{{size: size{10, 1000, 1, 10}, p50: time.Millisecond}, {size: size{1000, 1000, 1, 1000}, p50: 2 * time.Millisecond}})
	assert.Equal(t, 2, strings.Count(picture, "<rect"))
	assert.Contains(t, picture, "2.00 ms")
}

func TestAFeatureThatWasNeverSeenIsInEveryQuestion(t *testing.T) {
	for _, body := range neverSeen(asks(1, name, 50, 3)) {
		assert.Equal(t, 3, strings.Count(body, `"elasticity":0.`+counterMark))
		assert.Equal(t, 6, strings.Count(body, counterMark), "and a run of its own")
	}
}
