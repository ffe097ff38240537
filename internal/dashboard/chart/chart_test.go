package chart_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/dashboard/chart"
)

// The narrow chart draws linked dots as one path, because an element for each dot would be a large part of the
// page of a task.
func TestLinkedDotsOfTheNarrowChartAreOnePath(t *testing.T) {
	series := chart.Series{Colour: 2, Style: chart.Dots, X: []float64{0, 1, 2}, Y: []float64{1, math.NaN(), 3}, Titles: []string{"a", "b", "c"}}
	kill := chart.Series{Colour: 4, Style: chart.Crosses, X: []float64{1}, Y: []float64{2}, Links: []string{"/k"}}
	figure := chart.Spec{Series: []chart.Series{series, kill}}.Draw()
	assert.Empty(t, figure.Narrow.Dots, "dots without links keep their titles")
	assert.Len(t, figure.Narrow.Marks, 3)

	series.Links = []string{"/a", "/b", "/c"}
	figure = chart.Spec{Series: []chart.Series{series, kill}}.Draw()
	assert.Empty(t, figure.Wide.Dots)
	assert.Len(t, figure.Wide.Marks, 3)
	assert.Equal(t, "/c", figure.Wide.Marks[1].Link)
	if assert.Len(t, figure.Narrow.Marks, 1, "the kill") {
		assert.Equal(t, "/k", figure.Narrow.Marks[0].Link)
	}
	if assert.Len(t, figure.Narrow.Dots, 1) {
		assert.Regexp(t, `^M[\d.]+ [\d.]+h0M[\d.]+ [\d.]+h0$`, figure.Narrow.Dots[0].Commands)
	}
}
