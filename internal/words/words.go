// Package words refuses words that the project has retired, so that one thing keeps one name in code, help and docs.
package words

import (
	"regexp"
	"strings"
	"unicode"
)

// Use is a place where a retired word stands.
type Use struct {
	Line  int // from 1
	Word  string
	Write string // instead
}

// Find returns the retired words in the text of a file, line by line, but those that are allowed there. The path is that from
// the repository's root, with slashes. A word counts whatever its case, whole or as a part of a name: examEvery, exam_every.
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

// retired tells what to write instead of a word. Among the retired words are some that are too common elsewhere to be refused:
// "items" for candidates (a knapsack has items), "line" for a queue and "Listen" for Observe (see phrases).
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

// phrases are retired words that are refused in some company only. A phrase that a line break parts is not seen.
var phrases = []struct {
	word  string
	says  *regexp.Regexp
	write string
}{
	{"line", regexp.MustCompile(`(?i)\b(first|second|third|next|last|waits?|waiting) in line\b`), `"in the queue"`},
	{"listen", regexp.MustCompile(`\bListen\([^)]*\*?cluster\.`), `"Observe"`},
}

// parts returns the words of a text in lower case, those of names one by one: "nextOffer" has "next" and "offer".
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

// begins reports whether a word of a name begins at a letter that is not its first: in "GPUOffer" it is the O.
func begins(letters []rune, i int) bool {
	if !unicode.IsUpper(letters[i]) {
		return false
	}
	return unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])
}
