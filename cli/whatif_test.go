package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// TestThePageOfWhatIf checks that the commands of docs/what-if.md print what the page shows.
func TestThePageOfWhatIf(t *testing.T) { checkPage(t, "what-if.md", 5) }

// TestTheSnapshotsPage checks that the commands of docs/snapshots.md print what the page shows, with the files of testdata/snapshot.
func TestTheSnapshotsPage(t *testing.T) {
	checkPage(t, "snapshots.md", 9, "kubectl.json", "kueue.json", "nodes.json", "squeue.json")
}

// checkPage checks that the commands in the console blocks of a page of docs print what the page shows. They run in a folder with
// the given files of testdata/snapshot. The page must have at least the given number of commands.
func checkPage(t *testing.T, name string, least int, files ...string) {
	t.Helper()
	path := require.Get(filepath.Abs("../docs/" + name))(t)
	page, folder := read(t, path), t.TempDir()
	for _, name := range files {
		text := read(t, filepath.Join("testdata", "snapshot", name))
		require.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666))
	}
	t.Chdir(folder)
	var said []string
	inside, asked := false, 0
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
			said = append(said, line)
		case !inside:
			said = append(said, line)
		case strings.HasPrefix(line, "$ "):
			said = append(said, line)
			said = append(said, shell(t, strings.TrimPrefix(line, "$ "))...)
			asked++
		}
	}
	got := strings.Join(said, "\n") + "\n"
	if *updatePlans {
		require.Do(t, os.WriteFile(path, []byte(got), 0o666))
		page = got
	}
	if got != page || asked < least {
		t.Errorf("with what its %d commands print, the page is\n%s", asked, got)
	}
}

// shell runs a line of the page and returns the lines that it prints, without blanks at their ends. The line may redirect the
// output into a file, or show only some of its lines by head -N, tail -N or grep WORD.
func shell(t *testing.T, line string) []string {
	t.Helper()
	line, into, _ := strings.Cut(line, " > ")
	line, filter, _ := strings.Cut(line, " | ")
	args := strings.Fields(line)
	if filepath.Base(args[0]) != "clustergym" {
		t.Fatalf("%s: want a clustergym command", line)
	}
	out := filtered(t, must(t, args[1:]...).out, filter)
	if into != "" {
		require.Do(t, os.WriteFile(into, []byte(out), 0o666))
		return nil
	}
	var lines []string
	for l := range strings.Lines(out) {
		lines = append(lines, strings.TrimRight(l, " \n"))
	}
	return lines
}

// filtered returns the lines that head -N, tail -N or grep WORD keeps, or all if the filter is "".
func filtered(t *testing.T, text, filter string) string {
	t.Helper()
	if filter == "" {
		return text
	}
	tool, arg, _ := strings.Cut(filter, " ")
	lines := slices.Collect(strings.Lines(text))
	if tool == "grep" {
		lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, arg) })
		return strings.Join(lines, "")
	}
	n, err := strconv.Atoi(strings.TrimPrefix(arg, "-"))
	switch {
	case err != nil || n > len(lines):
		t.Fatalf("%s of %d lines, error %v", filter, len(lines), err)
	case tool == "head":
		lines = lines[:n]
	case tool == "tail":
		lines = lines[len(lines)-n:]
	default:
		t.Fatalf("%s: want head, tail or grep", filter)
	}
	return strings.Join(lines, "")
}

// TestTheTourOfTheREADME checks that the commands of the tour print what the README shows.
func TestTheTourOfTheREADME(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains a team, which takes half a minute")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the README shows what a processor with this architecture computes; others may differ in the last digits")
	}
	checkPage(t, "../README.md", 6)
}

func TestWhatifObeysItsOptions(t *testing.T) {
	example := must(t, "plan", "--example").out
	snapshot := file(t, "cluster.json", example)
	ask := func(args ...string) said {
		return command(t, append([]string{"whatif", "--snapshot", snapshot, "--policy", "fifo"}, args...)...)
	}
	contains(t, ask().out, "finetune-70b    pending  in 60.0min  in 13.0h")
	contains(t, ask("--add", "1x8,1x4:V100").out, "2 servers more save", "44")
	contains(t, ask("--remove", "server-2,server-3").out, "2 servers less cost", "interruptions")
	contains(t, ask("--against", "srtf", "--add", "1x8").out, "srtf, 1 server more", "srtf with 1 server more saves")
	if s := ask("--top", "2"); !strings.Contains(s.out, "2 of 8 jobs; --all") || strings.Contains(s.out, "bert-large") {
		t.Errorf("two jobs:\n%s", s.out)
	}
	if first := ask("--against", "random", "--seed", "3").out; first != ask("--against", "random", "--seed", "3").out {
		t.Error("the same command line says something else")
	}
	if s := commandWith(t.Context(), example, "whatif", "--snapshot", "-", "--policy", "prior", "--quiet"); s.code != cmdline.CodeOK {
		t.Errorf("a snapshot on standard input: exit code %d\n%s", s.code, s.talk)
	}
	if read(t, snapshot) != example {
		t.Error("the snapshot has changed")
	}

	// Scripts read these keys: new ones are allowed, but none may disappear.
	want := []string{"assumed", "base", "change", "compared", "difference", "effects", "jobs", "now_s"}
	if got := keys(t, ask("--json", "--remove", "server-1").out); !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}

	unknown := file(t, "unknown.json", strings.ReplaceAll(example, `"estimate_s":18000,`, ""))
	contains(t, must(t, "whatif", "--snapshot", unknown, "--policy", "fifo", "--assume", "5h").out,
		"the one assumed is taken (bert-large)")
	beliefs := filepath.Join(t.TempDir(), "beliefs.json")
	must(t, "beliefs", "-s", "embedded-physics-untold-v1", "--save", beliefs)
	contains(t, must(t, "whatif", "--snapshot", unknown, "--policy", "fifo", "--beliefs", beliefs).out,
		"the median of similar jobs that have ended is taken (bert-large)")
	fifo := []string{"--snapshot", snapshot, "--policy", "fifo"}
	with := func(more ...string) []string { return append(slices.Clone(fifo), more...) }
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no policy", []string{"--snapshot", snapshot}, cmdline.CodeUsage, "policy"},
		{"a policy that is not there", []string{"--snapshot", snapshot, "--policy", "fifoo"}, cmdline.CodeUsage, `did you mean "fifo"?`},
		{"no such folder", with("--against", "./none"), cmdline.CodeNoRun, "no such folder"},
		{"servers that are none", with("--add", "4"), cmdline.CodeUsage, "4x8"},
		{"a server that is not there", with("--remove", "server-9"), cmdline.CodeError, "server-9"},
		{"physics that are none", with("--physics", "x"), cmdline.CodeUsage, "--physics"},
		{"a negative restart", with("--restart", "-1s"), cmdline.CodeUsage, "--restart"},
		{"a job without an estimate", []string{"--snapshot", unknown, "--policy", "fifo"}, cmdline.CodeError, "or assume one for all: --assume 1h"},
		{"beliefs that are not there", with("--beliefs", "none.json"), cmdline.CodeError, "none.json"},
		{"no snapshot", []string{"--snapshot", "none.json", "--policy", "fifo"}, cmdline.CodeError, "none.json"},
	} {
		if s := command(t, append([]string{"whatif"}, c.args...)...); s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s", c.name, s.code, c.code, c.want, s.talk)
		}
	}
}
