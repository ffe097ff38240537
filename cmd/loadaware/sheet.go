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

// sheetFormats are the forms of what is told of stored experiments.
var sheetFormats = []string{"table", "json", "csv", "markdown"}

// format defines the flag of the sheetFormats.
func (cmd *command) format() *string {
	return cmd.String("o", "table", "output: "+strings.Join(sheetFormats, ", "))
}

func checkFormat(format string) error {
	if !slices.Contains(sheetFormats, format) {
		return usageErrorf("-o must be one of %s, not %q", strings.Join(sheetFormats, ", "), format)
	}
	return nil
}

// sheet is cells under a header; the first texts columns are text, the others numbers.
type sheet struct {
	header []string
	texts  int
	rows   [][]string
}

// write writes any of the sheetFormats but json.
func (s *sheet) write(w io.Writer, format string) error {
	switch format {
	case "csv":
		return csv.NewWriter(w).WriteAll(append([][]string{s.header}, s.rows...))
	case "markdown":
		return s.markdown(w)
	}
	return s.aligned(w)
}

func (s *sheet) aligned(w io.Writer) error {
	width := make([]int, len(s.header))
	lines := append([][]string{s.header}, s.rows...)
	for _, cells := range lines {
		for i, cell := range cells {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range lines {
		var line strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i < s.texts {
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

func (s *sheet) markdown(w io.Writer) error {
	fmt.Fprintf(w, "| %s |\n|%s%s\n", strings.Join(s.header, " | "),
		strings.Repeat("---|", s.texts), strings.Repeat("---:|", len(s.header)-s.texts))
	for _, cells := range s.rows {
		escaped := strings.ReplaceAll(strings.Join(cells, "\x00"), "|", `\|`)
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.ReplaceAll(escaped, "\x00", " | ")); err != nil {
			return err
		}
	}
	return nil
}

// figure writes a number for the format: all of it in csv, for reading elsewhere.
func figure(format string, v float64, decimals int) string {
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
