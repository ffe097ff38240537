package render

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"go.yaml.in/yaml/v3"

	"github.com/loadaware/loadaware/internal/csvtext"
	"github.com/loadaware/loadaware/internal/insight/savings"
)

// ReportFormats returns the output formats of savings and reports.
func ReportFormats() []string { return []string{"table", "json", "yaml", "csv", "markdown", "html"} }

// Count returns a number with its noun, in the plural unless the number is 1.
func Count(n int, noun string) string {
	switch stem, endsInY := strings.CutSuffix(noun, "y"); {
	case n == 1:
		return "1 " + noun
	case endsInY:
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// notKnown is the cell of an unknown value. A CSV cell is empty instead, and compact replaces the text by a dash.
const notKnown = "not known"

const whyNotBetter = "why not better"

// reportTable has the rows of a report as text for people, and as CSV for programs.
type reportTable struct {
	header      []string // with units
	textColumns int      // number of leading columns with text; the others have numbers, except source and whyNotBetter
	rows        [][]string
	colours     []text.Colors // of each row on a terminal
	footer      []string
	caption     string

	csvHeader []string // the names of the JSON fields; a field of the object static has the prefix static_
	csvRows   [][]string
}

func (s *reportTable) write(w io.Writer, format string, coloured bool) error {
	if format == "csv" {
		return csvtext.Write(w, s.csvHeader, s.csvRows)
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.Options{SeparateHeader: true, SeparateFooter: true}
	t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = "", "  "
	t.Style().Format.Header, t.Style().Format.Footer = text.FormatDefault, text.FormatDefault
	t.AppendHeader(cells(s.header))
	columns := make([]table.ColumnConfig, 0, len(s.header))
	for i := s.textColumns; i < len(s.header); i++ {
		if name := strings.ReplaceAll(s.header[i], "\n", " "); name != "source" && name != whyNotBetter {
			columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight, AlignFooter: text.AlignRight})
		}
	}
	t.SetColumnConfigs(columns)
	for i, row := range s.rows {
		line := cells(row)
		if coloured && format == "table" && i < len(s.colours) && s.colours[i] != nil {
			line[0] = s.colours[i].Sprint(row[0])
		}
		t.AppendRow(line)
	}
	if s.footer != nil {
		t.AppendFooter(cells(s.footer))
	}
	body := ""
	switch format {
	case "markdown":
		body = t.RenderMarkdown() + "\n\n" + s.caption
	case "html":
		t.SetCaption("%s", s.caption)
		body = t.RenderHTML()
	default:
		body = trimLines(t.Render()) + "\n\n" + s.caption
	}
	_, err := fmt.Fprintln(w, body)
	return err
}

func cells(texts []string) table.Row {
	row := make(table.Row, len(texts))
	for i, text := range texts {
		row[i] = text
	}
	return row
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// YAML writes v as YAML with the names and the order of its JSON.
func YAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var document yaml.Node // JSON is YAML
	if err := yaml.Unmarshal(text, &document); err != nil {
		return err
	}
	blockStyle(&document)
	out := yaml.NewEncoder(w)
	out.SetIndent(2)
	if err := out.Encode(&document); err != nil {
		return err
	}
	return out.Close()
}

// blockStyle replaces the flow style of JSON, except for empty lists and objects.
func blockStyle(n *yaml.Node) {
	if len(n.Content) > 0 || n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, child := range n.Content {
		blockStyle(child)
	}
}

func figure(v *float64) string {
	if v == nil {
		return notKnown
	}
	switch a := math.Abs(*v); {
	case a >= 100 || a == 0:
		return separateThousands(strconv.FormatFloat(math.Round(*v)+0, 'f', 0, 64)) // +0 turns -0 into 0
	case a >= 10:
		return strconv.FormatFloat(*v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(*v, 'f', 2, 64)
	}
}

func separateThousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

func gigabytes(b *int64) string {
	if b == nil {
		return notKnown
	}
	gb := float64(*b) / 1e9
	return figure(&gb)
}

func percent(p *float64) string {
	if p == nil {
		return notKnown
	}
	return strconv.FormatFloat(100**p, 'f', 2, 64)
}

// exact formats a value for csv, so that parsing it gives the same value; empty if nil.
func exact[T any](v *T) string {
	if v == nil {
		return ""
	}
	if f, ok := any(*v).(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(*v)
}

// window describes the days of an answer. `from` and `to` are the requested bounds (nil: none). `first` and `last`
// are the first and the last day with a reported try (nil: no try).
func window(from, to, first, last *savings.Day) string {
	switch {
	case first == nil:
		return "no reported try in the window"
	case from == nil && to == nil:
		return fmt.Sprintf("all history, %s to %s (UTC)", first, last)
	case to == nil:
		return fmt.Sprintf("from %s on (UTC)", from)
	case from == nil:
		return fmt.Sprintf("up to, not including, %s (UTC)", to)
	}
	return fmt.Sprintf("%s up to, not including, %s (UTC)", from, to)
}
