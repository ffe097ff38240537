package classify_test

import (
	"testing"

	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/classify/classifytest"
	"github.com/loadaware/loadaware/internal/ml/gbt"
)

var (
	fewRounds = gbt.Config{Rounds: 40, LearningRate: 0.2} // few rounds are enough for the conformance suite
	softmax   = classify.BinnedFamily{Family: classify.SoftmaxTrees{Trees: fewRounds}}
)

func TestPriorMeetsTheContract(t *testing.T) {
	classifytest.RunContract(t, classify.BinnedFamily{Family: classify.Prior{}})
}
func TestCART(t *testing.T)         { classifytest.Run(t, classify.BinnedFamily{Family: classify.CART{}}) }
func TestSoftmaxTrees(t *testing.T) { classifytest.Run(t, softmax) }
func TestSVM(t *testing.T)          { classifytest.Run(t, classify.BinnedFamily{Family: classify.SVM{}}) }
func TestRegression(t *testing.T)   { classifytest.Run(t, classify.Regression{Trees: fewRounds}) }
func TestAverage(t *testing.T) {
	classifytest.Run(t, classify.Average{classify.Regression{Trees: fewRounds}, softmax})
}
