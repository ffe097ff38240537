package stories

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run executes every story whose path matches the pattern, each with its own database. A story
// continues after a failed expectation, because later steps help to find the cause.
func Run(t *testing.T, pattern string) {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, "no story matches %s", pattern)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			runStory(t, file, string(text))
		})
	}
}

func runStory(t *testing.T, file, text string) {
	steps, err := parse(text)
	require.NoError(t, err, file)
	e := newEnv(t)
	for i := range steps {
		s := &steps[i]
		for n := range s.times {
			got, err := e.do(t.Context(), s, s.arguments(n))
			require.NoErrorf(t, err, "%s:%d: %s", file, s.line, s.text)
			if violations := s.check(got); len(violations) > 0 {
				t.Errorf("%s:%d: %s\n\t%s", file, s.line, s.text, strings.Join(violations, "\n\t"))
				break // the other repetitions would probably fail in the same way
			}
		}
	}
}

func (s *step) check(got answer) []string {
	var violations []string
	for _, e := range s.expect {
		if violation := got.check(e); violation != "" {
			violations = append(violations, violation)
		}
	}
	expected := func(word string) bool {
		return slices.ContainsFunc(s.expect, func(e expectation) bool { return e.word == word })
	}
	for _, kind := range errorWords {
		if slices.Contains(got.words, kind) && !expected(kind) {
			violations = append(violations, "unexpected error: "+got.String())
		}
	}
	return violations
}
