package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/onnx"
)

// scorer writes an ONNX model that scores candidates by a feature, and returns its path. It is made for so many servers, 0 for any.
func scorer(t *testing.T, feature int64, servers int) string {
	t.Helper()
	var g onnx.Graph
	c, a := onnx.Dim{Name: "C"}, onnx.Dim{Name: "A"}
	if servers > 0 {
		a = onnx.Dim{Size: servers}
	}
	rows := g.Input("candidates", onnx.Float, c, onnx.Dim{Size: 58})
	sum := g.Node("ReduceSum", []string{g.Input("coalition", onnx.Float, c, a), g.Ints("last", []int64{-1}, 1)}, onnx.IntAttr("keepdims", 0))
	column := g.Node("Gather", []string{rows, g.Ints("feature", []int64{feature})}, onnx.IntAttr("axis", 1))
	g.Output(g.Rename(g.Node("Add", []string{column, sum}), "scores"), onnx.Float, c)
	return file(t, "model.onnx", string(g.Model("scorer", "", "", nil)))
}

// TestExportONNX checks that the commands take the bundle of a model that was trained with other software.
func TestExportONNX(t *testing.T) {
	t.Setenv(tokenVariable, "")
	t.Chdir(t.TempDir())
	private, public := keyFiles(t, 1)
	export := []string{"export", "--scenario", "embedded-small-v1", "--prior", "sjfskip"}
	out := must(t, append(export, "--model", scorer(t, 0, 0), "--out", "policies/mine", "--sign-key", private)...).out
	contains(t, out, "policy mine: policies/mine")
	contains(t, out, "64 rounds of embedded-small-v1; it departed from the prior in")
	card := require.Get(os.ReadFile("policies/mine/README.md"))(t)
	for _, part := range []string{"# Policy mine", "Prior: `sjfskip`", "Input `coalition`: float32", "of any number of servers", "from 0.00 to"} {
		contains(t, string(card), part)
	}

	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	plan := must(t, "plan", "--snapshot", snapshot, "--policy", "policies/mine", "--verify-key", public).out
	contains(t, plan, "mine at ")
	contains(t, plan, "the prior starts it too")
	eval := must(t, "eval", "--scenario", "embedded-small-v1", "--windows", "1", "--seeds", "1", "--policies", "prior,policies/mine",
		"--baseline", "prior", "--figures", "none", "--out", "eval").out
	contains(t, eval, "mine ")
	s := command(t, "eval", "--scenario", "embedded-small-v1", "--split", "train", "--policies", "policies/mine", "--out", "eval2")
	if s.code != cmdline.CodeMismatch || !strings.Contains(s.talk, "was trained or chosen on jobs of train") {
		t.Errorf("on what it was trained on: exit code %d\n%s", s.code, s.talk)
	}
	s = command(t, "train", "--from", "policies/mine", "--scenario", "embedded-small-v1", "--dir", "runs/x")
	if s.code != cmdline.CodeUsage || !strings.Contains(s.talk, "only a team of agents can be trained further") {
		t.Errorf("to go on from: exit code %d\n%s", s.code, s.talk)
	}
	url, _, end := serving(t, "--policy", "policies/mine")
	answer := fetch(t, "POST", url+"/v1/plan", must(t, "plan", "--example").out)
	contains(t, answer, `"by": "policy"`)
	end()

	rounds := lines(t, must(t, "env", "play", "-s", "embedded-small-v1", "--policy", "policies/mine", "--rounds", "20", "--json"))
	for _, r := range rounds {
		best := -1
		for i, c := range r.Candidates {
			if c.Bid == nil {
				t.Fatalf("round %d: no score for %d", r.Round, c.Number)
			}
			if best < 0 || *c.Bid > *r.Candidates[best].Bid {
				best = i
			}
		}
		// The prior's own candidate has the highest score; where it has no servers, nobody names it.
		if named := len(r.Candidates[best].Coalition) > 0; named != (len(r.Named) == 1) || named && int(r.Named[0].Number) != best+1 {
			t.Errorf("round %d: names %v, the highest score is that of %d", r.Round, r.Named, best+1)
		}
	}
}

// broken writes an ONNX model whose scores are the logarithm of a feature less a number: none where that is negative.
func broken(t *testing.T, less float32) string {
	t.Helper()
	var g onnx.Graph
	mask := g.Input("action_mask", onnx.Float, onnx.Dim{Name: "C"})
	low := g.Node("Sub", []string{mask, g.Floats("less", []float32{less})})
	g.Output(g.Rename(g.Node("Log", []string{low}), "scores"), onnx.Float, onnx.Dim{Name: "C"})
	return file(t, "model.onnx", string(g.Model("broken", "", "", nil)))
}

// heavy writes an ONNX model of many operators on so many numbers.
func heavy(t *testing.T, numbers int64) string {
	t.Helper()
	var g onnx.Graph
	x := g.Node("ConstantOfShape", []string{g.Ints("shape", []int64{numbers}, 1)})
	for range 240 {
		x = g.Node("Cos", []string{x})
	}
	sum := g.Node("ReduceSum", []string{x}, onnx.IntAttr("keepdims", 0))
	scores := g.Node("Add", []string{g.Input("action_mask", onnx.Float, onnx.Dim{Name: "C"}), sum})
	g.Output(g.Rename(scores, "scores"), onnx.Float, onnx.Dim{Name: "C"})
	return file(t, "model.onnx", string(g.Model("heavy", "", "", nil)))
}

// TestAnInterruptEndsTheTrial checks that a trial breaks off, and that nothing is written then.
func TestAnInterruptEndsTheTrial(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // the trial takes about a second
	defer cancel()
	s := commandWith(ctx, "", "export", "--scenario", "embedded-small-v1", "--model", heavy(t, 1<<13), "--out", "policy")
	if left, _ := filepath.Glob("*"); s.code != cmdline.CodeInterrupted || len(left) > 0 {
		t.Errorf("exit code %d, leaves %v\n%s", s.code, left, s.talk)
	}
}

// TestModelsThatAreNotExported checks that no folder is written for a model that is refused.
func TestModelsThatAreNotExported(t *testing.T) {
	t.Chdir(t.TempDir())
	good, fixed := scorer(t, 0, 0), scorer(t, 0, 4)
	for _, c := range []struct {
		name, model string
		args        []string
		code        int
		want        string
	}{
		{"no file", "none.onnx", nil, cmdline.CodeError, "none.onnx"},
		{"no model", file(t, "text", "a text"), nil, cmdline.CodeError, "not a model of ONNX"},
		{"another list", good, []string{"--candidates", "5"}, cmdline.CodeError, "input candidates has the shape"},
		{"another size", fixed, nil, cmdline.CodeError, "made for 4 servers, the cluster has 8"},
		{"no numbers", broken(t, 2), nil, cmdline.CodeError, "in 64 of 64 rounds the score of a number that may be named is infinite or no number (NaN)"},
		{"infinite", broken(t, 1), nil, cmdline.CodeError, "is infinite or no number (NaN)"},
		{"too much", heavy(t, 1<<20), nil, cmdline.CodeError, "the model computes too much"},
		{"beliefs", good, []string{"--prior", "sjfskip+know"}, cmdline.CodeError, "want one without +know"},
		{"prior", good, []string{"--prior", "lottery"}, cmdline.CodeUsage, "--prior"},
		{"split", good, []string{"--split", "some"}, cmdline.CodeUsage, "--split"},
		{"key", good, []string{"--sign-key", "none.pem"}, cmdline.CodeError, "none.pem"},
	} {
		s := command(t, append([]string{"export", "--model", c.model, "--scenario", "embedded-small-v1", "--out", "policy"}, c.args...)...)
		if s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%s: exit code %d, want %d\n%s", c.name, s.code, c.code, s.talk)
		}
		if left, _ := filepath.Glob("*"); len(left) > 0 {
			t.Errorf("%s: leaves %v", c.name, left)
		}
	}
	must(t, "export", "--model", fixed, "--scenario", "embedded-small-v1", "--set", "cluster.servers=4", "--out", "policy")
}
