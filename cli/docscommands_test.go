package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// commandLine finds a command line of the program on a line of a page: in a block of code, with or without a prompt, or in
// backquotes.
var commandLine = regexp.MustCompile("(?m)(?:^(?:\\$ )?|`|[;&|(] *)(?:(?:[A-Za-z./]*/)?clustergym)( [a-z][^`\n]*)")

// valueLeftOut matches errors about a word that stands for a value: N, FILE, s. A page may also leave out the value of the last flag.
var valueLeftOut = regexp.MustCompile(`^invalid argument "([A-Z]+|[a-z]|\.\.\.)" for `)

// TestCommandsOfPagesExist checks that every command line of clustergym in README.md and docs names a command and flags that exist, and
// every one of an experiment.
func TestCommandsOfPagesExist(t *testing.T) {
	pages := require.Get(filepath.Glob("../docs/*.md"))(t)
	more := require.Get(filepath.Glob("../docs/*/*.md"))(t)
	pages = append(append(pages, more...), "../README.md", "../examples/README.md", "../python/README.md")
	for _, name := range []string{"learned", "told", "yardsticks", "expectations", "physics-fit"} {
		pages = append(pages, "../studies/"+name+".md")
	}
	n := 0
	for _, page := range pages {
		text := require.Get(os.ReadFile(page))(t)
		whole := strings.ReplaceAll(string(text), "\\\n", " ")
		for _, m := range commandLine.FindAllStringSubmatch(whole, -1) {
			words, ok := shellWords(m[1])
			if !ok || words[0] == "gen-docs" {
				continue
			}
			n++
			if err := parses(words); err != nil {
				t.Errorf("%s: clustergym%s: %v", page, m[1], err)
			}
		}
	}
	if n < 200 {
		t.Errorf("%d command lines found, want those of all pages", n)
	}
	put := strings.NewReplacer("    run: ", "", ">-\n      ", "", "\n      --", " --", "{seed}", "1", "{world}", "w")
	for _, m := range commandLine.FindAllStringSubmatch(put.Replace("\n"+filesOf(t, "../studies/experiments/*.yaml")), -1) {
		if words, ok := shellWords(m[1]); ok {
			if err := parses(words); err != nil {
				t.Errorf("studies/experiments: clustergym%s: %v", m[1], err)
			}
		}
	}
}

// parses reports whether the command and its flags exist and the values of flags can be read.
func parses(words []string) error {
	root := newRootCmd(&app{App: cmdline.New(strings.NewReader(""), &strings.Builder{}, &strings.Builder{})})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if cmd == root {
		root.InitDefaultVersionFlag()
	}
	err = cmd.ParseFlags(rest)
	if err != nil && (valueLeftOut.MatchString(err.Error()) || strings.HasPrefix(err.Error(), "flag needs an argument: "+rest[len(rest)-1])) {
		return nil
	}
	return err
}

// shellWords returns the words of a command up to the first operator of the shell. It returns false if the line is no command but a
// phrase about one.
func shellWords(line string) (words []string, ok bool) {
	line = strings.TrimSpace(line)
	var word strings.Builder
	quote, within := rune(0), false
	end := func() {
		if within {
			words = append(words, word.String())
		}
		word.Reset()
		within = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, within = r, true
		case r == ' ' || r == '\t':
			end()
		case strings.ContainsRune("|;&<>()#`", r):
			end()
			return words, len(words) > 0
		default:
			word.WriteRune(r)
			within = true
		}
	}
	end()
	return words, len(words) > 0
}

// TestEveryPageHasAPlace checks that the menu of the site and the table of docs/README.md lead to every page of docs.
func TestEveryPageHasAPlace(t *testing.T) {
	pages := require.Get(filepath.Glob("../docs/*.md"))(t)
	menu, list := read(t, "../site/mkdocs.yml"), read(t, "../docs/README.md")
	for _, page := range pages {
		name := filepath.Base(page)
		if !regexp.MustCompile(`(?m)(- |: )` + regexp.QuoteMeta(name) + `$`).MatchString(menu) {
			t.Errorf("site/mkdocs.yml has no place for docs/%s in its menu", name)
		}
		if name != "README.md" && !strings.Contains(list, "]("+name) {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}
