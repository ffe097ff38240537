package taskmodel

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// sampling estimates how much true peaks exceed sampled ones: Prometheus samples every 15 to 60 s and may miss a shorter
// peak. The factors come from pairs: tries that were both measured and sampled. Every sampled try draws one factor
// (imputation by a draw, Rubin 1987), so raised peaks vary like measured ones and lead to the same margins. A single factor
// would fit either the body or the tail of the distribution.
type sampling struct {
	Factors [durationClasses][drawCount]float64 // ascending quantiles by durationClass, because short tries have fewer samples; 0 counts as 1
}

const (
	durationClasses  = 5    // below 1 min, below 4 min, below 16 min, below 64 min, and longer
	drawCount        = 40   // number of quantiles, at the levels 1/80, 3/80, …, 79/80
	maxFactorDrift   = 0.05 // change of the log of the mean factor of a class above which the model is learned from scratch
	otherTasksWeight = 10.0 // largest total weight of the pairs of other tasks, in pairs of the task itself
)

// durationClass returns an index in Factors; an unknown (zero) duration counts as short.
func durationClass(d time.Duration) int {
	class := 0
	for edge := time.Minute; class < durationClasses-1 && d >= edge; edge *= 4 {
		class++
	}
	return class
}

type logRise struct{ log, weight float64 }

// samplingOf estimates the factors for each duration class. Each of the task's own pairs has weight 1 in every class. The
// pairs of other tasks are those of the class or, if there are none, all; they have weight 10 together, or 1 each if there
// are fewer than ten. So the first own pairs already count, and a hundred own pairs decide nearly alone.
func samplingOf(task sizing.TaskKey, pairs []sizing.PeakPair) sampling {
	var s sampling
	var own, others []logRise
	var byClass [durationClasses][]logRise
	for i := range pairs {
		p := &pairs[i]
		if p.Exact <= 0 || p.Sampled <= 0 || float64(p.Exact) > missFactor*float64(p.Sampled) {
			continue // a peak is unknown, or in a wrong unit: no spike between two samples is that high
		}
		e := logRise{math.Max(0, math.Log(float64(p.Exact)/float64(p.Sampled))), 1}
		if p.Task == task {
			own = append(own, e)
			continue
		}
		others = append(others, e)
		byClass[durationClass(p.Duration)] = append(byClass[durationClass(p.Duration)], e)
	}
	for class := range s.Factors {
		classOrAll := byClass[class]
		if len(classOrAll) == 0 {
			classOrAll = others
		}
		s.Factors[class] = factors(own, classOrAll)
	}
	return s
}

// factors returns the ascending quantiles of the weighted pairs; zeros if there are no pairs.
func factors(own, others []logRise) (f [drawCount]float64) {
	all := slices.Concat(own, others)
	total := 0.0
	for i := range all {
		if i >= len(own) {
			all[i].weight = min(1, otherTasksWeight/float64(len(others)))
		}
		total += all[i].weight
	}
	slices.SortFunc(all, func(a, b logRise) int {
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

// raisedPeak draws the true peak of a sampled try; the same seq gives the same draw. The peak is not raised above the
// allocation, because a success used no more.
func (s *sampling) raisedPeak(seq int64, sampled, allocated sizing.Bytes, took time.Duration) sizing.Bytes {
	raised := sampled.Times(max(1, s.Factors[durationClass(took)][quantileIndex(seq)]))
	if allocated > 0 {
		raised = min(raised, allocated)
	}
	return max(sampled, raised)
}

// quantileIndex distributes consecutive rows over all quantiles (splitmix64, Steele et al. 2014).
func quantileIndex(seq int64) int {
	x := uint64(seq) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % drawCount)
}

// raiseHistory returns h with every sampled peak raised, as if it had been measured. It does not modify h.
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

// invalidates reports whether h has sampled peaks and the factors clearly differ from `before`, with which a model was
// learned. Then the model must be learned from scratch, because margins cannot be unlearned.
func (s *sampling) invalidates(before *sampling, h *sizing.History) bool {
	if s.raiseHistory(h) == h {
		return false // h has no sampled peak
	}
	for class := range s.Factors {
		if math.Abs(math.Log(mean(s.Factors[class])/mean(before.Factors[class]))) > maxFactorDrift {
			return true
		}
	}
	return false
}

// mean returns the mean factor; an unset factor counts as 1.
func mean(factors [drawCount]float64) float64 {
	sum := 0.0
	for _, f := range factors {
		sum += max(1, f)
	}
	return sum / drawCount
}

func (s *sampling) raise(t *TrainingRow) {
	if t.Censoring == sizing.Sampled {
		t.Peak, t.Censoring = s.raisedPeak(t.Seq, t.Peak, t.Allocated.Memory, t.Duration), sizing.Exact
	}
}
