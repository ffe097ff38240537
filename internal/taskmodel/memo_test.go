package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestMemoDistinguishesQuestions(t *testing.T) {
	k, rng := trainedTask(t, growing, 3, 60)
	var memo taskmodel.Memo
	f, _ := growing(rng)
	other, _ := growing(rng)
	for range 3 {
		for _, change := range []func(q *taskmodel.Question){
			func(*taskmodel.Question) {},
			func(q *taskmodel.Question) { q.Features = other },
			func(q *taskmodel.Question) { q.Features = nil },
			func(q *taskmodel.Question) { q.Requested.Memory = gib },
			func(q *taskmodel.Question) { q.Requested.CPU = 3 },
			func(q *taskmodel.Question) { q.Floor = 8 * gib },
			func(q *taskmodel.Question) { q.Cap = gib },
			func(q *taskmodel.Question) { q.RiskTarget = 0.2 },
			func(q *taskmodel.Question) { q.Above = gib },
			func(q *taskmodel.Question) { q.Lifts = 1 },
			func(q *taskmodel.Question) { q.RunScore = 1 },
			func(q *taskmodel.Question) { q.GuardFactor = 1.5 },
			func(q *taskmodel.Question) { q.Edges = sizing.Bins{2 * gib, 64 * gib} },
		} {
			q := question(f)
			change(&q)
			for range 3 {
				want, got := k.model.Size(q), memo.Size(k.model, q)
				assert.Equal(t, digest(&want, nil), digest(&got, nil))
			}
		}
		k.reportSuccess(f, 7) // this run changes the answers of the next pass
	}
}

func TestMemoReturnsTheCachedAnswer(t *testing.T) {
	k, rng := trainedTask(t, growing, 3, 60)
	f, _ := growing(rng)
	var memo taskmodel.Memo
	q := question(f)
	memo.Size(k.model, q)
	cached := memo.Size(k.model, q)
	again := memo.Size(k.model, q)
	assert.Same(t, cached.Promised, again.Promised)
	k.reportSuccess(f, 1)
	assert.NotSame(t, cached.Promised, memo.Size(k.model, q).Promised)
}

// Some of 800 questions share a slot. The cache still answers nearly all of them, also after the
// model has learned.
func TestMemoCachesQuestionsWithACommonSlot(t *testing.T) {
	k, rng := trainedTask(t, growing, 3, 60)
	features := make([]sizing.Features, 800)
	for i := range features {
		features[i], _ = growing(rng)
	}
	var memo taskmodel.Memo
	for range 2 {
		var cached [4][]*float64
		for pass := range cached {
			for _, f := range features {
				cached[pass] = append(cached[pass], memo.Size(k.model, question(f)).Promised)
			}
		}
		hits := 0
		for i := range features {
			if cached[2][i] == cached[3][i] {
				hits++
			}
		}
		assert.Greater(t, hits, 700)
		k.reportSuccess(features[0], 7)
	}
}
