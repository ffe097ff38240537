package stories

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

type step struct {
	line   int
	text   string
	verb   string
	task   sizing.TaskKey
	args   map[string]string
	words  []string // words that are neither the task nor an argument nor xN, such as the duration of wait
	times  int
	expect []expectation
}

func parse(text string) ([]step, error) {
	var steps []step
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		s, err := parseStep(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		s.line = i + 1
		steps = append(steps, s)
	}
	return steps, nil
}

func parseStep(line string) (step, error) {
	action, expected, _ := strings.Cut(line, "=>")
	words := strings.Fields(action)
	if len(words) == 0 {
		return step{}, fmt.Errorf("verb is missing before =>")
	}
	s := step{text: strings.TrimSpace(line), verb: words[0], args: map[string]string{}, times: 1}
	for _, word := range words[1:] {
		key, value, isArg := strings.Cut(word, "=")
		times, timesErr := strconv.Atoi(strings.TrimPrefix(word, "x"))
		dag, task, isTask := strings.Cut(word, ".")
		switch {
		case isArg:
			s.args[key] = value
		case strings.HasPrefix(word, "x") && timesErr == nil && times > 0:
			s.times = times
		case isTask && s.task == sizing.TaskKey{}:
			s.task = sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: dag, Task: task}
		default:
			s.words = append(s.words, word)
		}
	}
	for _, word := range strings.Fields(expected) {
		e, err := parseExpectation(word)
		if err != nil {
			return step{}, err
		}
		s.expect = append(s.expect, e)
	}
	return s, nil
}

// arguments returns the arguments of repetition i. A stride that is coprime with the number of repetitions mixes the order of
// the values of a range, so that with many repetitions the values hardly depend on time.
func (s *step) arguments(i int) map[string]string {
	args := make(map[string]string, len(s.args))
	for key, value := range s.args {
		lo, hi, ranged := strings.Cut(value, "..")
		low, lowErr := parseNumber(lo)
		high, highErr := parseNumber(hi)
		if !ranged || lowErr != nil || highErr != nil {
			args[key] = value
			continue
		}
		at := 0.0
		if s.times > 1 {
			at = float64(i*stride(s.times)%s.times) / float64(s.times-1)
		}
		args[key] = strconv.FormatFloat(low+at*(high-low), 'f', -1, 64)
	}
	return args
}

// stride returns a number near 0.618 n that is coprime with n. The multiples of the golden ratio, modulo 1,
// are spread evenly.
func stride(n int) int {
	gcd := func(a, b int) int {
		for b != 0 {
			a, b = b, a%b
		}
		return a
	}
	candidate := max(int(0.618*float64(n)), 1)
	for gcd(candidate, n) != 1 {
		candidate++
	}
	return candidate
}

func parseNumber(text string) (float64, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, nil
	}
	b, err := sizing.ParseMemory(text)
	return float64(b), err
}

func features(args map[string]string) sizing.Features {
	f := sizing.Features{}
	for key, value := range args {
		if slices.Contains(reserved, key) {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			f[key] = sizing.NumberValue(v)
		} else {
			f[key] = sizing.TextValue(value)
		}
	}
	return f
}

// reserved lists the arguments of observe, predict and lift that are not features.
var reserved = []string{"run", "map", "try", "requested", "cap", "outcome", "peak", "at", "duration", "cpu", "reason"}
