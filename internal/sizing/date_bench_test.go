package sizing

import (
	"testing"
	"time"
)

// BenchmarkParseDate compares parseDate with a list of layouts for time.Parse, which read fewer forms. A category is the most
// frequent kind of text that is no date.
func BenchmarkParseDate(b *testing.B) {
	var layouts []string
	for _, day := range []string{"2006-01-02", "2006/01/02", "20060102"} {
		layouts = append(layouts, day)
		for _, clock := range []string{"T15:04:05", " 15:04:05", "T15:04", " 15:04", "T150405"} {
			for _, zone := range []string{"", "Z07:00", "-0700", " -07:00", " MST"} {
				layouts = append(layouts, day+clock+zone)
			}
		}
	}
	parsers := map[string]func(string) bool{
		"parseDate": func(s string) bool { _, ok := parseDate(s); return ok },
		"layouts": func(s string) bool {
			for _, layout := range layouts {
				if _, err := time.Parse(layout, s); err == nil {
					return true
				}
			}
			return false
		},
	}
	for _, text := range []string{"2025-01-03", "2025-01-03 02:00:00+00:00", "2025/01/03 02:15", "2025-acme-0003"} {
		for _, name := range []string{"parseDate", "layouts"} {
			b.Run(text+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					parsers[name](text)
				}
			})
		}
	}
}
