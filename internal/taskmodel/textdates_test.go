package taskmodel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestPeriodsInATextAreRead(t *testing.T) {
	for text, want := range map[string][]float64{
		"2025-01-01/2025-01-31": {30},
		`{"from": "2025-01-01T06:00:00Z", "to": "2025-01-01 18:00"}`:  {.5},
		"2025-03-01 2025-02-28 2025-03-02":                            {-1, 2},
		"2025-02-30/2025-03-01":                                       nil, // no such day
		"12025-01-01/2025-01-311":                                     nil, // no dates
		"2025-01-01/":                                                 nil,
		"2025-01-01 2025-01-02 2025-01-03 2025-01-04 2025-01-05, etc": nil, // too many
	} {
		var buffer [maxTextDates]textDate
		found := datesIn(text, buffer[:0])
		if want == nil {
			assert.True(t, len(found) < 2 || len(found) > maxTextDates, text)
			continue
		}
		assert.InDeltaSlice(t, want, periods(found, nil), 1e-9, text)
	}
}

func TestPeriodInATextIsReplaced(t *testing.T) {
	d := textDates{Count: 2}
	assert.Equal(t, "2025-01-04/2025-01-01", d.replace("2025-01-31/2025-01-01", 0, -3))
	assert.Equal(t, "from 2025-01-01T06:00 to 2025-01-04 ok", d.replace("from 2025-01-01T06:00 to 2025-03-01 ok", 0, 3))
	assert.Equal(t, "2025-01-01", d.replace("2025-01-01", 0, 3))
}

func TestDatesHaveColumnsOnlyIfTheirPeriodsVary(t *testing.T) {
	text := func(s string) []sizing.Value { return []sizing.Value{{Kind: sizing.Category, Text: s}} }
	days := []string{"01", "02", "03", "04", "05", "06", "07", "08", "09", "10"}
	var equal, single, varying [][]sizing.Value
	for i, day := range days[1:] {
		equal = append(equal, text("2025-01-"+day+"/2025-02-"+day))
		single = append(single, text("2025-01-"+day))
		varying = append(varying, text("2025-01-"+days[i/3]+"/2025-02-"+day))
	}
	assert.Zero(t, findTextDates(0, equal).Count)
	assert.Zero(t, findTextDates(0, single).Count)
	assert.Equal(t, 2, findTextDates(0, varying).Count)
	assert.Zero(t, findTextDates(0, varying[:minTextNumberRows-1]).Count, "too few rows")
}

// Rows without a text say nothing about whether the texts recur.
func TestPeriodsAreFoundIfManyTextsAreMissing(t *testing.T) {
	schema := &sizing.Schema{Fields: []sizing.Field{{Name: "window", Kind: sizing.Category}}}
	var rows [][]sizing.Value
	for i := range 60 {
		cells := []sizing.Value{{}}
		if i%4 == 0 {
			cells[0] = sizing.Value{Kind: sizing.Category, Text: fmt.Sprintf("2025-01-%02d/2025-02-%02d", 1+i/4, 1+i/2%28)}
		}
		rows = append(rows, cells)
	}
	c := &newEncoder(schema, rows, make([]float64, len(rows))).Columns[0]
	assert.Equal(t, 2, c.Dates.Count)
}
