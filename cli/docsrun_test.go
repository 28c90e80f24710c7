package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	require "github.com/clustergym/clustergym/internal/must"
)

// A pageCommand is a command that a page shows: in a block of code, or in backquotes on one of inlinePages.
type pageCommand struct {
	page   string // relative to the root folder
	line   int
	text   string // without prompt and comment, on one line
	marker string // of the generated table that it stands in
}

// underRace says that the race detector watches the tests.
var underRace bool

// TestCommandsOfPagesRun runs the commands of all pages, in the order of each page and in a folder of its own, except those that
// leftOut lists with a reason and those of tables that experiments write. Each entry of leftOut must match a command,
// and the tests and targets that its reason names must exist.
func TestCommandsOfPagesRun(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("it trains small teams, which takes a minute, and many under the race detector: make test runs it")
	}
	commands, makefile, experiments := commandsOfPages(t), read(t, "../Makefile"), filesOf(t, "../studies/experiments/*.yaml")
	byPage, matched, ran := map[string][]pageCommand{}, map[int]bool{}, 0
	for _, c := range commands {
		i := reasonOf(c)
		switch {
		case c.marker != "":
			if !strings.Contains(experiments, "\n  - marker: "+c.marker+"\n") {
				t.Errorf("%s:%d: no file in studies/experiments writes a table with the name %q", c.page, c.line, c.marker)
			}
			continue
		case i >= 0:
			matched[i] = true
			if leftOut[i].flags == "" {
				continue
			}
			c.text += " " + leftOut[i].flags
		}
		byPage[c.page] = append(byPage[c.page], c)
		ran++
	}
	tests := namesOfTests(t)
	for i, l := range leftOut {
		if !matched[i] {
			t.Errorf("leftOut: no command of %s begins with %q", l.page, l.command)
		}
		for _, m := range regexp.MustCompile(`\bTest\w+|make [a-z-]+`).FindAllString(l.reason, -1) {
			target, isTarget := strings.CutPrefix(m, "make ")
			if isTarget && !strings.Contains(makefile, "\n"+target+":") || !isTarget && !tests[m] {
				t.Errorf("leftOut: the reason of %q names %s, which does not exist", l.command, m)
			}
		}
	}
	if ran < 60 {
		t.Errorf("%d commands run, want those of all pages", ran)
	}
	for page := range before {
		if len(byPage[page]) == 0 {
			t.Errorf("before prepares a folder for %s, of which no command runs", page)
		}
	}
	for page, commands := range byPage {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			runPage(t, page, commands)
		})
	}
}

// runPage runs the commands of a page in a new folder, after the preparations that before lists. docs and studies lead to the
// repository's.
func runPage(t *testing.T, page string, commands []pageCommand) {
	folder := t.TempDir()
	program := require.Get(os.Executable())(t)
	root := require.Get(filepath.Abs(".."))(t)
	for path, to := range map[string]string{
		"bin/clustergym": program, "docs": filepath.Join(root, "docs"), "studies": filepath.Join(root, "studies"),
		"testdata": filepath.Join(root, "cli/testdata/snapshot"),
	} {
		path = filepath.Join(folder, path)
		require.Do(t, cmp.Or(os.MkdirAll(filepath.Dir(path), 0o777), os.Symlink(to, path)))
	}
	server := newPageServer(t)
	defer server.stop(t)
	sh := func(where, line string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", server.moved(line))
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), mainVariable+"=1", tokenVariable+"=", "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if serves.MatchString(line) {
			server.start(t, where, cmd, &out)
			return
		}
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %s: %v\n%s", where, line, err, out.String())
		}
	}
	for _, line := range before[page] {
		sh("before "+page, line)
	}
	for _, c := range commands {
		sh(fmt.Sprintf("%s:%d", page, c.line), c.text)
	}
}

// reasonOf returns the index of the entry of leftOut with the longest beginning of the command, or -1.
func reasonOf(c pageCommand) int {
	best := -1
	for i, l := range leftOut {
		if l.page == c.page && strings.HasPrefix(c.text, l.command) && (best < 0 || len(l.command) > len(leftOut[best].command)) {
			best = i
		}
	}
	return best
}

var (
	testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	marked   = regexp.MustCompile(`^<!-- (end of )?([a-z0-9.-]+) -->$`)
	inline   = regexp.MustCompile("`((?:bin/)?clustergym [^`]*|go run [^`]*)`")
	comment  = regexp.MustCompile(`\s+# .*$`)
	tool     = regexp.MustCompile(`^(\$ )?\(?((bin/)?clustergym(-[a-z]+)?|make|go|kubectl|helm|python3?|pip|openssl|curl|head|echo|mkdir|cat|sed|tensorboard|docker|umask) `)
)

// filesOf returns the text of all files with names of a pattern.
func filesOf(t *testing.T, pattern string) string {
	t.Helper()
	paths := require.Get(filepath.Glob(pattern))(t)
	var b strings.Builder
	for _, path := range paths {
		b.WriteString(read(t, path))
	}
	return b.String()
}

// namesOfTests returns the names of the tests in this module and in cmd/clustergym-kube.
func namesOfTests(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "../*/*_test.go", "../*/*/*_test.go", "../*/*/*/*_test.go"} {
		files := require.Get(filepath.Glob(pattern))(t)
		for _, file := range files {
			for _, m := range testName.FindAllStringSubmatch(read(t, file), -1) {
				names[m[1]] = true
			}
		}
	}
	return names
}

// commandsOfPages returns the commands of README.md, docs, examples, studies and python, page by page in their order. The help of the
// commands, docs/cli, is left to TestCommandsOfPagesExist.
func commandsOfPages(t *testing.T) []pageCommand {
	t.Helper()
	pages := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "examples/*.md", "studies/*.md", "python/*.md"} {
		more := require.Get(filepath.Glob("../" + pattern))(t)
		for _, page := range more {
			if filepath.Dir(page) != "../docs/cli" {
				pages = append(pages, strings.TrimPrefix(page, "../"))
			}
		}
	}
	var all []pageCommand
	for _, page := range pages {
		all = append(all, commandsOf(page, read(t, "../"+page))...)
	}
	return all
}

// commandsOf returns the commands of a page. In blocks of the kind console those are the lines with a prompt, in blocks of the kind sh
// all lines, and in blocks without a kind all lines if the first begins with the name of a program.
func commandsOf(page, text string) []pageCommand {
	var all []pageCommand
	marker, kind, inside, shell := "", "", false, false
	until, countsInline := inlinePages[page]
	lines := strings.Split(strings.ReplaceAll(text, "\\\n", "\\\x00"), "\n")
	number := 1
	for _, line := range lines {
		at := number
		number += 1 + strings.Count(line, "\\\x00")
		line = regexp.MustCompile(`\s*\\\x00\s*`).ReplaceAllString(line, " ")
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence:
			inside, kind, shell = !inside, fence, fence == "sh"
		case !inside:
			if m := marked.FindStringSubmatch(line); m != nil {
				marker = map[bool]string{true: "", false: m[2]}[m[1] != ""]
			}
			if strings.HasPrefix(line, "    ") && tool.MatchString(strings.TrimSpace(line)) {
				all = append(all, pageCommand{page, at, comment.ReplaceAllString(strings.TrimSpace(line), ""), marker})
			}
			if countsInline = countsInline && (until == "" || line != until); countsInline {
				for _, m := range inline.FindAllStringSubmatch(line, -1) {
					all = append(all, pageCommand{page, at, m[1], marker})
				}
			}
		case strings.TrimSpace(line) == "":
		case kind == "console" && strings.HasPrefix(line, "$ "), shell, kind == "" && tool.MatchString(line+" "):
			shell = kind != "console"
			all = append(all, pageCommand{page, at, strings.TrimPrefix(comment.ReplaceAllString(line, ""), "$ "), marker})
		}
	}
	return all
}
