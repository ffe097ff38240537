// Package chart computes the geometry of SVG charts: positions, ticks and labels. A template
// writes the SVG elements, so that the template engine escapes every text in them.
package chart

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Style is how a series is drawn.
type Style int

// The styles.
const (
	Line    Style = iota
	Dashed        // a line for a comparison, such as the static request
	Dots          // one dot for each point
	Crosses       // one cross for each point, such as an OOM kill
	Bars          // from zero; X has the left edges of the bars and the right edge of the last bar
	Ranges        // a vertical line from Lower to Y for each point
)

// Series is a series of points in one style. The legend omits it if the name is empty.
type Series struct {
	Name   string
	Colour int // number of a colour of the style sheet, from 1
	Style  Style
	X, Y   []float64
	Lower  []float64 // lower ends of Ranges
	Titles []string  // tooltip of each mark or bar; optional
	Links  []string  // address of each mark; optional
}

// Marker is a line across the chart at one value of an axis.
type Marker struct {
	Name   string // the legend omits it if empty
	Title  string // tooltip; Name if empty
	Colour int
	At     float64
	OnY    bool // At is a value of the y axis, and otherwise of the x axis
}

// Spec describes a chart.
type Spec struct {
	Title   string
	Summary string // the content of the chart in words, for screen readers
	X, Y    Axis
	Series  []Series
	Markers []Marker
}

// Figure is a chart in two widths; the style sheet shows one of them. The zero Figure is no chart.
type Figure struct {
	Title, Summary string
	Legend         []Key
	Wide, Narrow   Drawing
}

// Key is an entry of the legend.
type Key struct {
	Name, Class string
	Mark        string // line, dashed, dot, cross or bar
}

// Drawing has the elements of one SVG in pixels.
type Drawing struct {
	Width, Height  int
	Summary        string
	Plot           Box
	XLabel, YLabel string
	XTicks, YTicks []Tick
	Lines          []Polyline
	Boxes          []Box
	Dots           []Path // without titles and links
	Marks          []Mark
	Rules          []Rule
}

// Tick is a labelled position of an axis.
type Tick struct {
	At    float64
	Label string
}

// Polyline is a line through points.
type Polyline struct{ Class, Points string }

// Path is a path of SVG commands.
type Path struct{ Class, Commands string }

// Box is a rectangle.
type Box struct {
	Class               string
	X, Y, Width, Height float64
	Title               string
}

// Mark is a dot or a cross.
type Mark struct {
	Class       string
	IsCross     bool
	X, Y        float64
	Title, Link string
}

// Rule is a line from one point to another.
type Rule struct {
	Class          string
	X1, Y1, X2, Y2 float64
	Label          string
	IsVertical     bool
}

// The two widths. The narrow one fits a telephone without scaling its text down.
const (
	wideWidth, wideHeight     = 760, 290
	narrowWidth, narrowHeight = 330, 260

	top, bottom, right = 12, 44, 14
	letterWidth        = 6.6 // approximate, in pixels

	pixelsPerXTick, pixelsPerYTick = 85, 40 // distance of ticks at which their labels, such as a date, do not overlap
)

// Draw returns the chart. A series without finite points has no line and no marks.
func (s Spec) Draw() Figure {
	f := Figure{Title: s.Title, Summary: s.Summary}
	for i := range s.Series {
		if series := &s.Series[i]; series.Name != "" {
			f.Legend = append(f.Legend, Key{series.Name, class(series.Colour), [...]string{"line", "dashed", "dot", "cross", "bar", "line"}[series.Style]})
		}
	}
	for _, m := range s.Markers {
		if m.Name == "" {
			continue
		}
		f.Legend = append(f.Legend, Key{m.Name, class(m.Colour), "dashed"})
	}
	s.fit()
	f.Wide, f.Narrow = s.draw(wideWidth, wideHeight), s.draw(narrowWidth, narrowHeight)
	return f
}

func class(colour int) string { return "c" + strconv.Itoa(colour) }

func (s *Spec) fit() {
	for i := range s.Series {
		series := &s.Series[i]
		s.X.include(series.X...)
		s.Y.include(series.Y...)
		s.Y.include(series.Lower...)
		if series.Style == Bars {
			s.Y.include(0)
		}
	}
	for _, m := range s.Markers {
		if m.OnY {
			s.Y.include(m.At)
		} else {
			s.X.include(m.At)
		}
	}
}

func (s *Spec) draw(width, height int) Drawing {
	d := Drawing{Width: width, Height: height, Summary: s.Summary, XLabel: s.X.Label, YLabel: s.Y.Label}
	plotHeight := float64(height - top - bottom)
	yTicks := s.Y.ticks(int(plotHeight / pixelsPerYTick))
	widest := 0
	for _, v := range yTicks {
		widest = max(widest, utf8.RuneCountInString(s.Y.format(v)))
	}
	left := 30 + letterWidth*float64(widest)
	d.Plot = Box{X: left, Y: top, Width: float64(width) - left - right, Height: plotHeight}
	p := painter{spec: s, d: &d}
	for _, v := range yTicks {
		d.YTicks = append(d.YTicks, Tick{p.y(v), s.Y.format(v)})
	}
	for _, v := range s.X.ticks(int(d.Plot.Width / pixelsPerXTick)) {
		d.XTicks = append(d.XTicks, Tick{p.x(v), s.X.format(v)})
	}
	for i := range s.Series {
		p.draw(&s.Series[i])
	}
	for _, m := range s.Markers {
		p.marker(m)
	}
	return d
}

type painter struct {
	spec *Spec
	d    *Drawing
}

func (p *painter) x(v float64) float64 {
	return round(p.d.Plot.X + p.d.Plot.Width*p.spec.X.position(v))
}
func (p *painter) y(v float64) float64 {
	return round(p.d.Plot.Y + p.d.Plot.Height*(1-p.spec.Y.position(v)))
}

// round rounds to a tenth of a pixel, which is fine enough for screens.
func round(v float64) float64 { return math.Round(v*10) / 10 }

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func (p *painter) draw(s *Series) {
	switch s.Style {
	case Line, Dashed:
		p.lines(s)
	case Bars:
		p.bars(s)
	case Ranges:
		for i := range s.X {
			if isFinite(s.X[i]) && isFinite(s.Y[i]) && isFinite(s.Lower[i]) {
				p.d.Rules = append(p.d.Rules, Rule{Class: class(s.Colour), X1: p.x(s.X[i]), X2: p.x(s.X[i]), Y1: p.y(s.Lower[i]), Y2: p.y(s.Y[i])})
			}
		}
	default:
		if s.Style == Dots && len(s.Links) > 0 && p.d.Width == narrowWidth {
			p.dots(s)
			return
		}
		for i := range s.X {
			if !isFinite(s.X[i]) || !isFinite(s.Y[i]) {
				continue
			}
			p.d.Marks = append(p.d.Marks, Mark{Class: class(s.Colour), IsCross: s.Style == Crosses, X: p.x(s.X[i]), Y: p.y(s.Y[i]), Title: at(s.Titles, i), Link: at(s.Links, i)})
		}
	}
}

// dots draws dots as one path of points with round caps. The dots of the narrow chart are too close
// together to tap, and hundreds of elements would be the largest part of the page.
func (p *painter) dots(s *Series) {
	var points strings.Builder
	for i := range s.X {
		if isFinite(s.X[i]) && isFinite(s.Y[i]) {
			points.WriteString("M" + text(p.x(s.X[i])) + " " + text(p.y(s.Y[i])) + "h0")
		}
	}
	p.d.Dots = append(p.d.Dots, Path{class(s.Colour), points.String()})
}

func text(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func at(texts []string, i int) string {
	if i < len(texts) {
		return texts[i]
	}
	return ""
}

// lines draws a polyline for each part without gaps; a point that is not finite is a gap.
func (p *painter) lines(s *Series) {
	name := class(s.Colour)
	if s.Style == Dashed {
		name += " dashed"
	}
	var points strings.Builder
	flush := func() {
		if points.Len() > 0 {
			p.d.Lines = append(p.d.Lines, Polyline{name, points.String()})
			points.Reset()
		}
	}
	for i := range s.X {
		if !isFinite(s.X[i]) || !isFinite(s.Y[i]) {
			flush()
			continue
		}
		if points.Len() > 0 {
			points.WriteByte(' ')
		}
		points.WriteString(text(p.x(s.X[i])) + "," + text(p.y(s.Y[i])))
	}
	flush()
}

func (p *painter) bars(s *Series) {
	baseline := p.y(0)
	for i, v := range s.Y {
		if !(v > 0) {
			continue
		}
		left, right, upper := p.x(s.X[i]), p.x(s.X[i+1]), p.y(v)
		p.d.Boxes = append(p.d.Boxes, Box{Class: class(s.Colour), X: left + 0.5, Y: upper, Width: max(round(right-left-1), 1), Height: round(baseline - upper), Title: at(s.Titles, i)})
	}
}

func (p *painter) marker(m Marker) {
	b := p.d.Plot
	r := Rule{Class: class(m.Colour) + " dashed", Label: cmp.Or(m.Title, m.Name)}
	if m.OnY {
		r.X1, r.X2, r.Y1, r.Y2 = b.X, b.X+b.Width, p.y(m.At), p.y(m.At)
	} else {
		r.X1, r.X2, r.Y1, r.Y2, r.IsVertical = p.x(m.At), p.x(m.At), b.Y, b.Y+b.Height, true
	}
	p.d.Rules = append(p.d.Rules, r)
}

// Right returns the x of the right edge.
func (b Box) Right() float64 { return round(b.X + b.Width) }

// Bottom returns the y of the lower edge.
func (b Box) Bottom() float64 { return round(b.Y + b.Height) }

// MiddleX returns the x of the middle.
func (b Box) MiddleX() float64 { return round(b.X + b.Width/2) }

// MiddleY returns the y of the middle.
func (b Box) MiddleY() float64 { return round(b.Y + b.Height/2) }
