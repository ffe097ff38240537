package experiment

import (
	"slices"

	"github.com/loadaware/loadaware/internal/ml/cart"
	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/ml/score"
	"github.com/loadaware/loadaware/internal/ml/svm"
	"github.com/loadaware/loadaware/internal/ml/tune"
)

// The families that are no classifiers but serving itself. Final decides by
// serving's own probabilities, where an over-estimate costs 1 and an under-estimate
// the penalty, without a risk cap; Serving is what would be granted.
const (
	Final   = "final"
	Serving = "serving"
)

// family is one kind of classifier, and how its probabilities are made a decision.
type family struct {
	name   string
	levels bool // learns levels, not bins: it cannot learn from rows that only have a bin
	space  tune.Space
	of     func(params []float64) classify.LevelFamily // nil: the defaults
	decide func(p []float64, penalty float64) int
}

// treeSpace is where boosted trees are searched. The bounds keep a search of 30
// trials on 3 folds of 1,500 rows within seconds.
var treeSpace = tune.Space{
	{Name: "rounds", Low: 20, High: 150, Log: true, Whole: true},
	{Name: "learning_rate", Low: 0.03, High: 0.3, Log: true},
	{Name: "max_depth", Low: 2, High: 6, Whole: true},
	{Name: "min_leaf_rows", Low: 1, High: 30, Log: true, Whole: true},
	{Name: "lambda", Low: 0.1, High: 30, Log: true},
	{Name: "subsample", Low: 0.5, High: 1},
}

var ridgeSpace = tune.Dimension{Name: "ridge_penalty", Low: 0.01, High: 100, Log: true}

func trees(params []float64) gbt.Config {
	if params == nil {
		return gbt.Config{}
	}
	return gbt.Config{
		Rounds: int(params[0]), LearningRate: params[1], MaxDepth: int(params[2]),
		MinLeafRows: int(params[3]), Lambda: params[4], Subsample: params[5],
	}
}

func softmax(params []float64) classify.LevelFamily {
	return classify.Binned{Family: classify.SoftmaxTrees{Trees: trees(params)}}
}

func regression(params []float64) classify.LevelFamily {
	r := classify.Regression{Trees: trees(params)}
	if params != nil {
		r.Ridge = linear.Config{Penalty: params[len(treeSpace)]}
	}
	return r
}

// families are all classifiers, in the order of reports.
func families() []family {
	regressionSpace := append(slices.Clone(treeSpace), ridgeSpace)
	return []family{
		{name: "prior", decide: score.Decide, of: func([]float64) classify.LevelFamily {
			return classify.Binned{Family: classify.Prior{}}
		}},
		{name: "cart", decide: score.Decide,
			space: tune.Space{{Name: "max_depth", Low: 2, High: 12, Whole: true}},
			of: func(params []float64) classify.LevelFamily {
				c := classify.CART{}
				if params != nil {
					c.Tree = cart.Config{MaxDepth: int(params[0])}
				}
				return classify.Binned{Family: c}
			}},
		{name: "svm", decide: score.Decide,
			space: tune.Space{{Name: "c", Low: 0.1, High: 1000, Log: true}, {Name: "gamma", Low: 1e-4, High: 1, Log: true}},
			of: func(params []float64) classify.LevelFamily {
				s := classify.SVM{}
				if params != nil {
					s.Machine = svm.Config{C: params[0], Gamma: params[1]}
				}
				return classify.Binned{Family: s}
			}},
		{name: "softmax-trees", decide: score.Decide, space: treeSpace, of: softmax},
		{name: "softmax-trees-argmax", decide: likeliest, space: treeSpace, of: softmax},
		{name: "regression", levels: true, decide: score.Decide, space: regressionSpace, of: regression},
		{name: "regression+softmax-trees", levels: true, decide: score.Decide, space: regressionSpace,
			of: func(params []float64) classify.LevelFamily {
				return classify.Average{regression(params), softmax(params)}
			}},
	}
}

// likeliest is the study's decision: the bin of the highest probability, whatever
// an error costs. It is there to compare with.
func likeliest(p []float64, _ float64) int { return slices.Index(p, slices.Max(p)) }

// Families are all that can be tried, in the order of reports.
func Families() []string {
	var names []string
	for _, f := range families() {
		names = append(names, f.name)
	}
	return append(names, Final, Serving)
}

// familyOf finds a classifier by its name; false for Final and Serving.
func familyOf(name string) (family, bool) {
	all := families()
	i := slices.IndexFunc(all, func(f family) bool { return f.name == name })
	if i < 0 {
		return family{}, false
	}
	return all[i], true
}
