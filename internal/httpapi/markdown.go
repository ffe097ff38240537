package httpapi

import (
	"html/template"
	"regexp"
	"strings"
)

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	boldSpan = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// markdown renders the little of it that the contract uses: paragraphs, tables,
// `code` and **bold**. Everything else is text.
func markdown(text string) template.HTML {
	var out strings.Builder
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(block, "|") {
			table(&out, strings.Split(block, "\n"))
		} else {
			out.WriteString("<p>" + spans(block) + "</p>")
		}
	}
	return template.HTML(out.String()) // every part was escaped by spans
}

// table renders rows of |-separated cells, the second row being the ruler.
func table(out *strings.Builder, rows []string) {
	out.WriteString("<table>")
	for i, row := range rows {
		if i == 1 {
			continue
		}
		cell := "td"
		if i == 0 {
			cell = "th"
		}
		out.WriteString("<tr>")
		for _, text := range strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|") {
			out.WriteString("<" + cell + ">" + spans(strings.TrimSpace(text)) + "</" + cell + ">")
		}
		out.WriteString("</tr>")
	}
	out.WriteString("</table>")
}

func spans(text string) string {
	safe := template.HTMLEscapeString(text)
	return boldSpan.ReplaceAllString(codeSpan.ReplaceAllString(safe, "<code>$1</code>"), "<strong>$1</strong>")
}
