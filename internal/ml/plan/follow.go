package plan

// Follow returns the limit in force at each sample of a run that follows the plan. `width` is the delay in seconds after which
// the caller can read a sample: zero if the samples are measurements, and the width of a step if each sample is the maximum
// of the step that starts at its time.
func (p *Plan) Follow(samples []Sample, width float64, t Timing) []float64 {
	t = t.withDefaults()
	all := make([]float64, len(samples))
	limit, pending := p.Start(), []resize(nil)
	level, next := 0.0, t.Poll
	seen := 0
	for i := range samples {
		now := samples[i].Seconds
		for ; next <= now; next += t.Poll {
			for ; seen < len(samples) && samples[seen].Seconds+width <= next; seen++ {
				level = max(level, samples[seen].Memory)
			}
			if need := p.Need(next, level); need > limit && (len(pending) == 0 || need > pending[len(pending)-1].limit) {
				pending = append(pending, resize{next + t.Reaction, need})
			}
		}
		for len(pending) > 0 && pending[0].at <= now {
			limit = Grow(limit, pending[0].limit)
			pending = pending[1:]
		}
		all[i] = limit
	}
	return all
}

// resize is a new limit that takes effect at a time in seconds.
type resize struct{ at, limit float64 }
