package cli

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/scenario"
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
func next(words ...string) string { return line(append([]string{program}, words...)) }

// line returns words as a line that a shell reads as these.
func line(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// rivals returns rules to compare a learned policy with in scenarios: those that can play all of them.
func rivals(scenarios []*scenario.Scenario) []string {
	for _, s := range scenarios {
		if !s.Estimated() {
			return []string{"fifo", "sjfskip" + baselines.KnowSuffix, "srtf" + baselines.KnowSuffix, "las"}
		}
	}
	return []string{"fifo", "sjfskip", "srtf", "las"}
}

// tested reports whether all scenarios have test windows.
func tested(scenarios []*scenario.Scenario) bool {
	return !slices.ContainsFunc(scenarios, func(s *scenario.Scenario) bool { return len(s.Window.Test) == 0 })
}

// named returns the policy of a folder as commands take it among others: with a name of its own if the folder's last element is
// the name of one of them, or if the path contains an equals sign, before which the name of a policy would stand.
func named(dir string, others []string) string {
	if base := filepath.Base(filepath.Clean(dir)); strings.Contains(dir, "=") || slices.Contains(others, base) {
		return "learned=" + dir
	}
	return dir
}

// list returns what a flag takes that lists values.
func list(values []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(values) // to memory: it never fails
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
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
