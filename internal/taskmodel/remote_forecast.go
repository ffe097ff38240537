package taskmodel

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// remoteForecast predicts a row with an input that is nearer to a remote number than to its range. It comes from the runs with
// remote numbers within noRiskFactor of this input or, if there are none, from the run with the nearest remote number. Their
// peaks and run times are moved along the trends to the row. A remoteForecast contains no prediction of a model, because the
// models follow the many other rows.
type remoteForecast struct {
	level         float64          // largest log peak of the newest runs; 0: no forecast
	margin        float64          // log margin for the change of the trend from the run with this peak to the row
	spread        distuv.StudentsT // of the log peak
	hasEnoughRuns bool             // there are at least minNearRemote runs within noRiskFactor

	seconds       float64 // mean log run time of the newest runs; 0: unknown
	secondsMargin float64 // as margin, for the run time
}

// The prior of the spread counts as spreadRows runs. Its standard deviation is deviationFactor times the geometric mean of the
// magnitudes of the residuals. For a normal distribution this ratio is about 1.9.
const (
	spreadRows      = 4
	deviationFactor = 2
)

func (f *remoteForecast) isKnown() bool { return f.level > 0 }

// forecastRemote returns the forecast for a row. `nearest` is the row with its inputs moved to the nearest remote numbers (see
// nearestRemote). If several inputs are near remote numbers, the largest forecast counts.
func (m *models) forecastRemote(cells, nearest []sizing.Value) (largest remoteForecast) {
	t := &m.PeakTrend
	for j := t.firstInput(); j < len(t.Ranges); j++ {
		if i := t.nearestRemoteOf(j, cells); i >= 0 {
			if f := m.forecastFrom(i, cells, slices.Clone(nearest)); f.level > largest.level {
				largest = f
			}
		}
	}
	return largest
}

// forecastFrom returns the forecast from the remote numbers near an input of the row; number i is the nearest of them.
// forecastFrom overwrites `nearest`.
func (m *models) forecastFrom(i int, cells, nearest []sizing.Value) (f remoteForecast) {
	t, runTime := &m.PeakTrend, m.runTimeTrendOf(cells)
	j := t.Remote[i].Input
	x, _ := t.value(j, cells)
	runs, timed, mean, squares := 0.0, 0.0, 0.0, 0.0
	add := func(r *remoteNumber) {
		t.setValue(j, nearest, r.Value)
		c := t.change(cells, nearest)
		y := r.Peak + c.total
		if runs++; runs <= newestNear && y > f.level {
			f.level, f.margin = y, math.Abs(c.total)*c.margin
		}
		d := y - mean
		mean += d / runs
		squares += d * (y - mean)
		if !math.IsNaN(r.Seconds) && timed < newestNear {
			c := runTime.change(cells, nearest)
			timed++
			f.seconds += (r.Seconds + c.total - f.seconds) / timed
			f.secondsMargin += (math.Abs(c.total)*c.margin - f.secondsMargin) / timed
		}
	}
	for k := len(t.Remote) - 1; k >= 0; k-- {
		if t.Remote[k].Input == j && t.isNear(k, x) {
			add(&t.Remote[k])
		}
	}
	f.hasEnoughRuns = runs >= minNearRemote
	if runs == 0 {
		add(&t.Remote[i])
	}
	deviation := deviationFactor * math.Exp(m.Base)
	nu := spreadRows + runs - 1
	f.spread = distuv.StudentsT{Mu: mean, Sigma: math.Sqrt((spreadRows*deviation*deviation + squares) / nu * (1 + 1/runs)), Nu: nu}
	return f
}

// least returns the smallest amount in bytes for a row with this forecast. It is the larger of two amounts: the largest of the
// newest peaks, and the quantile of the spread that a peak exceeds with probability `risk`. The quantile counts up to
// noRiskFactor times this peak.
func (f *remoteForecast) least(risk float64) float64 {
	level := max(f.level, min(f.level+math.Log(noRiskFactor), f.spread.Quantile(1-risk)))
	return math.Exp(min(level, math.Log(float64(maxPossible))))
}

func (m *Model) raiseToRemote(a *experts.Answer, p *experts.Point, q *Question, b *buffers) {
	f := &b.extrapolation.remote
	if least := f.least(q.RiskTarget); least > a.Amount {
		b.extrapolation.isRaised, b.usesRequest = true, false
		a.Amount, a.Promised = least, min(a.Promised, m.exceedanceProb(p, least, b))
	}
	if f.hasEnoughRuns {
		a.Promised = experts.Probability(f.spread.Survival(math.Log(a.Amount)))
	}
}
