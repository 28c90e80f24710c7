// Package names checks names from outside, such as those of jobs, users, servers and policies, before they reach a terminal, a
// log or a page. A name must not move the cursor, clear the screen or reverse the direction of the text around it.
package names

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Longest is the longest name in bytes.
const Longest = 256

// OK reports whether s is a valid name: clean, and at most Longest bytes. The empty name is valid.
func OK(s string) bool { return len(s) <= Longest && Clean(s) }

// Clean reports whether s is UTF-8 without control characters and without characters that set the direction of text.
func Clean(s string) bool { return utf8.ValidString(s) && strings.IndexFunc(s, acts) < 0 }

// acts reports whether a character does something instead of being shown.
func acts(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Escape returns text, for example an error that quotes a file, in a form that is safe to show. It writes everything that is not
// clean as a Go escape, for example \x1b. Line ends and tabs stay.
func Escape(text string) string {
	if Clean(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == utf8.RuneError && n == 1 || r < utf8.RuneSelf && acts(r):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case acts(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}
