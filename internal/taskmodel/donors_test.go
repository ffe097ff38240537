package taskmodel

import (
	"math"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestDonorTableIsStoredAsRowsOfValues(t *testing.T) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	require.NoError(t, err)
	for _, rows := range [][][]sizing.Value{
		nil,
		{{}},
		{{sizing.NumberValue(1.5), text("a"), {}, text("2020-01-03")}, {text("a"), sizing.NumberValue(math.Copysign(0, -1))}, {}, {sizing.BoolValue(true), text("b")}},
		{{{Kind: sizing.Number, Num: 2, Text: "with a text"}, {Kind: sizing.Category}}},
	} {
		want, err := mode.Marshal(rows)
		require.NoError(t, err)
		table := donorTableOf(rows)
		got, err := mode.Marshal(table)
		require.NoError(t, err)
		require.Equal(t, want, got)

		var back donorTable
		require.NoError(t, decoding.Unmarshal(want, &back))
		require.Equal(t, len(rows), back.len())
		for i := range rows {
			require.Equal(t, rows[i], back.row(i, []sizing.Value{}))
		}
	}
	bad, err := mode.Marshal([][]sizing.Value{{{Kind: 200}}})
	require.NoError(t, err)
	var table donorTable
	require.ErrorContains(t, decoding.Unmarshal(bad, &table), "200")
}
