package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// effects counts what the callers of one report were told.
type effects struct {
	operations, calls int
	first, duplicate  int // answered as new, answered as known
	wrong             int // operations with another number of effects than one
	tampered, refused int // other bodies for a known try, and those answered by 409
	again             int // calls repeated because of a 503, after which nobody may have heard that it was new
	failed            int
	word              string // the first fault
}

// idempotency sends each report 1 to 8 times at once to 3 replicas, and then for
// some of them another body.
func idempotency(ctx context.Context, s *sheet) error {
	cluster, tasks, err := s.open(ctx, testcluster.Config{Replicas: 3})
	if err != nil {
		return err
	}
	defer cluster.Close()
	begun := time.Now()
	e := duplicates(ctx, cluster.Ledger, addresses(cluster.Replicas), tasks, s.seed, s.reps(3_000, 100_000))
	s.tell("%d operations in %d calls, %.0f calls/s: %d had one effect, %d answers said duplicate; %d other bodies, %d of them 409; repeated after 503: %d, failed %d",
		e.operations, e.calls, float64(e.calls)/time.Since(begun).Seconds(), e.operations-e.wrong, e.duplicate, e.tampered, e.refused, e.again, e.failed)
	e.judge(s)
	s.balance(ctx, "idempotency", cluster)
	return nil
}

func (e *effects) judge(s *sheet) {
	s.hold(e.failed == 0, "%d calls failed: %s", e.failed, e.word)
	s.hold(e.wrong == 0, "%d operations had not one effect: %s", e.wrong, e.word)
	s.hold(e.tampered > 0 && e.refused == e.tampered, "%d of %d other bodies were not refused by 409: %s", e.tampered-e.refused, e.tampered, e.word)
}

// duplicates runs n operations, eight at a time.
func duplicates(ctx context.Context, ledger *testcluster.Ledger, urls []string, tasks []testcluster.Task, seed uint64, n int) *effects {
	var (
		e       effects
		mu      sync.Mutex
		workers sync.WaitGroup
		t       = &traffic{client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
	)
	const atOnce = 8
	for w := range atOnce {
		workers.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(100+w)))
			for i := w; i < n && ctx.Err() == nil; i += atOnce {
				o := testcluster.DrawRun(random, tasks[random.IntN(len(tasks))], fmt.Sprintf("twice-%07d", i))
				one := t.operate(ctx, ledger, urls, o, 1+random.IntN(8), random.IntN(10) == 0)
				mu.Lock()
				e.add(one)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return &e
}

func (e *effects) add(one effects) {
	e.operations++
	e.calls += one.calls
	e.first += one.first
	e.duplicate += one.duplicate
	e.failed += one.failed
	e.again += one.again
	e.tampered += one.tampered
	e.refused += one.refused
	if one.first != 1 && !one.unheard() {
		e.wrong++
	}
	if e.word == "" {
		e.word = one.word
	}
}

// unheard reports that nobody was told that it was new, which a 503 may have kept back.
func (e *effects) unheard() bool { return e.first == 0 && e.again > 0 }

// persist repeats a call while it is answered by 503.
func (t *traffic) persist(ctx context.Context, url string, body []byte) (status, again int, says string) {
	for {
		if status, _, says = t.send(ctx, url, body); status != http.StatusServiceUnavailable || again == 30 {
			return status, again, says
		}
		again++
		time.Sleep(100 * time.Millisecond)
	}
}

// operate sends one report copies times at once, each to the next address, and then,
// where tamper says so, another body for the same try.
func (t *traffic) operate(ctx context.Context, ledger *testcluster.Ledger, urls []string, o testcluster.Observation, copies int, tamper bool) effects {
	e := effects{calls: copies}
	body, err := json.Marshal(o)
	if err != nil {
		panic(err) // numbers and strings only
	}
	ledger.RecordSent(o)
	answers := make([]string, copies)
	statuses, repeated := make([]int, copies), make([]int, copies)
	var at sync.WaitGroup
	for i := range copies {
		at.Go(func() { statuses[i], repeated[i], answers[i] = t.persist(ctx, urls[i%len(urls)]+"/observe", body) })
	}
	at.Wait()
	for i := range copies {
		e.again += repeated[i]
		var answer struct {
			Recorded  bool `json:"recorded"`
			Duplicate bool `json:"duplicate"`
		}
		switch {
		case statuses[i] != http.StatusOK || json.Unmarshal([]byte(answers[i]), &answer) != nil || !answer.Recorded:
			e.failed++
			e.word = fmt.Sprintf("%s: %d %s", o.RunID, statuses[i], answers[i])
		case answer.Duplicate:
			e.duplicate++
		default:
			e.first++
		}
	}
	if e.failed < copies {
		ledger.RecordAcked(o)
	}
	if e.first != 1 && !e.unheard() && e.word == "" {
		e.word = fmt.Sprintf("%s: %d of %d answers said that it was new", o.RunID, e.first, copies)
	}
	if tamper {
		e.tampered++
		other := o
		other.Peak++
		body, _ := json.Marshal(other) // as above
		status, _, says := t.persist(ctx, urls[copies%len(urls)]+"/observe", body)
		if status == http.StatusConflict {
			e.refused++
		} else if e.word == "" {
			e.word = fmt.Sprintf("%s with another peak: %d %s", o.RunID, status, says)
		}
	}
	return e
}
