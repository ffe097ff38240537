package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Run times and CPU use are predicted by ridge regressions, which know of a date only the weekend, the season and the peak days
// (peakDays). cycleEffects are what the position of a date in cycles of the calendar adds, such as the effect of each weekday:
// random intercepts of the errors of a ridge regression (Laird and Ware 1982), by position, in log units. A cycle gets effects
// only if earlier periods (such as days or hours, see calendarCycle) predict later ones better with them. The peak needs none,
// because its trees know these positions.
type cycleEffects []cycleEffect

type cycleEffect struct {
	Column    int       // of the date in the encoding
	Cycle     int       // index in calendarCycles
	LocalTime bool      `cbor:",omitempty"` // the positions are in the local time of the dates, otherwise in UTC
	Effects   []float64 // by position
}

const (
	maxCycles       = 3    // largest number of cycles of one prediction; further ones would mostly be noise
	minCycleSpread  = 0.02 // smallest difference between the largest and the smallest mean error of a position, in log units; a smaller one changes no answer noticeably
	minCyclePeriods = 0.01 // lower bound of the shrinkage of an effect towards zero, as a number of periods
	cyclePenalty    = 2.0  // penalty of the effects of a cycle, in units of the logarithm of the number of periods: that of two parameters
	cycleMemory     = 8    // periods of a position after which the oldest lose weight in its effect; with fewer, effects follow changes sooner
)

func (m *models) fitCycles(rows []row) {
	if !slices.ContainsFunc(m.Enc.Columns, func(c column) bool { return c.Kind == sizing.Date }) {
		return
	}
	var seconds, cores cycleErrors
	var x, tree []float64
	for i := range rows {
		r := &rows[i]
		x, tree = m.Enc.encode(r.Cells, x[:0], tree[:0])
		if !r.Untimed {
			seconds.add(r.Cells, math.Log1p(r.Seconds)-m.lineRunTime(x))
		}
		if r.Cores > 0 {
			cores.add(r.Cells, math.Log(r.Cores)-m.ridges[logCores].Predict(x))
		}
	}
	m.RunTimeCycles, m.CoreCycles = seconds.fit(m.Enc.Columns), cores.fit(m.Enc.Columns)
}

// cycleErrors are the errors of the predictions of some rows, in log units.
type cycleErrors struct {
	rows   [][]sizing.Value
	errors []float64
	dated  []datedRows // for each column of dates: its rows by local time and, if its offsets vary, also by UTC
}

func (e *cycleErrors) add(cells []sizing.Value, err float64) {
	e.rows, e.errors = append(e.rows, cells), append(e.errors, err)
}

// fit is a forward selection: each step chooses the cycle with the largest gain (see effectOf), and subtracts its effects from
// the errors.
func (e *cycleErrors) fit(columns []column) (chosen cycleEffects) {
	for j := range columns {
		if columns[j].Kind == sizing.Date {
			local := newDatedRows(j, e.rows, true)
			if e.dated = append(e.dated, local); local.hasOffsets {
				e.dated = append(e.dated, newDatedRows(j, e.rows, false))
			}
		}
	}
	for len(chosen) < maxCycles {
		best, found := e.best(chosen)
		if !found {
			break
		}
		chosen = append(chosen, best)
		for i, cells := range e.rows {
			e.errors[i] -= best.effect(cells)
		}
	}
	return chosen
}

func (e *cycleErrors) best(chosen cycleEffects) (best cycleEffect, found bool) {
	most := 0.0
	for i := range e.dated {
		for k := range calendarCycles {
			if chosen.has(e.dated[i].column, k) {
				continue
			}
			if effect, gain := e.effectOf(&e.dated[i], k); gain > most {
				best, most = effect, gain
			}
		}
	}
	return best, most > 0
}

// effectOf estimates the effects of a cycle of dates. gain is the reduction of the Bayesian information criterion if the
// effects of a period follow from earlier periods only; 0: the cycle has no effect.
func (e *cycleErrors) effectOf(d *datedRows, cycle int) (effect cycleEffect, gain float64) {
	means := d.periodMeans(e.errors, 0, &calendarCycles[cycle])
	t := testCycle(means)
	if !t.isSignificant() || t.spread < minCycleSpread || cycle == yearCycle && !t.isSeason() {
		return cycleEffect{}, 0
	}
	// The method of moments: F − 1 is the ratio of the variance of the effects to that of a mean of t.size periods.
	prior := max(minCyclePeriods, t.size/(t.f-1))
	effect = cycleEffect{Column: d.column, Cycle: cycle, LocalTime: d.isLocal, Effects: make([]float64, maxPositions)}
	var known [maxPositions]float64 // number of periods
	plain, remaining := 0.0, 0.0
	for _, p := range means {
		err := p.mean - effect.Effects[p.position]
		plain, remaining = plain+p.mean*p.mean, remaining+err*err
		known[p.position] = min(known[p.position]+1, cycleMemory)
		effect.Effects[p.position] += err / (known[p.position] + prior)
	}
	n := float64(len(means))
	return effect, max(0, n*math.Log(plain/remaining)-cyclePenalty*math.Log(n))
}

func (c *cycleEffect) effect(cells []sizing.Value) float64 {
	v := cells[c.Column]
	if v.Kind != sizing.Date {
		return 0
	}
	if at := int(calendarCycles[c.Cycle].position(clockDays(v, c.LocalTime))); at >= 0 && at < len(c.Effects) {
		return c.Effects[at]
	}
	return 0
}

func (c cycleEffects) effect(cells []sizing.Value) (sum float64) {
	for k := range c {
		sum += c[k].effect(cells)
	}
	return sum
}

func (c cycleEffects) has(column, cycle int) bool {
	return slices.ContainsFunc(c, func(e cycleEffect) bool { return e.Column == column && e.Cycle == cycle })
}

func (c cycleEffects) isLike(other cycleEffects) bool {
	return slices.EqualFunc(c, other, func(a, b cycleEffect) bool {
		return a.Column == b.Column && a.Cycle == b.Cycle && a.LocalTime == b.LocalTime
	})
}

func (m *models) hasLocalTime() bool {
	return slices.ContainsFunc(m.Enc.Columns, func(c column) bool { return c.LocalTime }) ||
		slices.ContainsFunc(slices.Concat(m.RunTimeCycles, m.CoreCycles), func(e cycleEffect) bool { return e.LocalTime })
}

func (m *models) hasValidCycles() bool {
	return !slices.ContainsFunc(slices.Concat(m.RunTimeCycles, m.CoreCycles), func(e cycleEffect) bool {
		return min(e.Column, e.Cycle) < 0 || e.Column >= len(m.Enc.Columns) || e.Cycle >= cycleCount
	})
}

func (c cycleEffects) bytes() int64 {
	size := sliceBytes(c)
	for k := range c {
		size += sliceBytes(c[k].Effects)
	}
	return size
}

// learnCycles evaluates predictions again on the fitted rows if the fit has chosen other cycles than the models before it.
// Without this, the large errors from before the cycle was known would stay in use for hundreds of runs: the CPU request, a
// 99th percentile, would stay too high, and the mean of the runs would keep too much weight in the run time (meanMixture).
func (m *Model) learnCycles(fitted *models, rows []row) {
	before := m.Models
	if before == nil {
		before = new(models)
	}
	if c := fitted.RunTimeCycles; len(c) > 0 && !c.isLike(before.RunTimeCycles) {
		m.relearnMixture(fitted, rows)
	}
	if c := fitted.CoreCycles; len(c) > 0 && fitted.CoreRows >= minCPULineRows && !c.isLike(before.CoreCycles) {
		m.relearnCores(fitted, rows)
	}
}

// relearnMixture replaces the mixture of the run time: the mean of the runs, and the errors by which the mixture weights this
// mean and the point prediction.
func (m *Model) relearnMixture(fitted *models, rows []row) {
	var mixture meanMixture
	var x, tree []float64
	for i := range rows {
		if r := &rows[i]; !r.Untimed && !fitted.Enc.isIncomplete(r.Cells) {
			x, tree = fitted.Enc.encode(r.Cells, x[:0], tree[:0])
			mixture.learn(math.Log1p(r.Seconds), fitted.pointRunTime(r.Cells, x, nil))
		}
	}
	m.DurationLevels.Mixture = mixture
}

// relearnCores replaces the losses of all CPU rules, and the residuals of those that use features.
func (m *Model) relearnCores(fitted *models, rows []row) {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var c CPUModel
	for i := range rows {
		r := &rows[i]
		if r.Cores == 0 || fitted.Enc.isIncomplete(r.Cells) {
			continue
		}
		b.line, b.tree = fitted.Enc.encode(r.Cells, b.line[:0], b.tree[:0])
		b.groupOf = nil
		levels := fitted.coreLevels(r.Cells, b)
		levels[sameCores] = levels[lineCores] // the groups have learned the row itself
		c.learn(&levels, r.Cores)
	}
	c.Residuals[anyCores] = m.CPU.Residuals[anyCores] // also has the uses of runs without a peak
	m.CPU = c
}
