package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/studies/headroom"
)

func TestHeadroomSaysWhatIsLeft(t *testing.T) {
	t.Chdir(t.TempDir())
	quick := func(more ...string) []string {
		return append([]string{
			"headroom", "-s", "embedded-physics-v1", "--windows", "2", "--effort", "16",
			"--rivals", "sjfskip,srsf", "--menu-rivals", "sjfskip+menu",
		}, more...)
	}
	s := must(t, quick("--look-ahead", "")...)
	contains(t, s.out, "fixed demand", "same menu     sjfskip+menu", "clairvoyant   search, not deployable",
		"wider         likewise, more candidates", "bound         no policy goes below", "Drawing from 10 times as many candidates as 64", "No policy can have a mean JCT more than", "the clairvoyant search found", "Learning ",
		"sjfskip jobs wait for", "--prior prior adds it")
	if strings.Contains(s.out, "look-ahead") || strings.Contains(s.out, "tuned prior  ") {
		t.Errorf("rows that were not asked for:\n%s", s.out)
	}
	if again := must(t, quick("--look-ahead", "", "--cores", "1")...); again.out != s.out {
		t.Errorf("with one worker\n%s\nwithout\n%s", again.out, s.out)
	}
	contains(t, must(t, quick("--prior", "prior", "--look-ahead", "mine=las")...).out, "tuned prior   prior", "look-ahead    mine")
	contains(t, must(t, quick("--look-ahead", "", "--map", "-s", "embedded-small-v1")...).out,
		"scenario ", "embedded-physics-v1", "embedded-small-v1", "searched")

	var r headroom.Report
	out := must(t, quick("--look-ahead", "", "--json")...).out
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 6 || len(r.Cases) != 2 || r.Rows[5].MeanJCT > r.Rows[3].MeanJCT || r.Rows[3].MeanJCT > r.Rows[2].MeanJCT {
		t.Errorf("rows %+v", r.Rows)
	}
	// Scripts read these keys: new ones are allowed, but none may disappear.
	want := []string{
		"by", "cases", "ceiling_pct", "collected_pct", "learning_pays", "notes", "rivals", "rows", "scenario", "search_effort",
		"searched_pct", "seeds", "split", "unit", "verdict", "wait_share", "wait_under", "wider", "windows",
	}
	if got := keys(t, out); !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
	contains(t, must(t, quick("--look-ahead", "", "--objective", "keep-work")...).out, "keep-work GPU-hours", "lowest keep-work here",
		"By keep-work the clairvoyant search found")
	var several []headroom.Report
	if err := json.Unmarshal([]byte(must(t, quick("--look-ahead", "", "--map", "--json")...).out), &several); err != nil || len(several) != 1 {
		t.Errorf("--map --json: %d reports (%v)", len(several), err)
	}
}

// TestHeadroomFitsItsRivalsToTheScenario checks that without estimates policies that need them are refused, and that the default ones
// predict run times, while the search still uses the true ones. In a scenario with servers to borrow, the default policies must borrow.
func TestHeadroomFitsItsRivalsToTheScenario(t *testing.T) {
	t.Chdir(t.TempDir())
	blind := []string{
		"headroom", "-s", "embedded-small-v1", "--set", "estimates.kind=none", "--windows", "1", "--effort", "4",
		"--rivals", "sjfskip,las", "--menu-rivals", "las+menu", "--look-ahead", "",
	}
	if s := command(t, blind...); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, "estimates of run times are needed by sjfskip") {
		t.Errorf("without estimates: exit code %d\n%s", s.code, s.talk)
	}
	blind = append(blind[:7], "--effort", "4", "--look-ahead", "")
	contains(t, must(t, blind...).out, "las+know", "sjfskip+know", "srsf+menu+know", "One window bounds no difference")
	contains(t, must(t, "headroom", "-s", "embedded-small-untold-v1", "--windows", "1", "--effort", "0", "--look-ahead", "").out,
		"+know:speed=fit", "srsf+menu+move+know:speed=fit", "told more     ", "time=truth", "speed=truth", "with run times ")
	contains(t, must(t, "headroom", "-s", "loaning-small-v1", "--windows", "1", "--effort", "0", "--menu-rivals", "srtf+menu",
		"--look-ahead", "").out, "sjfskip+loan", "same menu     srtf+menu ")
}

// TestHeadroomFitsPredictors checks that headroom fits rivals that ask for it on the training split, also those that the search
// begins with.
func TestHeadroomFitsPredictors(t *testing.T) {
	t.Chdir(t.TempDir())
	const fitted = "a-srpt:predictor=fitted:backfill=easy"
	args := []string{"headroom", "--windows", "2", "--effort", "4", "--wider", "0", "--rivals", fitted, "--menu-rivals",
		"a-srpt:predictor=fitted+menu", "--look-ahead", "",
		"--scenario", "embedded-small-v1", "--set", "workload.jobs=800", "--set", "window.arrivals=50"}
	contains(t, must(t, args...).out, "fixed demand  "+fitted, "same menu     a-srpt:predictor=fitted+menu", "search, not deployable")
	s := command(t, append(args, "--set", "window.train=[]")...)
	if s.code != cmdline.CodeUsage || !strings.Contains(s.talk, "fit policy "+fitted+" on the training split of embedded-small-v1: the scenario has no training split (window.train)") {
		t.Errorf("without a training split: exit code %d, %s", s.code, s.talk)
	}
}

func TestHeadroomRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no scenario", nil, cmdline.CodeUsage, "scenario"},
		{"a scenario that is not there", []string{"-s", "nope-v1"}, cmdline.CodeUsage, "nope-v1"},
		{"no objective", []string{"-s", "embedded-small-v1", "--objective", "speed"}, cmdline.CodeUsage, `objective "speed"`},
		{"a negative effort", []string{"-s", "embedded-small-v1", "--effort", "-1"}, cmdline.CodeUsage, "--effort -1"},
		{"as wide as it is", []string{"-s", "embedded-small-v1", "--wider", "1"}, cmdline.CodeUsage, "--wider 1"},
		{"no rivals", []string{"-s", "embedded-small-v1", "--rivals", "", "--menu-rivals", ""}, cmdline.CodeUsage, "--rivals"},
		{"a rival that is not there", []string{"-s", "embedded-small-v1", "--rivals", "fifoo"}, cmdline.CodeUsage, `did you mean "fifo"?`},
		{"a rival twice", []string{"-s", "embedded-small-v1", "--rivals", "fifo", "--menu-rivals", "fifo"}, cmdline.CodeUsage, "fifo"},
		{"a name for two rivals", []string{"-s", "embedded-small-v1", "--rivals", "las,las=fifo"}, cmdline.CodeUsage, `two rows have the name "las"`},
		{"a folder that is not there", []string{"-s", "embedded-small-v1", "--prior", "./none"}, cmdline.CodeUsage, "none"},
		{"no such split", []string{"-s", "embedded-small-v1", "--split", "tests"}, cmdline.CodeUsage, "split"},
	} {
		if s := command(t, append([]string{"headroom"}, c.args...)...); s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s", c.name, s.code, c.code, c.want, s.talk)
		}
	}
	contains(t, must(t, "__complete", "headroom", "--menu-rivals", "srtf,").out, "srtf,sjfskip")
	contains(t, must(t, "__complete", "headroom", "--scenario", "").out, "hetero-venus-v1")
}

// keys returns the sorted keys of a JSON object.
func keys(t *testing.T, text string) []string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(m))
}
