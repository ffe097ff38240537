package tracking

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func TestRowsThatCannotBeDecodedAreRejected(t *testing.T) {
	_, err := newRun(&store.Run{ID: 5, Rows: []byte(`{"rows": 1}`)})
	assert.ErrorContains(t, err, "decode the rows of experiment 5")
	assert.Equal(t, sizing.Internal, sizing.KindOf(err))
}

func TestComparisonWarnsOfDifferentPenalties(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want []string
	}{
		"equal penalties":       {`{"penalty": 10}`, `{"penalty": 10}`, nil},
		"different penalties":   {`{"penalty": 10}`, `{"penalty": 2.5}`, []string{"warning: the u scores use different penalties, 10 and 2.5"}},
		"no recorded penalties": {`{}`, `{}`, nil},
		"one recorded penalty":  {`{"penalty": 10}`, `{}`, nil},
	} {
		warnings, err := Compare(&Run{Report: json.RawMessage(c.a)}, &Run{Report: json.RawMessage(c.b)}).warnings()
		require.NoError(t, err, name)
		assert.Equal(t, c.want, warnings, name)
	}
}
