package experiment

// HeldBack returns the holdout rows of a stratified split.
func HeldBack(bin []int, bins int, seed uint64) []int { return stratified(bin, bins, seed).test }
