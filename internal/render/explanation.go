package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// textWidth is the maximum width of a paragraph in characters.
const textWidth = 100

// Explanation prints an explanation as text: one paragraph, the factors from the base to the grant, and the
// similar runs.
func Explanation(out io.Writer, e *api.Explanation) error {
	for _, line := range wrap(e.Text, textWidth) {
		fmt.Fprintln(out, line)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	base, baseBytes, terms := e.Base, e.BaseBytes, e.Terms
	if e.Shadow != nil {
		base, baseBytes, terms = e.Shadow.Base, e.Shadow.BaseBytes, e.Shadow.Terms
	}
	fmt.Fprintf(table, "\nstep\tfactor\tmemory\twhy\n")
	fmt.Fprintf(table, "base\t\t%s\t%s\n", sizing.Bytes(baseBytes).Approx(), base)
	for _, t := range terms {
		why := t.Name
		if t.Value != nil {
			why += " = " + *t.Value
		}
		fmt.Fprintf(table, "%s\t×%.3f\t%s\t%s\n", t.Kind, t.Factor, sizing.Bytes(t.BytesAfter).Approx(), why)
	}
	if len(e.Nearest) > 0 {
		fmt.Fprintf(table, "\nsimilar run\tdistance\tneeded\tended\n")
	}
	for _, r := range e.Nearest {
		outcome := ""
		if r.Outcome != api.OutcomeSuccess {
			outcome = ", " + string(r.Outcome)
		}
		fmt.Fprintf(table, "%s\t%.2f\t%s\t%s%s\n", r.RunID, r.Distance, sizing.Bytes(r.MemoryMaxBytes).Approx(), r.EndedAt.UTC().Format(time.DateOnly), outcome)
	}
	return table.Flush()
}

func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
