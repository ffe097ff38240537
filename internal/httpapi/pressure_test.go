package httpapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// pressed is a pressure that is told what to see.
func pressed(there int, waited *time.Duration) (*pressure, *time.Time) {
	now := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &pressure{crowd: 100, there: func() int { return there }, waited: func() time.Duration { return *waited }, now: func() time.Time { return now }}
	p.share.Store(whole)
	return p, &now
}

// admitted counts who is let in of a thousand, while time stands still.
func admitted(p *pressure, report bool) (n int) {
	for range 1000 {
		if p.admits(report) {
			n++
		}
	}
	return n
}

func TestAMachineThatIsMerelySlowRefusesNobody(t *testing.T) {
	wait := time.Second
	p, now := pressed(100, &wait)
	for range 50 {
		*now = now.Add(lookEvery)
		assert.Equal(t, 1000, admitted(p, true))
	}
}

func TestACrowdThatWaitsIsThinnedAndReportsGiveWayFirst(t *testing.T) {
	wait := 2 * tooLong
	p, now := pressed(101, &wait)
	for range 5 { // 7/8 of 7/8 of …: 0.51
		*now = now.Add(lookEvery)
		p.admits(false)
	}
	assert.InDelta(t, 515, p.share.Load(), 5)
	asks, reports := admitted(p, false), admitted(p, true)
	assert.InDelta(t, 515, asks, 80, "five standard deviations")
	assert.InDelta(t, 30, reports, 28)

	for range 200 {
		*now = now.Add(lookEvery)
		p.admits(false)
	}
	assert.Positive(t, p.share.Load(), "a few are always let in")
	wait = 0
	for range 16 {
		*now = now.Add(lookEvery)
		p.admits(false)
	}
	assert.Equal(t, 1000, admitted(p, true), "all, a sixth of a second after it is over")
}

func TestItLooksOnlyNowAndThen(t *testing.T) {
	looked := 0
	wait := time.Duration(0)
	p, now := pressed(101, &wait)
	p.waited = func() time.Duration { looked++; return 0 }
	for range 1000 {
		p.admits(false)
	}
	*now = now.Add(lookEvery)
	p.admits(false)
	assert.Equal(t, 2, looked)
}

func TestTheSchedulersWaitIsKnown(t *testing.T) {
	waited := schedulerWait()
	ran := make(chan bool)
	for range 1000 {
		go func() { ran <- true }()
	}
	for range 1000 {
		<-ran
	}
	got := waited()
	assert.GreaterOrEqual(t, got, time.Duration(0))
	assert.Less(t, got, 10*time.Second)
}

func BenchmarkPressure(b *testing.B) {
	p := newPressure()
	p.crowd = 0
	for b.Loop() {
		p.admits(false)
	}
}
