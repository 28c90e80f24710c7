package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// TestReleasedIsAPolicyEverywhere checks that all commands accept the released policy by its name, from any folder.
func TestReleasedIsAPolicyEverywhere(t *testing.T) {
	t.Chdir(t.TempDir())
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	contains(t, must(t, "plan", "--snapshot", snapshot, "--policy", "released").out, "released at", "the prior")
	why := must(t, "plan", "--snapshot", snapshot, "--policy", "released", "--job", "bert-large").out
	contains(t, why, "choice 1 of ", "bid", "payoff", "edges of 1: server-", "bert-large attends to server-", " masked")
	contains(t, must(t, "plan", "--snapshot", snapshot, "--policy", "released", "--preemptions", "0").out, "the prior starts it too")
	contains(t, must(t, "whatif", "--snapshot", snapshot, "--policy", "fifo", "--against", "released", "--assume", "1h").out, "released")
	contains(t, must(t, "simulate", "--trace", file(t, "jobs.csv", jobs), "--servers", "2", "--gpus-per-server", "4", "--policy",
		"released").out, "released", "4, 4 finished")
	contains(t, must(t, "eval", "-s", "embedded-small-v1", "--set", "window.arrivals=40", "--windows", "1", "--seeds", "1", "-p",
		"mine=released,released+loan,prior", "--baseline", "released", "--out", "all").out, "mine", "released+loan", "prior", "released ")
	if s := command(t, "plan", "--snapshot", snapshot, "--policy", "releasd"); s.code != cmdline.CodeUsage ||
		!strings.Contains(s.talk, `did you mean "released"?`) {
		t.Errorf("a slip of the pen: exit code %d\n%s", s.code, s.talk)
	}
	contains(t, must(t, "__complete", "plan", "--policy", "rel").out, "released")

	// The path of a folder with that name means the folder.
	require.Do(t, os.Mkdir("released", 0o777))
	if s := command(t, "plan", "--snapshot", snapshot, "--policy", "./released"); s.code != cmdline.CodeNoRun {
		t.Errorf("an empty folder of the same name: exit code %d, want %d\n%s", s.code, cmdline.CodeNoRun, s.talk)
	}
}

// TestPriorOfReleased checks that prior means the prior of the released policy, even if prior is only the baseline.
func TestPriorOfReleased(t *testing.T) {
	p := require.Get((&app{}).findPolicy(released.Name))(t)
	want := p.Prior
	for _, c := range []struct {
		policies []string
		baseline string
	}{
		{[]string{"released", "prior"}, "sjfskip"}, {[]string{"prior", "released"}, "prior"}, {[]string{"released"}, "prior"},
		{[]string{"prior"}, "released"},
	} {
		all := require.Get((&app{}).findPolicies(c.policies, c.baseline))(t)
		for _, got := range all {
			if got.Name == policy.Prior && got.Digest != want.Digest {
				t.Errorf("%v against %s: the prior is another one", c.policies, c.baseline)
			}
		}
	}
}

// TestRecipes checks that the settings and scenarios of the recipes are valid.
func TestRecipes(t *testing.T) {
	for _, r := range []struct {
		path       string
		scenarios  int
		candidates int
	}{
		{"checkpoints/released/recipe.yaml", 3, 0}, {"docs/recipes/wide.yaml", 1, 62},
	} {
		opts := trainOptions{Config: "../" + r.path}
		all, settings, _, err := opts.load(&app{})
		require.Do(t, err)
		if len(all) != r.scenarios || settings.Candidates != r.candidates || settings.Updates < 10 {
			t.Errorf("%s: %d scenarios, %d candidates, %d updates", r.path, len(all), settings.Candidates, settings.Updates)
		}
	}
}

func TestExportWritesAModelCard(t *testing.T) {
	t.Chdir(t.TempDir())
	train2(t, "runs/one")
	must(t, "export", "--run", "runs/one", "--name", "mine")
	page := filepath.Join("runs", "one", "policy", "README.md")
	card := read(t, page)
	contains(t, card, "# Policy mine", "`srsf+menu+move`", "Updates: 2, with seed 1", "Memory: 2.0h", "`embedded-small-v1`",
		"`embedded (load 1.8 on 64 GPUs, seed 1)`, from 0.00 to", "validation windows: ")
	if strings.Contains(card, "not recorded") || strings.Contains(card, "for want of") {
		t.Errorf("the run knows more than its card:\n%s", card)
	}
	must(t, "export", "--run", "runs/one", "--name", "mine")
	if again := read(t, page); again != card {
		t.Errorf("the same export writes another card:\n%s\nbefore\n%s", again, card)
	}
	require.Do(t, os.WriteFile(page, []byte("# Notes\n"), 0o666))
	if s := command(t, "export", "--run", "runs/one"); s.code != cmdline.CodeError || !strings.Contains(s.talk, "README.md") {
		t.Errorf("over somebody's page: exit code %d\n%s", s.code, s.talk)
	}
	if read(t, page) != "# Notes\n" {
		t.Error("somebody's page is gone")
	}
}
