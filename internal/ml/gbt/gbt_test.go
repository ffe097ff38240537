package gbt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/table"
)

func steps() *table.Table {
	t := &table.Table{Names: []string{"size"}}
	for i := range 40 {
		t.X = append(t.X, float64(i))
		t.Y = append(t.Y, float64(i/20*10))
	}
	return t
}

func TestATreeFindsAStep(t *testing.T) {
	r, err := gbt.FitRegression(steps(), nil, gbt.Config{})
	require.NoError(t, err)
	require.InDelta(t, 0, r.Predict([]float64{3}), 0.01)
	require.InDelta(t, 10, r.Predict([]float64{33}), 0.01)
}

func TestEncodeThenDecodeIsTheIdentity(t *testing.T) {
	c, err := gbt.FitClassifier(wave(300, 5, 3, 1), nil, 3, gbt.Config{Rounds: 10})
	require.NoError(t, err)
	data, err := c.MarshalBinary()
	require.NoError(t, err)
	var d gbt.Classifier
	require.NoError(t, d.UnmarshalBinary(data))
	again, err := d.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, data, again)
}
