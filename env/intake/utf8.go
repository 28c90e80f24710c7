package intake

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// valid returns text with bytes that are not UTF-8 replaced by U+FFFD. Slurm prints the names of jobs and the comments of users
// as they were typed, often in Latin-1.
func (n *notes) valid(file string, text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	at := 0
	for line := range bytes.Lines(text) {
		if at++; !utf8.Valid(line) {
			n.add("lines with bytes that are not UTF-8, which are replaced", fmt.Sprintf("line %d of %s", at, file))
		}
	}
	return bytes.ToValidUTF8(text, []byte("\ufffd"))
}
