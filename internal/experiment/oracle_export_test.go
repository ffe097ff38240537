package experiment

// HeldBack are the rows that a stratified split holds back.
func HeldBack(bin []int, bins int, seed uint64) []int { return stratified(bin, bins, seed).test }
