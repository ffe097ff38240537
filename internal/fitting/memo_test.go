package fitting_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A memo that is asked about everything in turn never gives one question's answer to
// another, nor one from before a row was learned.
func TestAMemoTellsAllQuestionsApart(t *testing.T) {
	k, rng := known(t, growing, 3, 60)
	var memo fitting.Memo
	f, _ := growing(rng)
	other, _ := growing(rng)
	for range 3 {
		for _, change := range []func(q *fitting.Question){
			func(*fitting.Question) {},
			func(q *fitting.Question) { q.Features = other },
			func(q *fitting.Question) { q.Features = nil },
			func(q *fitting.Question) { q.Requested.Memory = gib },
			func(q *fitting.Question) { q.Requested.CPU = 3 },
			func(q *fitting.Question) { q.Floor = 8 * gib },
			func(q *fitting.Question) { q.Cap = gib },
			func(q *fitting.Question) { q.RiskTarget = 0.2 },
			func(q *fitting.Question) { q.Above = gib },
			func(q *fitting.Question) { q.Lifts = 1 },
			func(q *fitting.Question) { q.Widen = 1.5 },
			func(q *fitting.Question) { q.Edges = sizing.Bins{2 * gib, 64 * gib} },
		} {
			q := question(f)
			change(&q)
			for range 3 {
				want, got := k.model.Size(q), memo.Size(k.model, q)
				assert.Equal(t, digest(&want, nil), digest(&got, nil))
			}
		}
		k.success(f, 7) // the next pass must know of it
	}
}

func TestAMemoAnswersWithoutSizingAnew(t *testing.T) {
	k, rng := known(t, growing, 3, 60)
	f, _ := growing(rng)
	var memo fitting.Memo
	q := question(f)
	memo.Size(k.model, q)
	kept := memo.Size(k.model, q)
	again := memo.Size(k.model, q)
	assert.Same(t, kept.Promised, again.Promised)
	k.success(f, 1)
	assert.NotSame(t, kept.Promised, memo.Size(k.model, q).Promised)
}

// Of some hundred questions that are asked in turn some share a place; nearly all are
// answered from the memo all the same, whatever was kept before the model last learned.
func TestQuestionsThatShareAPlaceAreBothKept(t *testing.T) {
	k, rng := known(t, growing, 3, 60)
	asked := make([]sizing.Features, 800)
	for i := range asked {
		asked[i], _ = growing(rng)
	}
	var memo fitting.Memo
	for range 2 {
		var kept [4][]*float64
		for pass := range kept {
			for _, f := range asked {
				kept[pass] = append(kept[pass], memo.Size(k.model, question(f)).Promised)
			}
		}
		held := 0
		for i := range asked {
			if kept[2][i] == kept[3][i] {
				held++
			}
		}
		assert.Greater(t, held, 700)
		k.success(asked[0], 7)
	}
}
