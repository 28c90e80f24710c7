package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/folderlock"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// contents returns the contents of the files of a folder, by name, except for wall-clock times.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == timingName {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	must.Do(t, err)
	return files
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: the files %v differ from %v", what, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// journaled returns a small plan with a journal and a clock that advances at each call. The plan counts in played the cases
// simulated.
func journaled(t *testing.T, dir string, played *int, names ...string) Plan {
	plan := smallPlan(t, names...)
	plan.Journal, plan.Build, plan.Workers = dir, "a build", 1
	ticks := time.Duration(0)
	plan.Clock = func() time.Duration { ticks += time.Millisecond; return ticks }
	for i := range plan.Policies {
		create := plan.Policies[i].New
		plan.Policies[i].New = func() (cluster.Scheduler, error) { *played++; return create() }
	}
	return plan
}

func encoded(t *testing.T, results []Result) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, WriteJSONL(&b, results))
	for _, r := range results {
		if r.Log != nil {
			must.Do(t, r.Log.Write(&b))
		}
	}
	return b.String()
}

// TestResumedEqualsUndisturbed checks that a run which is stopped anywhere, even in the middle of a line, resumes and ends with
// the same results and the same bytes as an uninterrupted run, and that it plays no finished case twice.
func TestResumedEqualsUndisturbed(t *testing.T) {
	var played int
	whole := t.TempDir()
	plan := journaled(t, whole, &played, "fifo", "srtf", "random")
	want := must.Get(Run(t.Context(), plan, nil))(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, stop := range []int{0, 1, 7, len(want) - 1, len(want)} {
		played = 0
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Run(ctx, journaled(t, dir, &played, "fifo", "srtf", "random"), func(p Progress) {
			if p.Done == stop {
				cancel()
			}
		})
		if (err == nil) != (stop == len(want)) {
			t.Fatalf("stopped after %d cases: error %v", stop, err)
		}
		tear(t, filepath.Join(dir, journalName), r)
		tear(t, filepath.Join(dir, timingName), r)
		kept := -1
		got, err := Run(t.Context(), journaled(t, dir, &played, "fifo", "srtf", "random"), func(p Progress) {
			if kept < 0 {
				kept = p.Kept
			}
		})
		must.Do(t, err)
		if kept != stop || played != len(want) {
			t.Errorf("stopped after %d cases: %d were kept, and %d played in all, want %d", stop, kept, played, len(want))
		}
		if encoded(t, got) != encoded(t, want) {
			t.Errorf("stopped after %d cases: other results", stop)
		}
		same(t, fmt.Sprintf("stopped after %d cases", stop), contents(t, dir), contents(t, whole))
		for i := range got {
			if got[i].Timing == nil || got[i].Timing.Decisions == 0 {
				t.Fatalf("stopped after %d cases: no timing of %v", stop, got[i].Case)
			}
		}
	}
}

// TestJournalDoesNotTellWhoWasFaster checks that the final journal has the order of the plan, whichever case finished first.
func TestJournalDoesNotTellWhoWasFaster(t *testing.T) {
	var want map[string]string
	for _, workers := range []int{1, 2} {
		plan := smallPlan(t, "fifo", "srtf")
		plan.Journal, plan.Workers = t.TempDir(), workers
		overtaken := make(chan struct{})
		first := plan.Policies[0].New
		plan.Policies[0].New = func() (cluster.Scheduler, error) {
			if workers > 1 {
				<-overtaken
			}
			return first()
		}
		if _, err := Run(t.Context(), plan, func(p Progress) {
			if p.Done == 1 {
				close(overtaken)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = contents(t, plan.Journal)
		}
		same(t, fmt.Sprintf("%d workers", workers), contents(t, plan.Journal), want)
	}
}

// tear appends an incomplete line.
func tear(t *testing.T, path string, r *rand.Rand) {
	t.Helper()
	f, err := appendTo(path)
	must.Do(t, err)
	line := `{"key":"0123456789abcdef0123456789abcdef","result":{"scenario":"embedded`
	_, err = f.WriteString(line[:r.IntN(len(line))])
	must.Do(t, errors.Join(err, f.Close()))
}

// TestOnlyNewCasesArePlayed checks that a second run plays exactly the cases whose result may have changed.
func TestOnlyNewCasesArePlayed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Plan)
		again  int // number of cases played again, of 8 for each policy
	}{
		{"the same plan", func(*Plan) {}, 0},
		{"a policy more", func(p *Plan) { p.Policies = append(p.Policies, policies("las")...) }, 8},
		{"a policy less", func(p *Plan) { p.Policies = p.Policies[:1] }, 0},
		{"other weights", func(p *Plan) { p.Policies[1].Digest = "other" }, 8},
		{"another baseline of the same name", func(p *Plan) { p.Policies[1].Rule = "other" }, 8},
		{"another scenario of the same name", func(p *Plan) { p.Suites[0].Digest = "other" }, 16},
		{"another build", func(p *Plan) { p.Build = "another" }, 16},
		{"a seed more", func(p *Plan) { p.Suites[0].Seeds = append(p.Suites[0].Seeds, 3) }, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, played := t.TempDir(), 0
			plan := journaled(t, dir, &played, "fifo", "srtf")
			if n := len(plan.Cases()); n != 16 {
				t.Fatalf("%d cases, want 16", n)
			}
			must.Get(Run(t.Context(), plan, nil))(t)
			changed := smallPlan(t, "fifo", "srtf")
			changed.Journal, changed.Build = dir, plan.Build
			c.change(&changed)
			kept := -1
			if _, err := Run(t.Context(), changed, func(p Progress) {
				if kept < 0 {
					kept = p.Kept
				}
			}); err != nil {
				t.Fatal(err)
			}
			if again := len(changed.Cases()) - kept; again != c.again {
				t.Errorf("%d cases played, want %d", again, c.again)
			}
			fresh := t.TempDir()
			changed.Journal = fresh
			must.Get(Run(t.Context(), changed, nil))(t)
			same(t, c.name, contents(t, dir), contents(t, fresh))
		})
	}
}

// TestTwoPlansInOneFolder checks that Run returns an error for a folder in which another plan runs.
func TestTwoPlansInOneFolder(t *testing.T) {
	dir, played := t.TempDir(), 0
	var errs []error
	if _, err := Run(t.Context(), journaled(t, dir, &played, "fifo", "srtf"), func(p Progress) {
		if p.Done == 3 {
			_, err := Run(t.Context(), journaled(t, dir, &played, "las"), nil)
			errs = append(errs, err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s is in use by process %d", dir, os.Getpid())
	if len(errs) != 1 || errs[0] == nil || !strings.Contains(errs[0].Error(), want) {
		t.Errorf("a second plan: %v, want %q", errs, want)
	}
	if played != 16 {
		t.Errorf("%d cases played, want 16", played)
	}
	if _, err := Run(t.Context(), journaled(t, dir, &played, "las"), nil); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
}

// TestWhatAKilledPlanLeftIsRemoved checks that the next plan in a folder removes the half-written files of one that was killed, and
// nothing that is somebody's own.
func TestWhatAKilledPlanLeftIsRemoved(t *testing.T) {
	dir, played := t.TempDir(), 0
	own := filepath.Join(dir, ".notes.tmp-mine")
	left := []string{
		atomicfile.TempName(filepath.Join(dir, timingName)), atomicfile.TempName(filepath.Join(dir, "report.html")),
		atomicfile.TempName(filepath.Join(dir, schedulesName, "x.jsonl.gz")),
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, schedulesName), 0o777))
	for _, path := range append(left, own, filepath.Join(dir, folderlock.Name)) {
		must.Do(t, os.WriteFile(path, []byte("half"), 0o666))
	}
	must.Get(Run(t.Context(), journaled(t, dir, &played, "las"), nil))(t)
	for _, path := range append(left, filepath.Join(dir, folderlock.Name)) {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	if _, err := os.Lstat(own); err != nil {
		t.Error(err)
	}
}

// TestChangedLinesArePlayedAgain checks that a line with a changed digit, or any other damage, does not count as a result: Run
// plays its case again and reports the line. The same holds for a line without a checksum, from an older version.
func TestChangedLinesArePlayedAgain(t *testing.T) {
	dir, played := t.TempDir(), 0
	path := filepath.Join(dir, journalName)
	must.Get(Run(t.Context(), journaled(t, dir, &played, "fifo", "srtf"), nil))(t)
	want := contents(t, dir)
	lines := strings.SplitAfter(want["/"+journalName], "\n")
	change := func(at int, old, new string) string {
		all := slices.Clone(lines)
		if all[at] = strings.Replace(all[at], old, new, 1); all[at] == lines[at] {
			t.Fatalf("%q does not stand in %s", old, lines[at])
		}
		return strings.Join(all, "")
	}
	digit := regexp.MustCompile(`"mean_jct_s":\d*`).FindString(lines[3])
	unsealed := regexp.MustCompile(`,"sha256":"[^"]*"`)
	for _, c := range []struct {
		name  string
		text  string
		again int
		tells []string
	}{
		{"a digit of a result", change(3, digit, digit+"9"), 1, []string{":4: ", "checksum"}},
		{"a digit of a key", change(0, `"key":"`, `"key":"0`), 1, []string{":1: "}},
		{"a digit of a checksum", change(5, `"sha256":"`, `"sha256":"0`), 1, []string{":6: "}},
		{"a case that became another", change(2, `"policy":"fifo"`, `"policy":"srtf"`), 1, []string{":3: "}},
		{"no line at all", change(1, lines[1], "\x00\x00\n"), 1, []string{":2: ", "no checksum"}},
		{"a line too long", change(7, lines[7], strings.Repeat("x", 3*maxLine)+"\n"), 1, []string{":8: ", "longer"}},
		{"a journal of an older version", unsealed.ReplaceAllString(want["/"+journalName], ""), 16,
			[]string{":1: ", ":5: ", "no checksum", "and 11 more"}},
		{"a line twice", strings.Join(lines, "") + lines[4], 0, nil},
		{"the last line torn", strings.Join(lines[:15], "") + lines[15][:40], 1, nil},
		{"the last end of a line gone", strings.Join(lines[:15], "") + strings.TrimSpace(lines[15]), 0, nil},
	} {
		must.Do(t, os.WriteFile(path, []byte(c.text), 0o666))
		played = 0
		plan := journaled(t, dir, &played, "fifo", "srtf")
		var told []string
		plan.Warn = func(err error) { told = append(told, err.Error()) }
		if _, err := Run(t.Context(), plan, nil); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if played != c.again {
			t.Errorf("%s: %d cases played, want %d", c.name, played, c.again)
		}
		same(t, c.name, contents(t, dir), want)
		if len(told) != min(len(c.tells), 1) {
			t.Errorf("%s: told of %q", c.name, told)
		}
		for _, part := range c.tells {
			if len(told) > 0 && (!strings.Contains(told[0], part) || !strings.Contains(told[0], path)) {
				t.Errorf("%s: told of %q, want %q", c.name, told, part)
			}
		}
	}
}

// TestEveryByteOfALineCounts checks that unseal rejects a line with any single byte changed.
func TestEveryByteOfALineCounts(t *testing.T) {
	var e entry
	whole, err := seal(entry{"0123", &Result{Case: Case{Scenario: "a", Policy: "p", Seed: 7}}})
	if err == nil {
		err = unseal(whole, &e)
	}
	if err != nil || e.Key != "0123" || e.Result.Seed != 7 {
		t.Fatalf("%+v, %v", e, err)
	}
	for i := range whole {
		for _, mask := range []byte{1, 2, 16, 0x80} {
			line := slices.Clone(whole)
			line[i] ^= mask
			if unseal(line, &e) == nil {
				t.Errorf("byte %d changed: %s", i, line)
			}
		}
	}
}

// TestLostSchedulesArePlayedAgain checks that Run recreates a missing or damaged schedule by playing its case again.
func TestLostSchedulesArePlayedAgain(t *testing.T) {
	dir, played := t.TempDir(), 0
	must.Get(Run(t.Context(), journaled(t, dir, &played, "fifo", "srtf"), nil))(t)
	want := contents(t, dir)
	found, err := filepath.Glob(filepath.Join(dir, schedulesName, "*"))
	if err != nil || len(found) != 2 {
		t.Fatalf("schedules %v, %v, want one a policy", found, err)
	}
	must.Do(t, errors.Join(os.Remove(found[0]), os.WriteFile(found[1], []byte("no gzip"), 0o666)))
	played = 0
	if _, err := Run(t.Context(), journaled(t, dir, &played, "fifo", "srtf"), nil); err != nil || played != 2 {
		t.Errorf("%d cases played (%v), want 2", played, err)
	}
	same(t, "after the loss", contents(t, dir), want)
}

func TestJournalThatCannotBeWrittenIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o666))
	played := 0
	if _, err := Run(t.Context(), journaled(t, file, &played, "fifo"), nil); err == nil || played > 0 {
		t.Errorf("error %v after %d cases, want one before the first", err, played)
	}
}

// FuzzJournal checks that a journal with any content opens without a panic, and that results come only from lines with a valid
// checksum.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"key":"x","result":{"scenario":"a","seed":1,"mean_jct_s":1}}`))
	f.Add([]byte("{\n\x00}\n[]"))
	f.Add([]byte(`{"key":null,"result":null}`))
	plan := Plan{Suites: []Suite{{Scenario: "a", Windows: []Window{{Name: "w"}}, Seeds: []uint64{1}}}, Policies: []policy.Policy{{Name: "p"}}}
	plan.Keep = func(Case) bool { return false }
	sealed := must.Get(seal(entry{plan.key(&plan.tasks()[0]), &Result{Case: plan.Cases()[0]}}))(f)
	f.Add(sealed)
	f.Add(bytes.Replace(sealed, []byte(`:0,`), []byte(`:1,`), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		for _, name := range []string{journalName, timingName} {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o666))
		}
		plan.Journal = dir
		tasks := plan.tasks()
		results := make([]*Result, len(tasks))
		j, err := openJournal(&plan, tasks, results)
		if err != nil {
			return
		}
		j.close()
		if line, err := seal(entry{plan.key(&tasks[0]), results[0]}); err != nil || results[0] != nil && !bytes.Contains(text, line[:len(line)-1]) {
			t.Fatalf("a result that no line has: %+v, %v", results[0], err)
		}
	})
}
