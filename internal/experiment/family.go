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

// These families use the model of the service instead of a classifier. Final chooses the bin with the least expected cost,
// where an over-estimate costs 1 and an under-estimate costs the penalty; it ignores the risk target. Serving chooses the
// bin of the memory that the service would grant.
const (
	Final   = "final"
	Serving = "serving"
)

// family is one kind of classifier and the rule that turns its probabilities into a bin.
type family struct {
	name   string
	levels bool                                        // whether it, or a part of it, learns log peaks instead of bins; see incompatibility
	space  tune.Space                                  // of the parameter search; nil: no parameters
	build  func(params []float64) classify.LevelFamily // params are values of space; nil: the defaults
	decide func(p []float64, penalty float64) int      // returns a bin, given the probability of each bin
}

// treeSpace is the search space of boosted trees. Its bounds keep a search of 30
// trials on 3 folds of 1,500 rows within seconds.
var treeSpace = tune.Space{
	{Name: "rounds", Low: 20, High: 150, Log: true, Integer: true},
	{Name: "learning_rate", Low: 0.03, High: 0.3, Log: true},
	{Name: "max_depth", Low: 2, High: 6, Integer: true},
	{Name: "min_leaf_rows", Low: 1, High: 30, Log: true, Integer: true},
	{Name: "lambda", Low: 0.1, High: 30, Log: true},
	{Name: "subsample", Low: 0.5, High: 1},
}

// ridgeSpace is the last dimension of the search space of regression; the others are those of treeSpace.
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
	return classify.BinnedFamily{Family: classify.SoftmaxTrees{Trees: trees(params)}}
}

func regression(params []float64) classify.LevelFamily {
	r := classify.Regression{Trees: trees(params)}
	if params != nil {
		r.Ridge = linear.Config{Penalty: params[len(treeSpace)]}
	}
	return r
}

// families lists all classifiers in report order.
func families() []family {
	regressionSpace := append(slices.Clone(treeSpace), ridgeSpace)
	return []family{
		{name: "prior", decide: score.Decide, build: func([]float64) classify.LevelFamily {
			return classify.BinnedFamily{Family: classify.Prior{}}
		}},
		{name: "cart", decide: score.Decide,
			space: tune.Space{{Name: "max_depth", Low: 2, High: 12, Integer: true}},
			build: func(params []float64) classify.LevelFamily {
				c := classify.CART{}
				if params != nil {
					c.Tree = cart.Config{MaxDepth: int(params[0])}
				}
				return classify.BinnedFamily{Family: c}
			}},
		{name: "svm", decide: score.Decide,
			space: tune.Space{{Name: "c", Low: 0.1, High: 1000, Log: true}, {Name: "gamma", Low: 1e-4, High: 1, Log: true}},
			build: func(params []float64) classify.LevelFamily {
				s := classify.SVM{}
				if params != nil {
					s.Machine = svm.Config{C: params[0], Gamma: params[1]}
				}
				return classify.BinnedFamily{Family: s}
			}},
		{name: "softmax-trees", decide: score.Decide, space: treeSpace, build: softmax},
		{name: "softmax-trees-argmax", decide: argmax, space: treeSpace, build: softmax},
		{name: "regression", levels: true, decide: score.Decide, space: regressionSpace, build: regression},
		{name: "regression+softmax-trees", levels: true, decide: score.Decide, space: regressionSpace,
			build: func(params []float64) classify.LevelFamily {
				return classify.Average{regression(params), softmax(params)}
			}},
	}
}

// argmax returns the most probable bin and ignores the cost of errors. It is the usual
// decision rule of classifiers and serves as a baseline.
func argmax(p []float64, _ float64) int { return slices.Index(p, slices.Max(p)) }

// Families returns the names of all families in report order.
func Families() []string {
	var names []string
	for _, f := range families() {
		names = append(names, f.name)
	}
	return append(names, Final, Serving)
}

// familyOf returns the classifier with a name. It returns false for Final, Serving and unknown names.
func familyOf(name string) (family, bool) {
	all := families()
	i := slices.IndexFunc(all, func(f family) bool { return f.name == name })
	if i < 0 {
		return family{}, false
	}
	return all[i], true
}
