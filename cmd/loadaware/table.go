package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tableFormats are the output formats of lists.
var tableFormats = []string{"table", "json", "csv", "markdown"}

// format defines the flag -o.
func (cmd *command) format() *string {
	return cmd.String("o", "table", "output: "+strings.Join(tableFormats, ", "))
}

func checkFormat(format string) error {
	if !slices.Contains(tableFormats, format) {
		return usageErrorf("-o must be one of %s, not %q", strings.Join(tableFormats, ", "), format)
	}
	return nil
}

// table has cells below a header. The first texts columns are text, the others numbers.
type table struct {
	header []string
	texts  int
	rows   [][]string
}

// write writes the table as csv, markdown or aligned text.
func (t *table) write(w io.Writer, format string) error {
	switch format {
	case "csv":
		return csv.NewWriter(w).WriteAll(append([][]string{t.header}, t.rows...))
	case "markdown":
		return t.markdown(w)
	}
	return t.aligned(w)
}

func (t *table) aligned(w io.Writer) error {
	width := make([]int, len(t.header))
	lines := append([][]string{t.header}, t.rows...)
	for _, cells := range lines {
		for i, cell := range cells {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range lines {
		var line strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i < t.texts {
				line.WriteString(cell + pad + "  ")
			} else {
				line.WriteString(pad + cell + "  ")
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) markdown(w io.Writer) error {
	fmt.Fprintf(w, "| %s |\n|%s%s\n", strings.Join(t.header, " | "),
		strings.Repeat("---|", t.texts), strings.Repeat("---:|", len(t.header)-t.texts))
	for _, cells := range t.rows {
		escaped := strings.ReplaceAll(strings.Join(cells, "\x00"), "|", `\|`)
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.ReplaceAll(escaped, "\x00", " | ")); err != nil {
			return err
		}
	}
	return nil
}

// formatFigure formats a number with decimals, or exactly for csv.
func formatFigure(format string, v float64, decimals int) string {
	if format == "csv" {
		decimals = -1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func writeJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
