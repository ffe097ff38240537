package experts

import "math"

// Entry is one row of the ledger: the predictions and the observed peak.
type Entry struct {
	_     struct{} `cbor:",toarray"` // compact, because thousands are stored
	Point LedgerPoint
	Log   float64 // log of the peak
}

// LedgerPoint is the part of a Point that the ledger keeps. It has no pointers, so that the
// garbage collector does not scan ledgers.
type LedgerPoint struct {
	_        struct{} `cbor:",toarray"`
	Level    [ModelCount]float64
	Scale    [ScaleCount]float64
	Duration float64
}

// newEntry copies the part of a point that the ledger keeps.
func newEntry(p *Point, log float64) Entry {
	return Entry{Point: LedgerPoint{Level: p.Level, Scale: p.Scale, Duration: p.Duration}, Log: log}
}

// residual returns the log residual of LineTrees.
func (e *Entry) residual() float64 { return e.Log - e.Point.Level[LineTrees] }

// residuals returns the residual of one model for every distribution.
func (e *Entry) residuals(model int) (r [distributionCount]float64) {
	level := e.Point.Level[model]
	r[allRows] = e.Log - level
	r[treeScaled] = r[allRows] / e.Point.Scale[TreeScale]
	r[sameScaled] = r[allRows] / e.Point.Scale[SameScale]
	r[linearResiduals] = math.Exp(e.Log) - math.Exp(level)
	return r
}

// appendRow adds a row to the ledger and to every residual distribution.
func (x *Experts) appendRow(e Entry) {
	n := len(x.Ledger)
	if n >= x.config.WindowRows {
		x.removeFromWindows(&x.Ledger[(x.At+n-x.config.WindowRows)%n])
	}
	at := n
	if n < min(x.config.LedgerRows, maxLedgerRows) {
		x.Ledger = append(x.Ledger, e)
	} else {
		at = x.At
		for k := range x.levels {
			x.levels[k].remove(x.Ledger, at)
		}
		x.Ledger[at] = e
		x.At = (at + 1) % n
	}
	for k := range ModelCount {
		residuals := e.residuals(k)
		for _, d := range windowed {
			x.windows[k*distributionCount+d].insert(residuals[d])
		}
		x.levels[k].insert(x.Ledger, at)
	}
	x.updateTables()
}

// removeFromWindows removes the residuals of the oldest row of the windows. The windows are
// sorted by value; the ledger keeps the order of arrival.
func (x *Experts) removeFromWindows(e *Entry) {
	for k := range ModelCount {
		residuals := e.residuals(k)
		for _, d := range windowed {
			x.windows[k*distributionCount+d].remove(residuals[d])
		}
	}
}

// distribution returns the sorted residuals of one pair for a row, their quantiles, and
// the scale to multiply them by.
func (x *Experts) distribution(p *Point, model, dist int, s *Scratch) (residuals []float64, t *quantileTable, scale float64) {
	pair := model*distributionCount + dist
	switch dist {
	case nearestRows:
		near := &s.near[model]
		x.levels[model].nearest(x.Ledger, p.Level[model], x.config.NearRows, near)
		return near.sorted, &near.table, 1
	case treeScaled:
		return x.windows[pair], &x.tables[pair], p.Scale[TreeScale]
	case sameScaled:
		return x.windows[pair], &x.tables[pair], p.Scale[SameScale]
	}
	return x.windows[pair], &x.tables[pair], 1
}
