package intake

import (
	"fmt"
	"unicode/utf8"
)

// valid returns text with each byte that is not UTF-8 replaced by U+FFFD. Slurm prints the names of jobs and the comments of
// users as they were typed, often in Latin-1.
func (n *notes) valid(file string, text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	line, noted := 1, 0
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		switch {
		case c == utf8.RuneError && size == 1:
			if line != noted {
				n.add("lines with bytes that are not UTF-8, which are replaced", fmt.Sprintf("line %d of %s", line, file))
				noted = line
			}
			out = utf8.AppendRune(out, utf8.RuneError)
		case c == '\n':
			line++
			out = append(out, '\n')
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}
