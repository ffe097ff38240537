package stories

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run plays every story that the pattern finds, each in a world of its own. A
// story goes on behind an expectation that was not met: what follows tells more.
func Run(t *testing.T, pattern string) {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, "no story matches %s", pattern)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			play(t, file, string(text))
		})
	}
}

func play(t *testing.T, file, text string) {
	steps, err := parse(text)
	require.NoError(t, err, file)
	w := newWorld(t)
	for i := range steps {
		s := &steps[i]
		for n := range s.times {
			got, err := w.do(t.Context(), s, s.spread(n))
			require.NoErrorf(t, err, "%s:%d: %s", file, s.line, s.text)
			if lacks := s.judge(got); len(lacks) > 0 {
				t.Errorf("%s:%d: %s\n\t%s", file, s.line, s.text, strings.Join(lacks, "\n\t"))
				break // its other repetitions would say the same
			}
		}
	}
}

// judge is all that an answer lacks of what the step expects.
func (s *step) judge(got answer) []string {
	var lacks []string
	for _, e := range s.expect {
		if lack := got.meets(e); lack != "" {
			lacks = append(lacks, lack)
		}
	}
	expected := func(word string) bool {
		return slices.ContainsFunc(s.expect, func(e expectation) bool { return e.word == word })
	}
	for _, kind := range []string{"invalid", "not_found", "conflict", "unavailable", "refused", "internal"} {
		if slices.Contains(got.words, kind) && !expected(kind) {
			lacks = append(lacks, "an error that was not expected: "+got.String())
		}
	}
	return lacks
}
