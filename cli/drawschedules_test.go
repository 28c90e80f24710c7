package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

func TestSchedulesAreDrawn(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	trace := file(t, "jobs.csv", jobs)
	for _, policy := range []string{"fifo", "srtf"} {
		s := must(t, "simulate", "--trace", trace, "--servers", "1", "--gpus-per-server", "4", "--policy", policy, "--show",
			"--log-out", at(policy+".jsonl.gz"))
		contains(t, s.out, policy+": mean JCT", "server-0 0 │", "waiting │", "└┴──", "A 1 (2 GPUs)", "\nJCT ")
		line, _, _ := strings.Cut(s.out, "\n")
		if n := utf8.RuneCountInString(line); n != plainWidth {
			t.Errorf("%d columns, want %d", n, plainWidth)
		}
		if strings.Contains(s.out, "\x1b") {
			t.Error("colour, but no terminal")
		}
	}
	s := must(t, "replay", at("fifo.jsonl.gz"), at("srtf.jsonl.gz"), "--show", "--gantt", at("two.svg"))
	contains(t, s.out, "fifo: mean JCT", "srtf: mean JCT")
	if !regexp.MustCompile(`\npreemptions +0 +3\n(.*\n)*replay +every operation is allowed +every operation is allowed\n`).MatchString(s.out) {
		t.Errorf("not side by side:\n%s", s.out)
	}
	contains(t, read(t, at("two.svg")), "fifo", "srtf")
	var both []replayed
	if err := json.Unmarshal([]byte(must(t, "replay", at("fifo.jsonl.gz"), at("srtf.jsonl.gz"), "--verify", "--json").out), &both); err != nil ||
		len(both) != 2 || both[0].Policy != "fifo" || both[1].Policy != "srtf" || !both[1].Verified {
		t.Errorf("%v: %+v", err, both)
	}

	t.Setenv("LC_ALL", "C")
	plain := must(t, "replay", at("fifo.jsonl.gz"), "--show").out
	if i := strings.IndexFunc(plain, func(r rune) bool { return r > 127 }); i >= 0 {
		t.Errorf("not ASCII:\n%s", plain)
	}
}

func TestDrawingsThatCannotBeAreRefused(t *testing.T) {
	trace := file(t, "jobs.csv", jobs)
	log := filepath.Join(t.TempDir(), "log.jsonl")
	simulate := []string{"simulate", "--trace", trace, "--servers", "1", "--gpus-per-server", "4", "--policy", "fifo"}
	must(t, append(slices.Clone(simulate), "--log-out", log)...)
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"a drawing as JSON", "--json", append(slices.Clone(simulate), "--show", "--json")},
		{"a replay's drawing as JSON", "--json", []string{"replay", log, "--show", "--json"}},
		{"standard input twice", "standard input", []string{"replay", "-", "-"}},
		{"three logs", "3", []string{"replay", log, log, log}},
	} {
		if s := command(t, c.args...); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, c.want) || s.out != "" {
			t.Errorf("%s: exit code %d, %q, %q", c.name, s.code, s.out, s.talk)
		}
	}
}

// TestGzipBombsAreRefused checks that small files that would unpack to far more than fits in memory are refused before they are
// unpacked.
func TestGzipBombsAreRefused(t *testing.T) {
	pack := func(fill func(w io.Writer)) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		fill(z)
		require.Do(t, z.Close())
		return b.String()
	}
	zeros := pack(func(w io.Writer) {
		for range 64 {
			w.Write(make([]byte, 1<<20))
		}
	})
	if s := command(t, "replay", file(t, "zeros.jsonl.gz", zeros)); s.code != cmdline.CodeError ||
		!strings.Contains(s.talk, "zeros.jsonl.gz") || !strings.Contains(s.talk, "line 1") {
		t.Errorf("a line without an end: exit code %d, %q", s.code, s.talk)
	}
}

// TestWhatThePageOnSeeingSaysIsSo runs the commands of docs/seeing.md in order in one folder, and checks that they print what the
// page shows.
func TestWhatThePageOnSeeingSaysIsSo(t *testing.T) {
	page := require.Get(os.ReadFile(filepath.Join("..", "docs", "seeing.md")))(t)
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Chdir(t.TempDir())
	ran, printed := 0, ""
	for i, block := range strings.Split(string(page), "\n```") {
		if i%2 == 0 {
			continue
		}
		kind, body, _ := strings.Cut(block, "\n")
		switch kind {
		case "sh":
			for line := range strings.Lines(body) {
				words := strings.Fields(line)
				if words[0] != "clustergym" {
					t.Fatalf("%q is no command of clustergym", line)
				}
				printed = must(t, words[1:]...).out
				ran++
			}
		case "text":
			for line := range strings.Lines(body) {
				if !slices.ContainsFunc(strings.Split(printed, "\n"), func(have string) bool {
					return strings.TrimRight(have, " ") == strings.TrimRight(line, " \n")
				}) {
					t.Errorf("the command does not print %q but\n%s", line, printed)
				}
			}
		default:
			t.Errorf("a block of kind %q: want sh or text", kind)
		}
	}
	if ran < 4 {
		t.Errorf("%d commands", ran)
	}
}
