package fitting

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// sampling is by how much peaks exceed the largest samples of them: Prometheus looks
// every 15 to 60 s, and what is shorter than that it may miss. It is learned from
// tries that were both measured and sampled, of which every sampled one draws a
// factor (imputation by a draw, Rubin 1987): raised so, peaks vary as measured ones
// do, and margins come out as wide. One factor for all would be right for the body
// and too little for the tail, or the other way round.
type sampling struct {
	Factors [durationClasses][drawCount]float64 // by how long a try took, for it is looked at less often if short; 0 stands for 1
}

const (
	durationClasses  = 5    // below 1 min, 4 min, 16 min, 64 min, and above
	drawCount        = 40   // quantiles, 1/80 to 79/80
	maxFactorDrift   = 0.05 // change of a mean factor, as a logarithm, from which all is learned anew
	otherTasksWeight = 10.0 // what the pairs of all other tasks weigh together, in pairs of one's own
)

// spanOf is the place of a duration in Factors; one that is not known counts as short.
func durationClass(d time.Duration) int {
	span := 0
	for edge := time.Minute; span < durationClasses-1 && d >= edge; edge *= 4 {
		span++
	}
	return span
}

// exceedance is one pair: log(exact / sampled), at least 0.
type exceedance struct{ log, weight float64 }

// samplingOf learns the factors of a task. Its own pairs weigh 1 each. Other tasks'
// weigh 10 together, those of tries that took about as long, or all of them where
// none did. So the first pairs of its own already matter, and a hundred decide.
func samplingOf(task sizing.TaskKey, pairs []sizing.PeakPair) sampling {
	var s sampling
	var own, others []exceedance
	var alike [durationClasses][]exceedance
	for i := range pairs {
		p := &pairs[i]
		if p.Exact <= 0 || p.Sampled <= 0 || float64(p.Exact) > missFactor*float64(p.Sampled) {
			continue // nothing, or a mistaken unit: no spike between two samples is that high
		}
		e := exceedance{math.Max(0, math.Log(float64(p.Exact)/float64(p.Sampled))), 1}
		if p.Task == task {
			own = append(own, e)
			continue
		}
		others = append(others, e)
		alike[durationClass(p.Duration)] = append(alike[durationClass(p.Duration)], e)
	}
	for span := range s.Factors {
		alikeOrAll := alike[span]
		if len(alikeOrAll) == 0 {
			alikeOrAll = others
		}
		s.Factors[span] = factors(own, alikeOrAll)
	}
	return s
}

// factors are the quantiles of weighted exceedances, smallest first; zero where there
// are none.
func factors(own, others []exceedance) (f [drawCount]float64) {
	all := slices.Concat(own, others)
	total := 0.0
	for i := range all {
		if i >= len(own) {
			all[i].weight = min(1, otherTasksWeight/float64(len(others)))
		}
		total += all[i].weight
	}
	slices.SortFunc(all, func(a, b exceedance) int {
		return cmp.Or(cmp.Compare(a.log, b.log), cmp.Compare(a.weight, b.weight))
	})
	below, draw := 0.0, 0
	for _, e := range all {
		for below += e.weight; draw < drawCount && below >= (float64(draw)+0.5)/drawCount*total; draw++ {
			f[draw] = math.Exp(e.log)
		}
	}
	return f
}

// peak is a draw of what a try needed that was merely sampled, the same whenever it is
// drawn. A success needed no more than it was given.
func (s *sampling) raisedPeak(seq int64, sampled, allocated sizing.Bytes, took time.Duration) sizing.Bytes {
	raised := sampled.Times(max(1, s.Factors[durationClass(took)][draw(seq)]))
	if allocated > 0 {
		raised = min(raised, allocated)
	}
	return max(sampled, raised)
}

// draw spreads neighbours over all draws (splitmix64, Steele et al. 2014).
func draw(seq int64) int {
	x := uint64(seq) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % drawCount)
}

// measured is a history in which every peak that was merely sampled stands as if it
// had been measured, raised by what s knows. h stays as it is.
func (s *sampling) raiseHistory(h *sizing.History) *sizing.History {
	raised := *h
	raised.Rows = nil
	for i := range h.Rows {
		sampled, censoring := h.Rows[i].Peak()
		if censoring != sizing.Sampled {
			continue
		}
		if raised.Rows == nil {
			raised.Rows = slices.Clone(h.Rows)
		}
		r := &raised.Rows[i]
		r.MemoryMax = s.raisedPeak(r.Seq, sampled, r.Allocated.Memory, r.Duration)
	}
	if raised.Rows == nil {
		return h
	}
	return &raised
}

// outdates reports whether s raises the sampled peaks of h by much else than before
// did: margins that were learned of those cannot be taken back.
func (s *sampling) invalidates(before *sampling, h *sizing.History) bool {
	if s.raiseHistory(h) == h {
		return false // nothing is raised
	}
	for span := range s.Factors {
		if math.Abs(math.Log(mean(s.Factors[span])/mean(before.Factors[span]))) > maxFactorDrift {
			return true
		}
	}
	return false
}

func mean(factors [drawCount]float64) float64 {
	sum := 0.0
	for _, f := range factors {
		sum += max(1, f)
	}
	return sum / drawCount
}

// told is measured for one try that has just ended.
func (s *sampling) raise(t *TrainingRow) {
	if t.Censoring == sizing.Sampled {
		t.Peak, t.Censoring = s.raisedPeak(t.Seq, t.Peak, t.Allocated.Memory, t.Duration), sizing.Exact
	}
}
