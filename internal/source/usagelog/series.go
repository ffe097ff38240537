package usagelog

import (
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// firstStep is the width of a slot until pairs of slots are merged.
const firstStep = time.Second

// downsampler reduces samples to at most sizing.MaxPoints slots of equal width. A slot
// keeps the maximum of its samples, so no peak is lost. If the slots cannot extend to a new
// sample, each pair of slots becomes one slot:
//
//	│2│9│3│3│  4 slots of 1 s   ─▶   │9│3│ │ │  of 2 s
//
// Slots have numbers. Slot 0 begins at the first sample read; samples of earlier times have slots with negative
// numbers.
type downsampler struct {
	from  time.Time     // start of slot 0
	step  time.Duration // width of a slot; 0 before the first sample
	first int           // number of slots[0]
	slots []slot
}

// slot has the maxima of its samples, in bytes and cores; 0 without a sample.
type slot struct {
	memory, cpu float64
	hasCPU      bool // whether a sample has CPU, which may be 0; a running program always has memory
}

func (d *downsampler) add(at time.Time, sample slot) {
	if d.step == 0 {
		*d = downsampler{from: at, step: firstStep, slots: make([]slot, 1, sizing.MaxPoints)}
	}
	n := d.number(at)
	for max(n, d.last())-min(n, d.first) >= sizing.MaxPoints {
		d.mergePairs()
		n = d.number(at)
	}
	if n < d.first {
		d.slots = append(make([]slot, d.first-n, sizing.MaxPoints), d.slots...)
		d.first = n
	}
	for d.last() < n {
		d.slots = append(d.slots, slot{})
	}
	d.slots[n-d.first].mergeMax(sample)
}

func (d *downsampler) last() int { return d.first + len(d.slots) - 1 }

func (d *downsampler) number(at time.Time) int {
	return int(math.Floor(float64(at.Sub(d.from)) / float64(d.step)))
}

// mergePairs merges each slot with an even number with the next slot.
func (d *downsampler) mergePairs() {
	merged := make([]slot, d.last()>>1-d.first>>1+1, sizing.MaxPoints)
	for i, s := range d.slots {
		merged[(d.first+i)>>1-d.first>>1].mergeMax(s)
	}
	d.slots, d.first, d.step = merged, d.first>>1, 2*d.step
}

func (s *slot) mergeMax(by slot) {
	s.memory, s.cpu, s.hasCPU = max(s.memory, by.memory), max(s.cpu, by.cpu), s.hasCPU || by.hasCPU
}

// series returns the downsampled usage, or nil if no sample has memory. A slot without usage, such as one without samples,
// repeats the previous slot. A slot with only memory or only CPU gets the missing value from the previous slot; at the start
// of the series it gets the first known value. Cores are rounded to thousandths. The CPU of the series is nil if all samples
// have 0 cores.
func (d *downsampler) series() *sizing.Series {
	s := &sizing.Series{Step: d.step}
	var peak slot
	previous := d.firstValues()
	for _, now := range d.slots {
		if now.memory == 0 && now.cpu == 0 {
			now = previous
		}
		if now.memory == 0 {
			now.memory = previous.memory
		}
		if !now.hasCPU {
			now.cpu = previous.cpu
		}
		s.Memory = append(s.Memory, int64(math.Ceil(now.memory)))
		s.CPU = append(s.CPU, math.Round(now.cpu*1000)/1000)
		peak.mergeMax(now)
		previous = now
	}
	if peak.memory == 0 {
		return nil
	}
	if peak.cpu == 0 {
		s.CPU = nil
	}
	return s
}

func (d *downsampler) firstValues() (first slot) {
	for _, s := range slices.Backward(d.slots) {
		if s.memory > 0 {
			first.memory = s.memory
		}
		if s.hasCPU {
			first.cpu, first.hasCPU = s.cpu, true
		}
	}
	return first
}
