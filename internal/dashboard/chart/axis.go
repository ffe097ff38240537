package chart

import (
	"math"
	"strconv"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Unit is the unit of the values of an axis.
type Unit int

// The units.
const (
	Plain   Unit = iota
	Memory       // bytes, with binary ticks
	Percent      // percent: 100 is the whole
)

// Axis describes an axis of a chart. Its ends are Min and Max if these differ. Otherwise Draw chooses ends that
// include all Names or, without Names, the values of all series and markers.
type Axis struct {
	Label    string
	Unit     Unit
	Log      bool
	Min, Max float64
	Names    []string // labels of the values 0, 1, …; the chart shows some of them

	low, high float64
	isFitted  bool
}

// include extends the axis to `values`, except those that it cannot show.
func (a *Axis) include(values ...float64) {
	for _, v := range values {
		if !isFinite(v) || a.Log && v <= 0 {
			continue
		}
		if !a.isFitted {
			a.low, a.high, a.isFitted = v, v, true
		}
		a.low, a.high = min(a.low, v), max(a.high, v)
	}
}

func (a *Axis) ends() (low, high float64) {
	low, high = a.low, a.high
	switch {
	case a.Min != a.Max:
		return a.Min, a.Max
	case len(a.Names) > 0:
		return -0.5, float64(len(a.Names)) - 0.5
	case !a.isFitted:
		low, high = 1, 2
	case a.Log:
		return low / 1.25, high * 1.25
	case low > 0 && low < 0.6*high:
		low = 0
	}
	if low == high {
		low, high = low-max(math.Abs(low)*0.1, 0.5), high+max(math.Abs(high)*0.1, 0.5)
	}
	if low < 0 {
		low -= (high - low) * 0.04
	}
	return low, high + (high-low)*0.04
}

// position returns the position of a value on the axis: 0 at the low end, 1 at the high end. A value outside the
// axis has the position of the nearer end.
func (a *Axis) position(v float64) float64 {
	low, high := a.ends()
	if a.Log {
		low, high, v = math.Log(low), math.Log(high), math.Log(max(v, low))
	}
	return max(0, min(1, (v-low)/(high-low)))
}

// ticks returns about n round values within the axis.
func (a *Axis) ticks(n int) []float64 {
	low, high := a.ends()
	n = max(n, 2)
	if len(a.Names) > 0 {
		return indexTicks(len(a.Names), n)
	}
	base, step := 10.0, 0.0
	if a.Unit == Memory {
		base = 2
	}
	if a.Log {
		from, to := math.Log(low)/math.Log(base), math.Log(high)/math.Log(base)
		step = max(1, math.Ceil((to-from)/float64(n)))
		var ticks []float64
		for e := math.Ceil(from/step) * step; e <= to; e += step {
			ticks = append(ticks, math.Pow(base, e))
		}
		if len(ticks) > 1 {
			return ticks
		}
	}
	step = niceStep((high-low)/float64(n+1), base)
	var ticks []float64
	for v := math.Ceil(low/step) * step; v <= high && len(ticks) < 50; v += step {
		ticks = append(ticks, v)
	}
	return ticks
}

func indexTicks(count, n int) []float64 {
	step := max(1, int(math.Ceil(float64(count)/float64(n))))
	var ticks []float64
	for i := 0; i < count; i += step {
		ticks = append(ticks, float64(i))
	}
	return ticks
}

// niceStep returns the smallest round number that is at least `step`. Round numbers are 1, 2 and 5
// times a power of ten, or the powers of two for base 2.
func niceStep(step, base float64) float64 {
	if !(step > 0) {
		return 1
	}
	if base == 2 {
		return math.Pow(2, math.Ceil(math.Log2(step)))
	}
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= step*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

func (a *Axis) format(v float64) string {
	switch {
	case len(a.Names) > 0:
		if i := int(v); i >= 0 && i < len(a.Names) {
			return a.Names[i]
		}
		return ""
	case a.Unit == Memory && v >= 1:
		return sizing.Bytes(v).Approx()
	case a.Unit == Percent:
		return plain(v) + " %"
	}
	if math.Abs(v) < 1e-12 {
		return "0"
	}
	return plain(v)
}

// plain formats a number with at most four significant digits below 10 000, with separated thousands below ten
// million, and in millions or billions below 10¹³.
func plain(v float64) string {
	switch size := math.Abs(v); {
	case size < 1e4-0.5, size >= 1e13:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case size >= 1e9:
		return plain(v/1e9) + " billion"
	case size >= 1e7:
		return plain(v/1e6) + " million"
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}
