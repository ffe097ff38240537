package sizing_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestATimeWithAnOffsetKeepsItsLocalTime(t *testing.T) {
	for text, want := range map[string]struct {
		weekday, hour float64
		stored        string // the text of the date after storage, which does not keep the sent text
	}{
		"2024-04-01T00:15:00+02:00":             {1, 0, "2024-04-01T00:15:00+02:00"},
		"2024-04-01 00:00:00+0200":              {1, 0, "2024-04-01T00:00:00+02:00"},
		"2024-03-31T22:15:00Z":                  {0, 22, "2024-03-31T22:15:00Z"},
		"2024-03-31 22:15":                      {0, 22, "2024-03-31T22:15:00Z"},
		"2024-03-31T22:15:00+00:00":             {0, 22, "2024-03-31T22:15:00Z"},
		"2024-03-31T23:59:59.999-09:30":         {0, 23, "2024-03-31T23:59:59.999-09:30"},
		"1969-12-31T23:00:00+14:00":             {3, 23, "1969-12-31T23:00:00+14:00"},
		"2024-04-01":                            {1, 0, "2024-04-01"},
		"9999-12-31T00:30:00+01:00":             {4, 23, "9999-12-30T23:30:00Z"}, // so far in the future that the offset is dropped (withOffset)
		"1890-01-01T12:00:00+00:53":             {3, 12, "1890-01-01T12:07:00+01:00"},
		"2024-04-01T00:15+02:00[Europe/Berlin]": {1, 0, "2024-04-01T00:15:00+02:00"},
	} {
		v := sizing.TextValue(text)
		require.Equal(t, sizing.Date, v.Kind, text)
		require.Equal(t, want.weekday, sizing.Weekday(v.LocalDays()), text)
		require.Equal(t, want.hour, sizing.Hour(v.LocalDays()), text)
		stored := sizing.DecodeValue(sizing.Date, v.Code())
		require.Equal(t, want.stored, stored.JSON(), text)
		v.Text = ""
		require.Equal(t, v, stored, text)
	}
}

func TestACodeHoldsEveryMillisecondAndOffset(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	last := time.Date(2149, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for range 100_000 {
		at := time.UnixMilli(rng.Int64N(2*last) - last).In(time.FixedZone("", 900*(rng.IntN(191)-95)))
		v := sizing.TextValue(at.Format("2006-01-02T15:04:05.000Z07:00"))
		require.Equal(t, float64(at.UnixMilli())/(24*3600*1000), v.Num, at)
		v.Text = ""
		require.Equal(t, v, sizing.DecodeValue(sizing.Date, v.Code()), at)
	}
}

func TestAStoredRowKeepsTheOffset(t *testing.T) {
	f := sizing.Features{"from": sizing.TextValue("2024-04-01T00:15:00+02:00"), "to": sizing.TextValue("2024-03-31T22:15:00Z")}
	var s sizing.Schema
	s.Extend(f)
	row := s.Row(f, nil)
	stored := s.Features(row)
	assert.Equal(t, "2024-04-01T00:15:00+02:00", stored["from"].JSON())
	assert.Equal(t, "2024-03-31T22:15:00Z", stored["to"].JSON())
	assert.Equal(t, stored["from"].Num, stored["to"].Num, "the same instant")
	assert.True(t, s.Fields[0].IsSame(row[0], row[1]))
	assert.False(t, s.Fields[0].IsSame(row[0], row[1]+1.0/24))
}
