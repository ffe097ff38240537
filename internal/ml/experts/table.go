package experts

// table is what a spread of residuals says of every row alike. It is read once when
// the residuals change, so that answers need not.
type table struct {
	tail  float64             // tailOf
	upper [len(risks)]float64 // what is exceeded at each of risks
}

func (t *table) read(sorted []float64) {
	t.tail = tailOf(sorted)
	for i, risk := range risks {
		t.upper[i] = upper(sorted, risk, t.tail)
	}
}

// readTables follows a change of the windows.
func (x *Experts) readTables() {
	for source := range x.tables {
		x.tables[source].read(x.windows[source])
	}
}
