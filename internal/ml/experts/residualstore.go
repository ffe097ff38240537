package experts

import "math"

// Entry is one row of the residual store: the predictions and the observed peak.
type Entry struct {
	_     struct{} `cbor:",toarray"` // compact, because thousands are stored
	Point StoredPoint
	Log   float64 // log of the peak
}

// StoredPoint has the fields of a Point that the residual store keeps. It contains no pointers, so that the garbage collector
// does not scan it.
type StoredPoint struct {
	_        struct{} `cbor:",toarray"`
	Level    [ModelCount]float64
	Scale    [ScaleCount]float64
	Duration float64
}

func newEntry(p *Point, log float64) Entry {
	return Entry{Point: StoredPoint{Level: p.Level, Scale: p.Scale, Duration: p.Duration}, Log: log}
}

func (e *Entry) residual() float64 { return e.Log - e.Point.Level[LineTrees] }

func (e *Entry) byteResidual(model int) float64 {
	return math.Exp(e.Log) - math.Exp(e.Point.Level[model])
}

// WithResiduals returns a copy of x with other residuals: `points` and `logs` have the predictions and the log peaks of
// rows, oldest first. The residual store of the copy gets the newest Config.StoredRows of these rows. The copy shares memory
// with x, so it can answer but must not learn. Its residual distributions have all stored rows, not only the newest
// Config.WindowRows, because the order of the rows says nothing about the rows of a random holdout.
func (x *Experts) WithResiduals(points []Point, logs []float64) *Experts {
	c := *x
	c.Rows, c.At, c.LowOutliers, c.SquaredErrors = nil, 0, nil, [ModelCount]float64{}
	for i := range points {
		for k, level := range points[i].Level {
			c.SquaredErrors[k] += (logs[i] - level) * (logs[i] - level)
		}
		if len(points)-i <= x.config.StoredRows {
			c.Rows = append(c.Rows, newEntry(&points[i], logs[i]))
		}
	}
	c.isExchangeable = true
	config := x.config
	config.WindowRows = config.StoredRows
	c.Rebuild(config)
	return &c
}

func (x *Experts) appendRow(e Entry) {
	n := len(x.Rows)
	if n >= x.config.WindowRows {
		x.removeFromWindows(uint16((x.At + n - x.config.WindowRows) % n))
	}
	at := n
	if n < min(x.config.StoredRows, maxStoredRows) {
		x.Rows = append(x.Rows, e)
	} else {
		at = x.At
		for k := range x.levels {
			x.levels[k].remove(x.Rows, at)
		}
		x.Rows[at] = e
		x.At = (at + 1) % n
	}
	for k := range ModelCount {
		for _, d := range windowed {
			x.insert(k*distributionCount+d, uint16(at))
		}
		x.levels[k].insert(x.Rows, at)
	}
	x.updateTables()
}

// removeFromWindows removes the row at a position of the residual store from all windows. The caller passes the position of
// their oldest row, because the windows are sorted by value and do not know which of their rows is the oldest.
func (x *Experts) removeFromWindows(at uint16) {
	for k := range ModelCount {
		for _, d := range windowed {
			x.remove(k*distributionCount+d, at)
		}
	}
}

// distribution returns the quantiles of the residual distribution of one pair (a model and one of its
// distributions) for a row, and the factor by which the caller must multiply them.
func (x *Experts) distribution(p *Point, model, dist int, s *Scratch) (t *quantileTable, scale float64) {
	switch dist {
	case nearestRows:
		near := &s.near[model]
		x.levels[model].nearest(x.Rows, p.Level[model], x.config.NearRows, near)
		return &near.table, 1
	case treeScaled:
		scale = p.Scale[TreeScale]
	case sameScaled:
		scale = p.Scale[SameScale]
	default:
		scale = 1
	}
	return &x.tables[model*distributionCount+dist], scale
}

// residuals returns the residuals of a pair. The caller has called x.distribution with the same `model`, `dist` and `s`:
// for nearestRows that call selects the residuals.
func (x *Experts) residuals(model, dist int, s *Scratch) ascending {
	if dist == nearestRows {
		return ascending{values: s.near[model].sorted}
	}
	return x.sorted(model*distributionCount + dist)
}

func (x *Experts) nearScaled(p *Point, model int, s *Scratch) ascending {
	near := &s.near[model]
	x.levels[model].nearest(x.Rows, p.Level[model], x.config.NearRows, near)
	return ascending{values: x.levels[model].scaled(x.Rows, near)}
}
