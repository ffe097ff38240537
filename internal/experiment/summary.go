package experiment

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sjwhitworth/golearn/evaluation"

	"github.com/loadaware/loadaware/internal/ml/cart"
)

// SeedRange holds the mean, the smallest and the largest value of a figure over the seeds.
type SeedRange struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// seedRange returns the range of at least one value.
func seedRange(values []float64) SeedRange {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return SeedRange{sum / float64(len(values)), slices.Min(values), slices.Max(values)}
}

// Summary holds the figures of one family on one task, with one binning and one method of oversampling, over the seeds. The
// comments of Row explain the figures.
type Summary struct {
	Task         string    `json:"task"`
	BinsGB       []float64 `json:"bins_gb"`
	Family       string    `json:"family"`
	Oversampling string    `json:"oversampling"`
	Accuracy     SeedRange `json:"accuracy"`
	UScore       SeedRange `json:"u_score"`
	URate        SeedRange `json:"u_rate"`
	Estimated    SeedRange `json:"estimated"`
	Optimal      float64   `json:"optimal"`
	TimeOptimal  float64   `json:"time_optimal"`
}

func summaries(rows []Row) []Summary {
	var out []Summary
	for _, g := range Groups(rows) {
		over := func(figure func(*Row) float64) SeedRange {
			values := make([]float64, len(g.Rows))
			for i := range g.Rows {
				values[i] = figure(&g.Rows[i])
			}
			return seedRange(values)
		}
		first := &g.Rows[0]
		out = append(out, Summary{
			Task: first.Task, BinsGB: first.BinsGB, Family: first.Family, Oversampling: first.Oversampling,
			Accuracy: over(func(r *Row) float64 { return r.Accuracy }), UScore: over(func(r *Row) float64 { return r.UScore }),
			URate: over(func(r *Row) float64 { return r.URate }), Estimated: over(func(r *Row) float64 { return r.Estimated }),
			Optimal: first.Optimal, TimeOptimal: first.TimeOptimal,
		})
	}
	return out
}

// Confusion is the confusion matrix of the held-out rows of all seeds. Package evaluation of golearn computes it.
type Confusion struct {
	Task         string     `json:"task"`
	BinsGB       []float64  `json:"bins_gb"`
	Family       string     `json:"family"`
	Oversampling string     `json:"oversampling"`
	Counts       [][]int    `json:"counts"`    // [actual][predicted], without the rows whose peaks are above the last edge
	Precision    []*float64 `json:"precision"` // by bin; nil if the bin was never predicted
	Recall       []*float64 `json:"recall"`    // by bin; nil if the bin has no rows
}

func confusion(results []*result) (Confusion, error) {
	first := results[0]
	c := Confusion{Task: first.Task, BinsGB: first.BinsGB, Family: first.Family, Oversampling: first.Oversampling}
	var actual, predicted []int
	for _, p := range results {
		actual, predicted = append(actual, p.actual...), append(predicted, p.predicted...)
	}
	matrix, err := cart.Evaluation(actual, predicted)
	if err != nil {
		return c, fmt.Errorf("compute the confusion matrix of %s: %w", first.Family, err)
	}
	for a := range c.BinsGB {
		class := strconv.Itoa(a)
		counts := make([]int, len(c.BinsGB))
		for p := range counts {
			counts[p] = matrix[class][strconv.Itoa(p)]
		}
		c.Counts = append(c.Counts, counts)
		c.Precision = append(c.Precision, finiteOrNil(evaluation.GetPrecision(class, matrix)))
		c.Recall = append(c.Recall, finiteOrNil(evaluation.GetRecall(class, matrix)))
	}
	return c, nil
}

func finiteOrNil(share float64) *float64 {
	if share-share != 0 {
		return nil
	}
	return &share
}
