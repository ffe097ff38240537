package linear

// Explain adds to phi[players[j]] what column j contributes to the prediction. players[j] is the player to which column j
// belongs, an index in phi; a column with a negative player contributes nothing. Explain returns the prediction for the
// mean of every column. If phi is zero at first and no player is negative, Predict(x) = expected + Σ phi, up to rounding.
// The contributions are the Shapley values of a linear model (Štrumbelj & Kononenko 2014): a column outside the coalition
// has its mean value.
func (r *Ridge) Explain(x []float64, players []int, phi []float64) (expected float64) {
	for j, c := range r.coef {
		if d := x[j] - r.mean[j]; finite(d) && players[j] >= 0 {
			phi[players[j]] += c * d
		}
	}
	return r.level
}
