package taskmodel

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word of a text is a run of letters and digits, such as "full" or "1253" in `{"mode": "full", "rows": 1253}`. A decimal point
// between two digits belongs to the word.

// nextWord returns the first word in text[after:]: text[from:to]. ok is false if there is none.
func nextWord(text string, after int) (from, to int, ok bool) {
	if from = after + strings.IndexFunc(text[after:], isInWord); from < after {
		return 0, 0, false
	}
	for to = from; to < len(text); {
		r, size := utf8.DecodeRuneInString(text[to:])
		isPoint := r == '.' && to+1 < len(text) && isDigit(rune(text[to-1])) && isDigit(rune(text[to+1]))
		if !isPoint && !isInWord(r) {
			break
		}
		to += size
	}
	return from, to, true
}

func isInWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

func eachWord(text string, visit func(from, to int)) {
	for from, to, ok := nextWord(text, 0); ok; from, to, ok = nextWord(text, to) {
		visit(from, to)
	}
}

// findAnchors returns the words that occur exactly once in nearly all texts, in the order of the first text that has all of them. Such
// words are the names of options in a command line, the keys of a JSON object, or the folders that many paths share. Words with
// digits are no anchors: a number that is constant in these texts, such as the year, may change later.
func findAnchors(texts []string) (anchors []string) {
	found := map[string]int{} // number of texts in which a word occurs exactly once
	for _, text := range texts {
		for word, n := range countWords(text) {
			if n == 1 && !strings.ContainsFunc(word, isDigit) {
				found[word]++
			}
		}
	}
	for word, n := range found {
		if float64(n) < minFormShare*float64(len(texts)) {
			delete(found, word)
		}
	}
	for _, text := range texts {
		anchors = anchors[:0]
		eachWord(text, func(from, to int) {
			if word := text[from:to]; found[word] > 0 {
				anchors = append(anchors, word)
			}
		})
		if len(anchors) == len(found) {
			return anchors
		}
	}
	return nil
}

func countWords(text string) map[string]int {
	counts := map[string]int{}
	eachWord(text, func(from, to int) { counts[text[from:to]]++ })
	return counts
}
