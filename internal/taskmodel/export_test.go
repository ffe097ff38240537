package taskmodel

// Rows returns the total weight of the rows in the line, the ridge regression.
func (m *models) Rows() float64 { return m.line.Rows() }

// SameTrees reports whether two models share the memory of their trees.
func (m *Model) SameTrees(other *Model) bool { return m.Models.Trees == other.Models.Trees }

// ScreenedVersion is the version of the blob of a model with screened columns.
const ScreenedVersion = screenedVersion
