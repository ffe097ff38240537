package taskmodel

// Rows returns the weight of the rows that the line was fitted on.
func (m *models) Rows() float64 { return m.line.Rows() }
