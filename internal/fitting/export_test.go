package fitting

// Rows is the weight of what the line was fitted on.
func (m *models) Rows() float64 { return m.line.Rows() }
