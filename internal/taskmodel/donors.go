package taskmodel

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/loadaware/loadaware/internal/sizing"
)

// donorTable holds donor rows, whose values replace missing features (see imputeFromDonorRows), in a third of the memory
// of [][]sizing.Value. Reading them is slower, but only predictions with imputed features read them. A blob stores
// [][]sizing.Value.
type donorTable struct {
	kinds      []uint8   // kinds of all cells, row by row, with hasText if the cell has a text
	nums       []float64 // codes of all cells, row by row (see sizing.Value.Code)
	rowEnds    []int32   // index after the last cell of each row
	texts      []string  // texts of the cells with hasText, in the order of the cells; equal texts share their memory
	firstTexts []int32   // index of the first text of each row

	textBytes int64 // total length of the distinct texts
}

const hasText = 1 << 7

func (d *donorTable) len() int { return len(d.rowEnds) }

// add appends a row to the table. `shared` holds the distinct texts of the table; add adds new texts to it.
func (d *donorTable) add(cells []sizing.Value, shared map[string]string) {
	d.firstTexts = append(d.firstTexts, int32(len(d.texts)))
	for _, v := range cells {
		kind := uint8(v.Kind)
		if v.Text != "" {
			kind |= hasText
			text, ok := shared[v.Text]
			if !ok {
				text = v.Text
				shared[text] = text
				d.textBytes += int64(len(text))
			}
			d.texts = append(d.texts, text)
		}
		d.kinds, d.nums = append(d.kinds, kind), append(d.nums, v.Code())
	}
	d.rowEnds = append(d.rowEnds, int32(len(d.kinds)))
}

func (d *donorTable) row(i int, dst []sizing.Value) []sizing.Value {
	first, text := int32(0), d.firstTexts[i]
	if i > 0 {
		first = d.rowEnds[i-1]
	}
	for at := first; at < d.rowEnds[i]; at++ {
		v := sizing.DecodeValue(sizing.ValueKind(d.kinds[at]&^hasText), d.nums[at])
		if d.kinds[at]&hasText != 0 {
			v.Text = d.texts[text]
			text++
		}
		dst = append(dst, v)
	}
	return dst
}

// donorTableOf returns a table of the rows. The slices of the table have no unused capacity.
func donorTableOf(rows [][]sizing.Value) donorTable {
	cells, texts := 0, 0
	for _, row := range rows {
		cells += len(row)
		for i := range row {
			texts += boolToInt(row[i].Text != "")
		}
	}
	d := donorTable{
		kinds: make([]uint8, 0, cells), nums: make([]float64, 0, cells), texts: make([]string, 0, texts),
		rowEnds: make([]int32, 0, len(rows)), firstTexts: make([]int32, 0, len(rows)),
	}
	shared := map[string]string{}
	for _, row := range rows {
		d.add(row, shared)
	}
	return d
}

// MarshalCBOR encodes the rows as [][]sizing.Value.
func (d donorTable) MarshalCBOR() ([]byte, error) {
	var rows [][]sizing.Value
	for i := range d.len() {
		rows = append(rows, d.row(i, []sizing.Value{}))
	}
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	return mode.Marshal(rows)
}

// UnmarshalCBOR decodes the output of MarshalCBOR.
func (d *donorTable) UnmarshalCBOR(data []byte) error {
	var rows [][]sizing.Value
	if err := decoding.Unmarshal(data, &rows); err != nil {
		return err
	}
	for _, row := range rows {
		for i := range row {
			if row[i].Kind >= hasText {
				return fmt.Errorf("decode donor rows: unknown kind of value %d", row[i].Kind)
			}
		}
	}
	*d = donorTableOf(rows)
	return nil
}

func (d *donorTable) bytes() int64 {
	return sliceBytes(d.kinds) + sliceBytes(d.nums) + sliceBytes(d.rowEnds) + sliceBytes(d.texts) + sliceBytes(d.firstTexts) + d.textBytes
}
