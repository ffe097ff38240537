package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
)

// restart predicts runs with the features of much older runs, such as month 1 after month 12. In the first year the month rises
// with time. So if the peaks grow, their history does not show whether they depend on the month or on time, and for 1 January
// the models would predict the peaks of the last January. Until a run shows that the peaks depend on the month, restart assumes
// that they depend on time.
type restart struct {
	Position   *linear.Ridge    // position of a row in the history, from 0 to Rows, predicted by the inputs of the line
	Rows       float64          // number of rows of the fit
	Growth     float64          // of the log peak per row; 0: the peaks do not grow
	TimeGrowth float64          // of the log run time per row; 0: the run times do not grow
	Longest    float64          // largest log run time
	Refuted    bool             // a run with the features of much older runs had a peak like theirs
	Calendar   []calendarNumber // not empty
}

// Position must explain startShare of the variance of the positions. After a restart, the features explain less from fit to fit,
// as the models learn the effect of time; keepShare is the limit then.
const (
	minRestartRows = 24 // smallest number of rows of the fit, and of rows with a feature in which a number of the calendar is searched
	startShare     = 0.8
	keepShare      = 0.5
	minGrowthT     = 4.0 // smallest t-statistic of a growth
	minRestartAge  = 0.5 // smallest age of the runs with such features, as a share of the history
)

// fitRestart returns nil if no feature has a number of the calendar, if the features do not show when a row ran, or if neither the
// peaks nor the run times grow.
func (m *models) fitRestart(rows []row, y []float64, prev *models) (*restart, error) {
	seconds := make([]float64, len(rows))
	for i := range rows {
		if seconds[i] = math.Log1p(rows[i].Seconds); rows[i].Untimed {
			seconds[i] = m.LogSec
		}
	}
	s := &restart{Rows: float64(len(rows)), Growth: growthOf(y), TimeGrowth: growthOf(seconds)}
	s.Longest = slices.Max(seconds)
	freedom := s.Rows - 1 - float64(m.Enc.LineWidth)
	if len(rows) < minRestartRows || freedom <= 0 || s.Growth == 0 && s.TimeGrowth == 0 {
		return nil, nil
	}
	t := &table.Table{Names: make([]string, m.Enc.LineWidth), Y: indices(len(rows))}
	var tree []float64
	for i := range rows {
		t.X, tree = m.Enc.encode(rows[i].Cells, t.X, tree[:0])
	}
	var err error
	if s.Position, err = linear.Fit(t, linear.Config{}); err != nil {
		return nil, err
	}
	squares := 0.0
	for i, at := range t.Y {
		off := s.Position.Predict(t.Row(i)) - at
		squares += off * off
	}
	least := startShare
	if prev != nil && prev.Restart != nil {
		least, s.Refuted = keepShare, prev.Restart.Refuted
	}
	if squares/freedom > (1-least)*sumOfSquares(t.Y)/(s.Rows-1) {
		return nil, nil
	}
	if s.Calendar = findCalendarNumbers(m.Enc.Columns, rows); s.Calendar == nil {
		return nil, nil
	}
	return s, nil
}

func indices(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	return x
}

// growthOf returns the slope of y per row by least squares; 0 if it is negative or not significant.
func growthOf(y []float64) float64 {
	n, x := float64(len(y)), indices(len(y))
	share := determination(x, y)
	if share*(n-2) < minGrowthT*minGrowthT*(1-share) {
		return 0
	}
	products := 0.0
	for i, v := range y {
		products += (x[i] - (n-1)/2) * v
	}
	return max(0, products/sumOfSquares(x))
}

// age returns the number of rows since those with features like an encoded row; 0: no restart.
func (s *restart) age(line []float64) float64 {
	if s == nil || s.Refuted {
		return 0
	}
	age := s.Rows - s.Position.Predict(line)
	if !(age > minRestartAge*s.Rows) { // also if it is NaN
		return 0
	}
	return min(age, s.Rows)
}

// raiseRestart raises the prediction for a row with the features of much older rows by the growth since then, at
// most to the largest peak and the longest run time. b holds the encoded row.
func (m *models) raiseRestart(cells []sizing.Value, p *experts.Point, b *buffers) {
	b.restartRise = 0
	if m.ridges == nil || p.Imputed {
		return
	}
	age := m.Restart.age(b.line)
	if age == 0 || !m.Restart.isRestarted(cells) || m.Enc.hasUnfitted(cells) {
		return
	}
	lineTrees := p.Level[experts.LineTrees]
	raised := max(lineTrees, min(m.High, lineTrees+m.Restart.Growth*age))
	b.restartRise = raised - lineTrees
	for k := range p.Level {
		p.Level[k] = max(p.Level[k], raised)
	}
	p.Duration = max(p.Duration, min(m.Restart.Longest, p.Duration+m.Restart.TimeGrowth*age))
}

// hasUnfitted reports whether a row has a category value that had no input of the line at the last fit. The position of such a row
// is unknown.
func (e *encoder) hasUnfitted(cells []sizing.Value) bool {
	for j := range e.Columns {
		c := &e.Columns[j]
		if c.Kind != sizing.Category || cells[j].Kind != sizing.Category || c.LineStatistic || c.hasTextColumns() {
			continue
		}
		if l := c.find(cells[j].Text); l == nil || l.OneHot < 0 {
			return true
		}
	}
	return false
}

// learnRestart compares the log peak y of a row with two predictions for it: with the growth (`predicted`) and without it. If
// they differ by more than outsideFactor and y is nearer to the second one, no later prediction is raised. b comes from the
// prediction `predicted`.
func (m *models) learnRestart(y, predicted float64, b *buffers) {
	if m.Restart != nil && b.restartRise > math.Log(outsideFactor) && y < predicted-b.restartRise/2 {
		m.Restart.Refuted = true
	}
}

func (m *models) hasValidRestart() bool {
	if m.Restart == nil {
		return true
	}
	for _, c := range m.Restart.Calendar {
		if c.Column < 0 || c.Column >= len(m.Enc.Columns) || c.Index < 0 {
			return false
		}
	}
	return m.Restart.Position != nil && m.Restart.Position.Cols() == m.Enc.LineWidth
}
