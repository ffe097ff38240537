// Package csvtext writes CSV for spreadsheets.
package csvtext

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// Write writes a header and rows. A text that a spreadsheet would compute as a formula gets a leading apostrophe, as OWASP
// advises ("CSV Injection"), because names of DAGs and tasks come from callers.
func Write(w io.Writer, header []string, rows [][]string) error {
	out := csv.NewWriter(w)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, text := range row {
			cells[i] = escape(text)
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// escape adds an apostrophe before a text that a spreadsheet would compute. It leaves numbers such as -1.5 as they are.
func escape(text string) string {
	if text == "" || !strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}
