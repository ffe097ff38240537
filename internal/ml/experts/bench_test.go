package experts

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnswersDoNotAllocate(t *testing.T) {
	for _, n := range []int{10, 300} {
		x, s, _ := trained(smallConfig(), 1, n, normal(0.3))
		p, _ := s.next()
		scratch, rungs := new(Scratch), make([]float64, 0, 8)
		for name, call := range map[string]func(){
			"answer":                   func() { x.Answer(&p, target, scratch) },
			"answer to another target": func() { x.Answer(&p, 0.1, scratch) },
			"exceedance":               func() { x.ExceedanceProb(&p, 2*gb, scratch) },
			"ladder":                   func() { rungs = x.Ladder(&p, gb, 9*gb, Request{}, 3, scratch, rungs[:0]) },
		} {
			assert.Zero(t, testing.AllocsPerRun(20, call), "%s, %d rows", name, n)
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	x, s, _ := trained(Default(target), 1, 600, normal(0.3))
	p, _ := s.next()
	scratch := new(Scratch)
	b.ReportAllocs()
	for b.Loop() {
		x.Answer(&p, target, scratch)
	}
}

func BenchmarkLearn(b *testing.B) {
	x, s, pool := trained(Default(target), 1, 600, normal(0.3))
	scratch := new(Scratch)
	b.ReportAllocs()
	for b.Loop() {
		p, peak := s.next()
		x.Learn(&p, peak, 60, 0, pool, scratch)
	}
}

func BenchmarkLadder(b *testing.B) {
	x, s, _ := trained(Default(target), 1, 600, normal(0.3))
	p, _ := s.next()
	scratch, rungs := new(Scratch), make([]float64, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		rungs = x.Ladder(&p, gb, 9*gb, Request{}, 3, scratch, rungs[:0])
	}
}
