package stories

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// answer is the result of a step: words and named numbers. The number "" is the granted memory.
type answer struct {
	words   []string
	numbers map[string]float64
	reason  string // printed when an expectation fails
}

var errorWords = [...]string{
	sizing.Invalid: "invalid", sizing.NotFound: "not_found", sizing.Conflict: "conflict", sizing.Unavailable: "unavailable",
	sizing.Refused: "refused", sizing.Exhausted: "exhausted", sizing.Internal: "internal",
}

func errorAnswer(err error) answer {
	return answer{words: []string{errorWords[sizing.KindOf(err)]}, reason: err.Error()}
}

// expectation is a word that the answer must contain, or a comparison with one of its numbers.
type expectation struct {
	text      string
	word      string  // "" for a comparison
	number    string  // name of the compared number
	low, high float64 // bounds; −1 and 1e300 if there is no bound
	strict    bool    // whether a number equal to a bound fails
}

// comparison matches the name of the compared number, the operator, and the bound or the range.
var comparison = regexp.MustCompile(`^([a-z_0-9]*?)(<=|>=|<|>|=)?(-?[0-9][^<>=]*)$`)

func parseExpectation(text string) (expectation, error) {
	parts := comparison.FindStringSubmatch(text)
	if parts == nil {
		return expectation{text: text, word: text}, nil
	}
	if parts[1] != "" && parts[2] == "" {
		return expectation{}, fmt.Errorf("expectation %q: operator is missing; write %s=…", text, parts[1])
	}
	e := expectation{text: text, number: parts[1], strict: parts[2] == "<" || parts[2] == ">"}
	lo, hi, ranged := strings.Cut(parts[3], "..")
	if !ranged {
		hi = lo
	}
	var err error
	if e.low, err = parseNumber(lo); err != nil {
		return e, fmt.Errorf("expectation %q: %w", text, err)
	}
	if e.high, err = parseNumber(hi); err != nil {
		return e, fmt.Errorf("expectation %q: %w", text, err)
	}
	switch parts[2] {
	case "<=", "<":
		e.low = -1
	case ">=", ">":
		e.high = 1e300
	}
	return e, nil
}

// check describes how the answer violates an expectation, or returns "".
func (a answer) check(e expectation) string {
	if e.word != "" {
		if !slices.Contains(a.words, e.word) {
			return fmt.Sprintf("expected %s, got %s", e.word, a)
		}
		return ""
	}
	got, known := a.numbers[e.number]
	inside := got >= e.low && got <= e.high
	if e.strict {
		inside = got > e.low && got < e.high
	}
	if !known || !inside {
		return fmt.Sprintf("expected %s, got %s", e.text, a)
	}
	return ""
}

// String formats an answer for the messages of check: its words, its numbers and, in parentheses, its reason.
func (a answer) String() string {
	parts := slices.Clone(a.words)
	for _, name := range slices.Sorted(maps.Keys(a.numbers)) {
		if name == "" {
			parts = append(parts, sizing.Bytes(a.numbers[name]).Approx())
		} else {
			parts = append(parts, fmt.Sprintf("%s=%g", name, a.numbers[name]))
		}
	}
	return strings.Join(parts, " ") + " (" + a.reason + ")"
}
