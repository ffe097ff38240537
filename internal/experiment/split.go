package experiment

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Stratified and ByTime are the methods that select the holdout.
const (
	Stratified = "stratified" // 30 % of each bin, drawn by seed
	ByTime     = "time"       // the newest 30 %
)

// Splits returns the methods that select the holdout.
func Splits() []string { return []string{Stratified, ByTime} }

const trainShare = 0.7

// split holds the row numbers of the training rows and of the holdout. Both are ascending, which
// is the order of time.
type split struct{ train, test []int }

func byTime(n int) split {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	cut := int(math.Round(trainShare * float64(n)))
	return split{rows[:cut], rows[cut:]}
}

// stratified draws the training rows at random from each bin; bin[i] is the bin of row i.
func stratified(bin []int, bins int, seed uint64) split {
	rng := rand.New(rand.NewPCG(seed, 0))
	var s split
	for _, rows := range members(bin, bins) {
		rng.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		cut := int(math.Round(trainShare * float64(len(rows))))
		s.train, s.test = append(s.train, rows[:cut]...), append(s.test, rows[cut:]...)
	}
	slices.Sort(s.train)
	slices.Sort(s.test)
	return s
}

// folds shuffles the rows of each bin and deals them to k folds in turn, so each fold gets about the same share of each bin.
// In the split of a fold, test has the rows of the fold and train has the other rows.
func folds(bin []int, bins, k int, seed uint64) []split {
	rng := rand.New(rand.NewPCG(seed, 0xf01d))
	foldOf, assigned := make([]int, len(bin)), 0
	for _, rows := range members(bin, bins) {
		rng.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		for _, i := range rows {
			foldOf[i] = assigned % k
			assigned++
		}
	}
	out := make([]split, k)
	for f := range out {
		for i := range foldOf {
			if foldOf[i] == f {
				out[f].test = append(out[f].test, i)
			} else {
				out[f].train = append(out[f].train, i)
			}
		}
	}
	return out
}

func members(bin []int, bins int) [][]int {
	out := make([][]int, bins)
	for i, b := range bin {
		out[b] = append(out[b], i)
	}
	return out
}
