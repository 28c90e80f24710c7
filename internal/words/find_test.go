// Package words finds words that the project has retired, so that each thing has one name in code, help and docs.
package words

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Use is an occurrence of a retired word.
type Use struct {
	Line  int // from 1
	Word  string
	Write string // what to write instead
}

// Find returns the retired words in the text of a file, line by line, except where they are allowed. The path is relative to the
// repository's root, with slashes. Case does not matter, and a word also counts as part of a name: examEvery, exam_every.
func Find(path, text string) (uses []Use) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		for _, word := range parts(line) {
			if write := retired[word]; write != "" && !allowed(word, path, line) {
				uses = append(uses, Use{n, word, write})
			}
		}
		for i := range phrases {
			p := &phrases[i]
			if phrase := p.says.FindString(line); phrase != "" && !allowed(p.word, path, line) {
				uses = append(uses, Use{n, phrase, p.write})
			}
		}
	}
	return uses
}

// retired maps each retired word to its replacement. Some retired words are too common elsewhere to be listed: "items" for
// candidates (a knapsack has items), "line" for a queue and "Listen" for Observe (see phrases).
var retired = map[string]string{
	"books": `"run files", or what is counted`,
	"exam":  `"validation"`, "exams": `"validation"`,
	"offer": `"candidate"`, "offers": `"candidates"`,
	"thought": `"candidate"`, "thoughts": `"candidates"`,
	"nap": `"retry interval"`, "naps": `"retry intervals"`,
	"strange": `"out of distribution"`,
	"sway":    `"influence"`, "sways": `"influences"`,
	"crowd": `"queue"`, "crowds": `"queues"`, "crowded": `"contended"`,
}

// Retired returns the retired words.
func Retired() []string { return slices.Sorted(maps.Keys(retired)) }

// phrases are words that are retired only together with others. Find does not see a phrase across a line break.
var phrases = []struct {
	word  string
	says  *regexp.Regexp
	write string
}{
	{"line", regexp.MustCompile(`(?i)\b(first|second|third|next|last|waits?|waiting) in line\b`), `"in the queue"`},
	{"listen", regexp.MustCompile(`\bListen\([^)]*\*?cluster\.`), `"Observe"`},
	{"head", regexp.MustCompile(`(?i)click on a (column's )?head\b`), `"click a header"`},
	{"others", regexp.MustCompile(`(?i)\bothers than this machine\b`), `"non-local clients"`},
	{"own", regexp.MustCompile(`(?i)\ban own (scheduler|reward|encoder|learner|trace|policy)\b`), `"your own"`},
}

// parts returns the words of a text in lower case. It splits names into their words: "nextOffer" has "next" and "offer".
func parts(text string) (words []string) {
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		letters, from := []rune(name), 0
		for i := 1; i <= len(letters); i++ {
			if i == len(letters) || begins(letters, i) {
				words = append(words, strings.ToLower(string(letters[from:i])))
				from = i
			}
		}
	}
	return words
}

// begins reports whether a new word of a name begins at letter i, which is not the first: in "GPUOffer" it is the O.
func begins(letters []rune, i int) bool {
	if !unicode.IsUpper(letters[i]) {
		return false
	}
	return unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])
}
