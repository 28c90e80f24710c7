package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// program is how the user calls this program. Main sets it.
var program = "clustergym"

// calledAs returns how the user called the program: by its name if a shell finds it by that, otherwise by its path.
func calledAs(arg string) string {
	if filepath.Base(arg) == arg {
		return arg
	}
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(arg) {
		if within, err := filepath.Rel(here, arg); err == nil && filepath.IsLocal(within) {
			return "." + string(filepath.Separator) + within
		}
	}
	return arg
}

// next returns a command line of this program that the user may run as it stands.
func next(words ...string) string {
	quoted := []string{quote(program)}
	for _, word := range words {
		quoted = append(quoted, quote(word))
	}
	return strings.Join(quoted, " ")
}

// plainWord matches words that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./,:=+@%-]+$`)

// quote returns a word as a shell reads it.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
