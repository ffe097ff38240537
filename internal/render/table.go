// Package render prints tables and API responses as text, for the command line.
package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/csvtext"
)

// Formats returns the output formats of lists. Table.Write writes all of them except json.
func Formats() []string { return []string{"table", "json", "csv", "markdown"} }

// Table has cells below a header.
type Table struct {
	Header      []string
	TextColumns int // number of leading columns with text; the others have numbers
	Rows        [][]string
}

// Write writes the table as csv, markdown or aligned text.
func (t *Table) Write(w io.Writer, format string) error {
	switch format {
	case "csv":
		return csvtext.Write(w, t.Header, t.Rows)
	case "markdown":
		return t.markdown(w)
	}
	return t.aligned(w)
}

func (t *Table) aligned(w io.Writer) error {
	widths := make([]int, len(t.Header))
	lines := append([][]string{t.Header}, t.Rows...)
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range lines {
		var line strings.Builder
		for i, cell := range cells {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < t.TextColumns {
				line.WriteString(cell + padding + "  ")
			} else {
				line.WriteString(padding + cell + "  ")
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) markdown(w io.Writer) error {
	fmt.Fprintf(w, "%s|%s%s\n", markdownLine(t.Header),
		strings.Repeat("---|", t.TextColumns), strings.Repeat("---:|", len(t.Header)-t.TextColumns))
	for _, cells := range t.Rows {
		if _, err := io.WriteString(w, markdownLine(cells)); err != nil {
			return err
		}
	}
	return nil
}

func markdownLine(cells []string) string {
	escaped := strings.ReplaceAll(strings.Join(cells, "\x00"), "|", `\|`)
	return "| " + strings.ReplaceAll(escaped, "\x00", " | ") + " |\n"
}

// Figure formats a number with the given number of decimals, or exactly for csv.
func Figure(format string, v float64, decimals int) string {
	if format == "csv" {
		decimals = -1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// JSON writes v as indented JSON.
func JSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
