package sizing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestTextsOfDatesAreDates(t *testing.T) {
	day := time.Date(2024, 1, 3, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2024-01-03": day, "2024/01/03": day, "03.01.2024": day, "03.01.2024 02:00": day.Add(2 * time.Hour), "20240103": day, "2024-01-03 2:00:00": day.Add(2 * time.Hour), "2024-01-03T02": day.Add(2 * time.Hour),
		"2024-01-03 02:00": day.Add(2 * time.Hour), "2024-01-03T02:00": day.Add(2 * time.Hour), "2024-01-03T02:00Z": day.Add(2 * time.Hour),
		"2024/01/03 02:00:05": day.Add(2*time.Hour + 5*time.Second), "2024-01-03 02:00:05": day.Add(2*time.Hour + 5*time.Second),
		"2024-01-03 02:00:00+00:00": day.Add(2 * time.Hour), "2024-01-03 02:00:00.250000+00:00": day.Add(2*time.Hour + 250*time.Millisecond),
		"2024-01-03T02:00:00.123456789Z": day.Add(2*time.Hour + 123*time.Millisecond), "2024-01-03 02:00:00,123": day.Add(2*time.Hour + 123*time.Millisecond),
		"2024-01-03T02:00:00+0530": day.Add(-3*time.Hour - 30*time.Minute), "2024-01-03 02:00:00-03": day.Add(5 * time.Hour),
		"2024-01-03 02:00:00 UTC": day.Add(2 * time.Hour), "2024-01-03 02:00:00Z": day.Add(2 * time.Hour), "2024-01-03 02:00:00 +0100 CET": day.Add(time.Hour),
		"2024-01-03T02:00+01:00[Europe/Berlin]": day.Add(time.Hour), "2024-01-03T02:00:00Z[UTC]": day.Add(2 * time.Hour),
		"2024-01-03 02:00:00.000 America/Argentina/Buenos_Aires": day.Add(2 * time.Hour), "2024-01-03T020000": day.Add(2 * time.Hour),
		"20240103T020000": day.Add(2 * time.Hour), "20240103T020000+0100": day.Add(time.Hour), "20240103T020000.500000+0000": day.Add(2*time.Hour + 500*time.Millisecond),
		"2024-01-03T02:00:00 01:00": day.Add(time.Hour), // a + in a query string
		"2024-01-03 ":               day, "\n2024-01-03T02:00:00 \n": day.Add(2 * time.Hour),
	} {
		got := sizing.TextValue(text)
		assert.Equal(t, sizing.Date, got.Kind, text)
		assert.InDelta(t, float64(want.UnixMilli())/(24*3600*1000), got.Num, 1e-9, text)
		assert.Equal(t, text, got.Text)
	}
}

func TestTextsThatAreNotClearlyDatesStayCategories(t *testing.T) {
	for _, text := range []string{
		"01/03/2024", "3.1.2024", "03.01.24", "03.13.2024", "31.02.2024", "10.04.1804", "03.01.2024.5", "03.01/2024", "192.168.1000", "2024.01.03", "2024-01", "2024-13-01", "2024-02-30", "2024/01-03", "2024/01/03/x", "2024-01-03-02",
		"2024-01-03 02:00 03:00", "2024-01-03 02:00:00 PM", "2024-01-03 02:00:00 emea", "2024-01-03 02", "2024-01-03T24:00:00", "2024-01-03T02:60",
		"2024-01-03T02:00:", "2024-01-03T0215:00", "2024-01-03T02:00:00.", "2024-01-03T02:00:00+25:00", "2024-01-03T02:00:00+01:00[", "2024-01-03 02:00:00Z x",
		"2024-01-03..2024-01-10", "20240103 02:00", "20240103_x",
	} {
		assert.Equal(t, sizing.Category, sizing.TextValue(text).Kind, text)
	}
}
