package experiment

// Holdout returns the holdout rows of a stratified split.
func Holdout(bin []int, bins int, seed uint64) []int { return stratified(bin, bins, seed).test }
