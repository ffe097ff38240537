package experiment

import (
	_ "embed" // embeds report.html
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Formats returns the formats that Write supports.
func Formats() []string { return []string{"table", "json", "csv", "markdown", "html"} }

// Write writes a report in one of the Formats. json contains every figure, and csv contains the
// rows. The other formats contain readable tables. html is one self-contained page.
func Write(w io.Writer, format string, r *Report) error {
	switch format {
	case "json":
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(r)
	case "csv":
		return writeCSV(w, r.Rows)
	case "table":
		return r.write(w, titledTable.aligned)
	case "markdown":
		return r.write(w, titledTable.markdown)
	case "html":
		return page.Execute(w, map[string]any{"Headline": r.headline(), "Fingerprint": r.Fingerprint, "Tables": r.tables()})
	}
	return sizing.Errorf(sizing.Invalid, "format %q: unknown; choose among %s", format, strings.Join(Formats(), ", "))
}

func (r *Report) write(w io.Writer, form func(titledTable) string) error {
	if _, err := fmt.Fprintln(w, r.headline()); err != nil {
		return err
	}
	for _, t := range r.tables() {
		if _, err := fmt.Fprint(w, "\n", form(t)); err != nil {
			return err
		}
	}
	return nil
}

func (t titledTable) aligned() string {
	lines := append([][]string{t.Header}, t.Rows...)
	widths := make([]int, len(t.Header))
	for _, cells := range lines {
		for j, cell := range cells {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	out.WriteString(t.Title + "\n")
	if t.Note != "" {
		out.WriteString(t.Note + "\n")
	}
	for _, cells := range lines {
		var line strings.Builder
		for j, cell := range cells {
			if j > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if j < t.Texts {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

func (t titledTable) markdown() string {
	var out strings.Builder
	out.WriteString("### " + t.Title + "\n\n")
	if t.Note != "" {
		out.WriteString(t.Note + "\n\n")
	}
	line := func(cells []string) {
		out.WriteString("| " + strings.ReplaceAll(strings.Join(cells, "\x00"), "|", `\|`) + " |\n")
	}
	line(t.Header)
	out.WriteString("|" + strings.Repeat("---|", t.Texts) + strings.Repeat("---:|", len(t.Header)-t.Texts) + "\n")
	for _, cells := range t.Rows {
		line(cells)
	}
	return strings.ReplaceAll(out.String(), "\x00", " | ")
}

//go:embed report.html
var pageText string

var page = template.Must(template.New("report").Parse(pageText))

var csvHeader = []string{"task", "bins_gb", "family", "oversampling", "split", "seed", "accuracy", "u_score", "u_rate", "optimal", "time_optimal", "estimated"}

func writeCSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	lines := [][]string{csvHeader}
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for i := range rows {
		r := &rows[i]
		edges := make([]string, len(r.BinsGB))
		for j, edge := range r.BinsGB {
			edges[j] = exact(edge)
		}
		lines = append(lines, []string{r.Task, strings.Join(edges, ";"), r.Family, r.Oversampling, r.Split, strconv.FormatUint(r.Seed, 10),
			exact(r.Accuracy), exact(r.UScore), exact(r.URate), exact(r.Optimal), exact(r.TimeOptimal), exact(r.Estimated)})
	}
	return out.WriteAll(lines)
}
