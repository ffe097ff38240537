package taskmodel

import (
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// describeExtrapolation appends a description of the inputs outside their ranges, if there are any. `amount` is the experts'
// amount, before the guard and the bounds.
func (m *Model) describeExtrapolation(text *strings.Builder, amount float64, b *buffers) {
	if len(b.extrapolation.outside) == 0 {
		return
	}
	text.WriteString("; outside the known range: ")
	const maxNamed = 3
	for i, j := range b.extrapolation.outside {
		if i == maxNamed {
			fmt.Fprintf(text, " and %d more", len(b.extrapolation.outside)-maxNamed)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		m.describeInput(text, j, b.cells)
	}
	if b.extrapolation.isJoint {
		text.WriteString(", a combination beyond the known runs")
	}
	if b.extrapolation.implausible {
		text.WriteString(", too far to extrapolate and treated as missing")
	}
	describeFactor(text, amount, b)
	if b.extrapolation.capped > 0 {
		fmt.Fprintf(text, ", limited to %s", sizing.Bytes(b.extrapolation.capped).Approx())
	}
	if b.extrapolation.noRisk {
		text.WriteString(", so no risk can be stated")
	}
}

// describeFactor appends how the amount was computed from the amount at the edge of the range. It names no factor that would be
// printed as 1.
func describeFactor(text *strings.Builder, amount float64, b *buffers) {
	ratio := amount / b.extrapolation.edgeAmount
	isLarger := b.extrapolation.riseFactor > 0 && ratio > 1
	switch factor := sizing.FormatFactor(ratio); {
	case b.extrapolation.remote.isKnown() && b.extrapolation.isRaised:
		text.WriteString(", raised to the peaks of the few runs with such inputs")
	case b.extrapolation.edgeAmount == 0:
	case isLarger && factor != "1":
		fmt.Fprintf(text, ", extrapolated to %s times the amount at the edge of the range", factor)
	case b.extrapolation.isRaised:
		text.WriteString(", raised to the amount at the edge of the range")
	case isLarger:
		text.WriteString(", with the amount at the edge of the range")
	}
}

// describeInput appends the name, the value and the range of input j. It writes the magnitudes of a difference that is never
// positive.
func (m *Model) describeInput(text *strings.Builder, j int, cells []sizing.Value) {
	t, byValue := &m.Models.PeakTrend, m.Models.valueTrendOf(cells)
	if byValue != nil && byValue.Peaks.hasRange(j) {
		t = &byValue.Peaks
	}
	x, _ := t.value(j, cells)
	low, high, highest := t.rangeOf(j).Low, t.rangeOf(j).High, t.rangeWithRemote(j).High
	var name string
	switch {
	case t.isInText(j):
		name = t.inText(j).describe(&m.Schema, cells)
	case j >= 0:
		name = m.Schema.Fields[j].Name
		if t.signOf(j) < 0 {
			x, low, high, highest = -x, -high, -low, -highest
		}
	default:
		pair := &t.Pairs[^j]
		name = m.Schema.Fields[pair.To].Name + "-" + m.Schema.Fields[pair.From].Name
		if max(x, high) <= 0 {
			x, low, high = -x, -high, -low
		}
	}
	fmt.Fprintf(text, "%s %s (%s … %s", name, sizing.FormatNumber(x), sizing.FormatNumber(low), sizing.FormatNumber(high))
	if t.rangeWithRemote(j).High > t.rangeOf(j).High {
		fmt.Fprintf(text, " and, in few runs, up to %s", sizing.FormatNumber(highest))
	}
	if t != &m.Models.PeakTrend {
		fmt.Fprintf(text, " with %s %s", m.Schema.Fields[m.Models.ValueTrends.Field].Name, describeValue(byValue.Value))
	}
	text.WriteString(")")
}
