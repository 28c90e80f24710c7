package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/env/scenario"
)

const root = "../.."

// TestPagesShowTheCommandsOfExperiments checks that each page has the markers of each table, with the commands of the file above what
// they print, no marker twice, and no marker of a table that no experiment writes. check compares what the commands print.
func TestPagesShowTheCommandsOfExperiments(t *testing.T) {
	names, err := Names(root)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string][]string{} // markers by page
	for _, name := range names {
		f, err := Open(root, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range f.Tables {
			written[table.Page] = append(written[table.Page], table.Marker)
			for _, p := range table.Also {
				written[p.Page] = append(written[p.Page], table.Marker)
			}
			if table.Eval != nil {
				for _, s := range table.Eval.Scenarios {
					if _, err := scenario.Load(s, table.Eval.Sets...); err != nil {
						t.Errorf("%s:%d: %v", f.path, table.line, err)
					}
				}
			}
			block := betweenMarkers(t, table.Page, table.Marker)
			for _, c := range table.commands() {
				above := shown(table, c)
				at := strings.Index(block, above)
				if at < 0 {
					t.Fatalf("%s:%d: %s does not show this command between its markers of %s:\n%s", f.path, table.line, table.Page, table.Marker, above)
				}
				block = block[at+len(above):]
			}
		}
	}
	marks := regexp.MustCompile(`(?m)^<!-- ([a-z0-9.-]+) -->$`)
	for page, want := range written {
		var has []string
		for _, m := range marks.FindAllStringSubmatch(read(t, page), -1) {
			has = append(has, m[1])
		}
		slices.Sort(has)
		slices.Sort(want)
		if diff := cmp.Diff(want, has); diff != "" {
			t.Errorf("markers of %s differ from those of experiments (-experiments +page):\n%s", page, diff)
		}
	}
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func betweenMarkers(t *testing.T, page, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, page), "\n<!-- "+name+" -->\n")
	block, _, ended := strings.Cut(rest, "<!-- end of "+name+" -->\n")
	if !ok || !ended {
		t.Fatalf("%s has no markers of %s", page, name)
	}
	return block
}

const sample = `about: a sample
page: page.md
note: A note.
threads: 1
trainings:
  - worlds: [a, b]
    seeds: [1, 2]
    dir: runs/{world}-{seed}
    run: clustergym train --scenario {world} --seed {seed}
  - seeds: [1]
    dir: runs/on
    from: runs/a-1
    run: clustergym train
  - dir: runs/vdn
    run: clustergym-studies yardsticks learn
tables:
  - marker: one
    eval:
      scenarios: [s, t]
      sets: [x=1, y=2]
      windows: 3
      policies: [p, runs/a-1]
      against: [{baseline: p}, {baseline: p, metric: makespan_s, over_seeds: true}]
      out: runs/one
  - marker: few
    bare: true
    run: [clustergym bench ls, --markdown]
    part: 2
    copy: {from: runs/from.json, to: to.json}
    also: [{page: other.md, rows: [q, r], columns: [t]}]
`

// lab returns a repository with the pages of the sample, and the command lines that it has run.
func lab(t *testing.T) (*Lab, *[]string) {
	t.Helper()
	dir, lines := t.TempDir(), &[]string{}
	for name, text := range map[string]string{
		"page.md":           "# Page\n\n<!-- one -->\nold\n<!-- end of one -->\n\nText.\n\n<!-- few -->\n<!-- end of few -->\n",
		"other.md":          "# Other\n\n<!-- few -->\nold\n<!-- end of few -->\nText.\n",
		"runs/from.json":    "{}\n",
		"runs/a-1/run.yaml": "",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return &Lab{Root: dir, Say: func(string, ...any) {}, Command: func(_ context.Context, env []string, args ...string) ([]byte, error) {
		*lines = append(*lines, strings.Join(append(env, args...), " "))
		if slices.Contains(args, "bench") {
			return []byte("| a |\n|---|\n\n| p | s, 1 w | t, 2 w |\n|---|---|---|\n| q | 1 | 2 |\n| o | 3 | 4 |\n| r | 5 | 6 |\n"), nil
		}
		return []byte("| a table |\n"), nil
	}}, lines
}

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("sample.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRunTrainsPlaysAndWrites(t *testing.T) {
	l, lines := lab(t)
	f := parse(t, sample)
	if err := l.Run(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	eval := "clustergym --quiet eval --scenario s,t --set x=1 --set y=2 --windows 3 --policies p,runs/a-1 --baseline p "
	want := []string{
		"GOMAXPROCS=1 clustergym train --scenario a --seed 1 --dir runs/a-1 --resume",
		"GOMAXPROCS=1 clustergym train --scenario a --seed 2 --dir runs/a-2",
		"GOMAXPROCS=1 clustergym train --scenario b --seed 1 --dir runs/b-1",
		"GOMAXPROCS=1 clustergym train --scenario b --seed 2 --dir runs/b-2",
		"GOMAXPROCS=1 clustergym train --dir runs/on --from runs/a-1",
		"GOMAXPROCS=1 clustergym-studies yardsticks learn --dir runs/vdn",
		eval + "--seeds 1 --markdown --figures none --out runs/one",
		eval + "--metric makespan_s --seeds 1 --markdown --over-seeds --figures none --out runs/one",
		"clustergym --quiet bench ls --markdown",
	}
	if diff := cmp.Diff(want, *lines); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	above := "```\nclustergym eval --scenario s,t --set x=1 --set y=2 --windows 3 \\\n  --policies p,runs/a-1 \\\n  --baseline p "
	below := "\n```\n\n| a table |\n\nA note.\n\n"
	table := "| p | s, 1 w | t, 2 w |\n|---|---|---|\n| q | 1 | 2 |\n| o | 3 | 4 |\n| r | 5 | 6 |\n\n"
	for name, want := range map[string]string{
		"page.md": "# Page\n\n<!-- one -->\n" + above + "--seeds 1 --markdown --figures none --out runs/one" + below + above +
			"--metric makespan_s --seeds 1 --markdown --over-seeds --figures none --out runs/one" + below +
			"<!-- end of one -->\n\nText.\n\n<!-- few -->\n" + table + "<!-- end of few -->\n",
		"other.md": "# Other\n\n<!-- few -->\n| p | t, 2 w |\n|---|---|\n| q | 2 |\n| r | 6 |\n\n<!-- end of few -->\nText.\n",
		"to.json":  "{}\n",
	} {
		got, err := os.ReadFile(filepath.Join(l.Root, name))
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s (-want +got), %v:\n%s", name, err, diff)
		}
	}
}

func TestCheckNamesWhatDiffers(t *testing.T) {
	l, lines := lab(t)
	f := parse(t, sample)
	if err := l.Check(t.Context(), f); err == nil || !strings.Contains(err.Error(), "sample.yaml: 5 trainings are missing, the first is runs/a-2") {
		t.Errorf("with missing trainings: %v", err)
	}
	f.Trainings = nil
	if err := l.Run(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if err := l.Check(t.Context(), f); err != nil {
		t.Errorf("after run: %v", err)
	}
	for name, change := range map[string]func(string) string{
		"page.md": func(s string) string { return strings.Replace(s, "| a table |", "| another |", 1) },
		"to.json": func(string) string { return "" },
	} {
		path := filepath.Join(l.Root, name)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(change(string(text))), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err := l.Check(t.Context(), f)
	for _, want := range []string{"page.md:10: out of date\n  there:   | another |\n  printed: | a table |", "to.json:1: out of date\n  there:   \n  printed: {}"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check: %v, want %q", err, want)
		}
	}
	*lines = nil
	l.Only, l.Workers = regexp.MustCompile("^one$"), 2
	if err := l.Check(t.Context(), f); err == nil || len(*lines) != 2 || !strings.HasSuffix((*lines)[1], " --workers 2") {
		t.Errorf("Check of one table: %v, ran %q", err, *lines)
	}
}

func TestErrorsNameFileLineAndValue(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"note: A note.", "nota: A note.", "sample.yaml: line 3: field nota not found"},
		{"threads: 1", "threads: one", "sample.yaml: line 4: cannot unmarshal str `one` into int"},
		{"threads: 1", "threads: -1", `sample.yaml:1: about "a sample", page "page.md", threads -1, 2 tables: want`},
		{"page: page.md", "page: [", "sample.yaml: yaml: line"},
		{"    seeds: [1, 2]\n", "", `sample.yaml:6: training of "runs/a-{seed}": want no braces but {world} and {seed}`},
		{"dir: runs/{world}-{seed}", "dir: runs/{world}", `sample.yaml:6: two trainings write "runs/a"`},
		{"run: clustergym train\n", "run: rm -r\n", `sample.yaml:10: training of "runs/on" by "rm -r": want a folder, and clustergym`},
		{"run: clustergym-studies yardsticks learn", "run: clustergym-studies yardsticks learn\n    from: runs/a-1", `sample.yaml:14: training of "runs/vdn": only clustergym train begins from "runs/a-1"`},
		{"marker: few", "marker: one", `sample.yaml:25: table "one" stands twice`},
		{"marker: few", "marker: F w", `sample.yaml:25: table "F w": want a marker of small letters`},
		{"    run: [clustergym bench", "    run: [make bench", `sample.yaml:25: table "few": run "make bench ls": want clustergym`},
		{"      policies: [p, runs/a-1]\n", "", `sample.yaml:17: table "one": 2 scenarios, 0 policies`},
		{"part: 2", "part: -2", `sample.yaml:25: table "few": part -2: want 0 or more`},
		{", to: to.json", "", `sample.yaml:25: table "few": copy from "runs/from.json" to "": want both`},
		{"bare: true", "bare: false", `sample.yaml:25: table "few": also on "other.md", 2 rows, 1 columns: want`},
		{"about: a sample", "---\nabout: a sample\n---\n", "sample.yaml: "},
		{"marker: one", "marker: none", `sample.yaml:17: table "none": page.md: no lines <!-- none --> and <!-- end of none -->`},
		{"part: 2", "part: 3", `sample.yaml:25: table "few": part 3 of what the command prints: it has 2`},
		{"rows: [q, r]", "rows: [q, z]", `sample.yaml:25: table "few": for other.md: the table has no columns [], and 1 of the rows ["q" "z"]`},
		{"columns: [t]", "columns: [t, z]", `sample.yaml:25: table "few": for other.md: the table has no columns ["z"], and 2 of the rows`},
		{"page: other.md", "page: gone.md", `sample.yaml:25: table "few": open`},
	} {
		if !strings.Contains(sample, c.old) {
			t.Fatalf("the sample has no %q", c.old)
		}
		f, err := Parse("sample.yaml", []byte(strings.Replace(sample, c.old, c.new, 1)))
		if err == nil { // then the table does not fit its page
			l, _ := lab(t)
			err = l.Run(t.Context(), f)
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q in place of %q:\n  got  %v\n  want %s", c.new, c.old, err, c.want)
		}
	}
}
