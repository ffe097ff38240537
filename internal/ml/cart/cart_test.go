package cart_test

import (
	"testing"

	"github.com/loadaware/loadaware/internal/ml/cart"
	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/classify/classifytest"
)

func TestCART(t *testing.T) { classifytest.Run(t, classify.Binned{Family: cart.Family{}}) }
