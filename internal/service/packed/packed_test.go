package packed

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestFeaturesAreReadBackBitForBit(t *testing.T) {
	for _, want := range []sizing.Features{
		nil,
		{},
		{"zero value": {}, "number": sizing.NumberValue(-math.MaxFloat64), "bool": sizing.BoolValue(true)},
		{"": sizing.TextValue(""), "date": sizing.TextValue("2020-01-03"), "amount": sizing.TextValue("2.5 GB"), "text ü\x00": sizing.TextValue("☃")},
	} {
		encoded := Reader(AppendFeatures(nil, want))
		assert.Equal(t, want, encoded.Features())
		assert.Equal(t, want, encoded.Features(), "Features does not consume the reader")
	}
	negativeZero := Reader(AppendFeatures(nil, sizing.Features{"zero": sizing.NumberValue(math.Copysign(0, -1))}))
	assert.True(t, math.Signbit(negativeZero.Features()["zero"].Num))
	assert.Nil(t, Reader(nil).Features())
}

func TestValuesAreReadInTheOrderOfWriting(t *testing.T) {
	b := AppendNumber(AppendInt(AppendText(nil, "a\x00b"), math.MinInt64), math.SmallestNonzeroFloat64)
	r := Reader(append(b, 7))
	assert.Equal(t, "a\x00b", r.Text())
	assert.EqualValues(t, math.MinInt64, r.Int())
	assert.Equal(t, math.SmallestNonzeroFloat64, r.Number())
	assert.EqualValues(t, 7, r.Byte())
	assert.Empty(t, r)
}
