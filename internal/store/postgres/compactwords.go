package postgres

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// commonWords are in the vocabulary of every task, before its own words. Only append to this list, because
// stored receipts refer to the positions of the words. The list may have up to ownWords words.
var commonWords = []string{
	"", "model", "profile", "cohort", "requested", "lift", "enforce", "shadow", "off", "experts",
}

// ownWords is the position of the first word of a task's own vocabulary.
const ownWords = 32

// vocabulary holds the words of one task: the texts that its receipts repeat, to which the compact form refers by
// position. Only the holder of vocabularies.mu uses it.
type vocabulary struct {
	id           int32           // of the task in receipt_name
	words        []string        // by position - ownWords
	positions    map[string]int  // of words
	literalTexts map[string]bool // storable texts that were written literally; the value says whether twice. A full map forgets those written once
	pendingWords []string        // texts that were written literally twice, to be stored as words
}

// Bounds of a vocabulary. Lengths are in bytes.
const (
	maxWords        = 256 // of one task
	maxLiteralTexts = 512 // largest size of vocabulary.literalTexts
	minWordLen      = 3   // a shorter text takes hardly more bytes than its position
	maxWordLen      = 2000
)

func newVocabulary(id int32, words []string) *vocabulary {
	v := &vocabulary{id: id, positions: make(map[string]int, len(words)), literalTexts: map[string]bool{}}
	v.add(words)
	return v
}

// add appends words in the order of their positions.
func (v *vocabulary) add(words []string) {
	for _, word := range words {
		v.positions[word] = ownWords + len(v.words)
		v.words = append(v.words, word)
	}
}

// position returns the position of a text that is a word. It remembers a text that is not a word but can become one.
// If such a text is written a second time, it becomes pending.
func (v *vocabulary) position(s string) (int, bool) {
	if i := slices.Index(commonWords, s); i >= 0 {
		return i, true
	}
	if i, ok := v.positions[s]; ok {
		return i, true
	}
	isStorable := len(s) >= minWordLen && len(s) <= maxWordLen && utf8.ValidString(s) && !strings.Contains(s, "\x00")
	if !isStorable || len(v.words)+len(v.pendingWords) >= maxWords {
		return 0, false
	}
	switch again, known := v.literalTexts[s]; {
	case !known:
		if len(v.literalTexts) >= maxLiteralTexts {
			maps.DeleteFunc(v.literalTexts, func(_ string, again bool) bool { return !again }) // texts that were written twice stay, so that they do not become pending again
		}
		v.literalTexts[s] = false
	case !again:
		v.literalTexts[s] = true
		v.pendingWords = append(v.pendingWords, s)
	}
	return 0, false
}

func wordAt(words []string, position uint64) (string, bool) {
	if position < uint64(len(commonWords)) {
		return commonWords[position], true
	}
	if own := position - ownWords; position >= ownWords && own < uint64(len(words)) {
		return words[own], true
	}
	return "", false
}
