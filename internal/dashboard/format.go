package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/insight/savings"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const unknown = "–"

// percentSign follows a number without a line break between them.
const percentSign = "\u00a0%"

func (d *Dashboard) functions() template.FuncMap {
	return template.FuncMap{
		"url": d.url, "api": func(path string) string { return d.cfg.Prefix + path }, "asset": func(name string) string { return d.url("/assets/" + assetVersion + "/" + name) },
		"taskurl": func(path, namespace, dag, task string, params ...string) string {
			return d.taskURL(path, sizing.TaskKey{Namespace: namespace, DAG: dag, Task: task}, params...)
		},
		"bytes": memory, "gbh": amount, "share": share, "percent": percent, "num": number, "day": day, "time": clock, "exact": exact,
		"duration": duration, "plural": plural, "add": func(a, b int) int { return a + b }, "addf": func(a, b float64) float64 { return a + b }, "seconds": seconds, "text": text, "nonzero": nonzero, "choice": newChoice,
		"modes": func() []sizing.Mode { return []sizing.Mode{sizing.Enforce, sizing.Shadow, sizing.Off} },
		"phasesmodes": func() []sizing.PhasesMode {
			return []sizing.PhasesMode{sizing.NoPhases, sizing.ObservePhases, sizing.ResizeCPU, sizing.ResizeMemory}
		},
		"grids":       func() []sizing.Grid { return []sizing.Grid{sizing.Fine, sizing.OnBins} },
		"savingskeys": func() []store.SavingsKey { return savingsKeys },
	}
}

type choice struct {
	Label, Name, Value string
	Options            []string
}

func newChoice(label, name, value string, options []string) choice {
	return choice{label, name, value, options}
}

func memory(v any) string {
	b := sizing.Bytes(0)
	switch v := v.(type) {
	case *int64:
		if v != nil {
			b = sizing.Bytes(*v)
		}
	case int64:
		b = sizing.Bytes(v)
	case sizing.Bytes:
		b = v
	case float64:
		b = sizing.Bytes(v)
	}
	if b == 0 {
		return unknown
	}
	return b.Approx()
}

// exact formats an amount as a Kubernetes quantity; "" for 0.
func exact(b sizing.Bytes) string {
	if b == 0 {
		return ""
	}
	return b.String()
}

func float(v any) (f float64, isKnown bool) {
	switch v := v.(type) {
	case *float64:
		if v == nil {
			return 0, false
		}
		return *v, !math.IsNaN(*v)
	case float64:
		return v, !math.IsNaN(v)
	case int:
		return float64(v), true
	}
	return 0, false
}

func amount(v any) string {
	f, isKnown := float(v)
	if !isKnown {
		return unknown
	}
	digits := 2
	switch size := math.Abs(f); {
	case size >= 100 || size == 0:
		digits = 0
	case size >= 10:
		digits = 1
	}
	text := strconv.FormatFloat(f, 'f', digits, 64)
	if text == "-0.00" { // a negative amount that rounds to zero is shown without a sign
		text = "0.00"
	}
	return groupThousands(text)
}

func number(v any) string {
	f, isKnown := float(v)
	if !isKnown {
		return unknown
	}
	return groupThousands(strconv.FormatFloat(f, 'f', -1, 64))
}

// groupThousands separates thousands with narrow no-break spaces, and replaces a hyphen by a minus sign.
func groupThousands(digits string) string {
	whole, fraction, _ := strings.Cut(digits, ".")
	whole, negative := strings.CutPrefix(whole, "-")
	var b strings.Builder
	if negative {
		b.WriteString("−")
	}
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(r)
	}
	if fraction != "" {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// share formats a ratio from 0 to 1 in percent.
func share(v any) string {
	f, isKnown := float(v)
	if !isKnown {
		return unknown
	}
	return percent(100 * f)
}

// percent formats a number that is already in percent.
func percent(v any) string {
	f, isKnown := float(v)
	switch {
	case !isKnown:
		return unknown
	case math.Abs(f) >= 99.95 || f == 0:
		return groupThousands(strconv.FormatFloat(f, 'f', 0, 64)) + percentSign
	case math.Abs(f) >= 10:
		return groupThousands(strconv.FormatFloat(f, 'f', 1, 64)) + percentSign
	case math.Abs(f) < 0.0001:
		return "<0.0001" + percentSign // the format g would print an exponent
	}
	return groupThousands(strconv.FormatFloat(f, 'g', 2, 64)) + percentSign
}

func timeOf(v any) time.Time {
	switch v := v.(type) {
	case time.Time:
		return v
	case *time.Time:
		if v != nil {
			return *v
		}
	case *savings.Day:
		if v != nil {
			return v.Time
		}
	}
	return time.Time{}
}

func day(v any) string {
	if t := timeOf(v); !t.IsZero() {
		return t.UTC().Format(time.DateOnly)
	}
	return unknown
}

func clock(v any) string {
	if t := timeOf(v); !t.IsZero() {
		return t.UTC().Format("2006-01-02 15:04")
	}
	return unknown
}

func duration(v time.Duration) string {
	rounded := v.Round(time.Second / 10) // 59.96 s are 1 min
	switch {
	case v <= 0:
		return unknown
	case rounded < time.Minute:
		return strconv.FormatFloat(v.Seconds(), 'f', 1, 64) + " s"
	case rounded < time.Hour:
		return fmt.Sprintf("%d min %d s", int(rounded.Minutes()), int(rounded.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(rounded.Hours()), int(rounded.Minutes())%60)
}

// seconds formats a number of seconds as a duration; unknown if it is nil, negative or above maxTimeout.
func seconds(v any) string {
	f, isKnown := float(v)
	if !isKnown || f > maxTimeout.Seconds() {
		return unknown
	}
	if f == 0 {
		return "0 s"
	}
	return duration(time.Duration(f * float64(time.Second)))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return number(n) + " " + stem + "ies"
	}
	return number(n) + " " + noun + "s"
}

func text(v any) string {
	switch v := v.(type) {
	case *string:
		if v == nil {
			return ""
		}
		return *v
	case fmt.Stringer:
		return v.String()
	}
	return fmt.Sprint(v)
}

func nonzero(v any) bool {
	f, isKnown := float(v)
	return isKnown && f != 0
}

func csvNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func csvBytes(v *int64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(*v, 10)
}

func orEmpty(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}
