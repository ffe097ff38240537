package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
)

type figure []chart

// chart is one plot of a picture. It uses no plotting library, because the pictures are simple and a library would add seven
// modules.
type chart struct {
	title  string
	x, y   axis
	series []series
}

// axis reaches from the first tick to the last.
type axis struct {
	label string
	log   bool
	ticks []float64
}

// series is one line, band or set of dots. The legend omits a series without a name.
type series struct {
	name, colour string
	style        style
	x, y         []float64
	lower        []float64 // lower edge of a band
	text         []string  // label of each dot
}

type style int

const (
	line style = iota
	dashed
	dots
	crosses
	band
)

// Colours of Okabe & Ito (2008), which people with colour blindness can distinguish, and grey.
const (
	blue, orange, green, red, grey = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#888888"
)

// Sizes in pixels. The margins left, right, top and bottom contain labels.
const (
	height, left, right, top, bottom = 340, 60, 20, 44, 48
	totalWidth                       = 760
)

func (f figure) svg() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#222">`+"\n", totalWidth, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", totalWidth, height)
	width := totalWidth / len(f)
	for i, c := range f {
		fmt.Fprintf(&b, `<g transform="translate(%d 0)">`+"\n", i*width)
		p := painter{&b, c, float64(width - left - right), height - top - bottom}
		p.frame()
		for _, s := range c.series {
			p.draw(s)
		}
		p.legend()
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// painter draws one chart. Its width and height are those of the plot area inside the margins, in pixels.
type painter struct {
	b             *bytes.Buffer
	chart         chart
	width, height float64
}

// position returns the position of a value on the axis: 0 at the first tick and 1 at the last. A value outside of the ticks
// gets the position of the nearer end.
func (a axis) position(v float64) float64 {
	from, to := a.ticks[0], a.ticks[len(a.ticks)-1]
	if a.log {
		from, to, v = math.Log(from), math.Log(to), math.Log(max(v, from))
	}
	return max(0, min(1, (v-from)/(to-from)))
}

func (p *painter) px(v float64) float64 { return left + p.width*p.chart.x.position(v) }

func (p *painter) py(v float64) float64 { return top + p.height*(1-p.chart.y.position(v)) }

// text draws a text. The argument `attributes` is empty, or SVG attributes with a leading space.
func (p *painter) text(x, y float64, anchor, attributes, text string) {
	fmt.Fprintf(p.b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, attributes, html.EscapeString(text))
}

func (p *painter) stroke(x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(p.b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, colour)
}

// frame draws title, axes, ticks and grid.
func (p *painter) frame() {
	bottomEdge, rightEdge := top+p.height, left+p.width
	p.text(left, 18, "start", ` font-weight="bold"`, p.chart.title)
	for _, v := range p.chart.x.ticks {
		p.stroke(p.px(v), bottomEdge, p.px(v), bottomEdge+4, grey)
		p.text(p.px(v), bottomEdge+17, "middle", "", number(v))
	}
	for _, v := range p.chart.y.ticks {
		p.stroke(left, p.py(v), rightEdge, p.py(v), "#e4e4e4")
		p.text(left-6, p.py(v)+4, "end", "", number(v))
	}
	p.stroke(left, bottomEdge, rightEdge, bottomEdge, grey)
	p.text(left+p.width/2, bottomEdge+36, "middle", "", p.chart.x.label)
	p.text(0, 0, "middle", fmt.Sprintf(` transform="translate(16 %.1f) rotate(-90)"`, top+p.height/2), p.chart.y.label)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (p *painter) draw(s series) {
	switch s.style {
	case line:
		fmt.Fprintf(p.b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="%s"/>`+"\n", s.colour, p.points(s.x, s.y))
	case dashed:
		fmt.Fprintf(p.b, `<polyline fill="none" stroke="%s" stroke-width="1.5" stroke-dasharray="5 4" points="%s"/>`+"\n", s.colour, p.points(s.x, s.y))
	case band:
		fmt.Fprintf(p.b, `<polygon fill="%s" opacity="0.18" points="%s`, s.colour, p.points(s.x, s.y))
		for i := len(s.x) - 1; i >= 0; i-- {
			fmt.Fprintf(p.b, "%.1f,%.1f ", p.px(s.x[i]), p.py(s.lower[i]))
		}
		p.b.WriteString(`"/>` + "\n")
	default:
		for i := range s.x {
			p.mark(s, p.px(s.x[i]), p.py(s.y[i]))
		}
		for i := range s.text {
			p.label(s, i)
		}
	}
}

// points returns the points in the format of the attribute points of SVG.
func (p *painter) points(x, y []float64) string {
	var b bytes.Buffer
	for i := range x {
		fmt.Fprintf(&b, "%.1f,%.1f ", p.px(x[i]), p.py(y[i]))
	}
	return b.String()
}

// label draws the text of dot i on the right of the dot, or on the left if the text would cover another dot of the series.
func (p *painter) label(s series, i int) {
	x, y := p.px(s.x[i]), p.py(s.y[i])
	for j := range s.x {
		dx, dy := p.px(s.x[j])-x, p.py(s.y[j])-y
		if j != i && dx >= 0 && dx < 10+letterWidth*float64(len(s.text[i])) && math.Abs(dy) < 12 {
			p.text(x-6, y+4, "end", "", s.text[i])
			return
		}
	}
	p.text(x+6, y+4, "start", "", s.text[i])
}

// letterWidth is the approximate width of a letter in pixels.
const letterWidth = 6.6

func (p *painter) mark(s series, x, y float64) {
	if s.style == crosses {
		fmt.Fprintf(p.b, `<path d="M%.1f %.1fl8 8m0 -8l-8 8" stroke="%s" stroke-width="2"/>`+"\n", x-4, y-4, s.colour)
		return
	}
	fmt.Fprintf(p.b, `<circle cx="%.1f" cy="%.1f" r="2.6" fill="%s"/>`+"\n", x, y, s.colour)
}

// legend draws the legend, one line below the title.
func (p *painter) legend() {
	x := float64(left)
	for _, s := range p.chart.series {
		if s.name == "" {
			continue
		}
		switch s.style {
		case line, dashed, band:
			fmt.Fprintf(p.b, `<line x1="%.1f" y1="31" x2="%.1f" y2="31" stroke="%s" stroke-width="%d"%s/>`+"\n",
				x, x+18, s.colour, map[style]int{line: 2, dashed: 2, band: 9}[s.style],
				map[style]string{dashed: ` stroke-dasharray="5 4"`, band: ` opacity="0.25"`}[s.style])
		default:
			p.mark(s, x+9, 31)
		}
		p.text(x+23, 35, "start", "", s.name)
		x += 23 + letterWidth*float64(len(s.name)) + 14
	}
}
