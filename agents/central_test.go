package agents_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/onnx"
)

// numbers is how many numbers may be named on narrow lists, 0 to pass included.
const numbers = 9

// central returns the policy of a model whose graph build makes; build returns the name of the scores.
func central(s agents.Setting, build func(g *onnx.Graph) string) (*agents.Central, error) {
	var g onnx.Graph
	g.Output(g.Rename(build(&g), "scores"), onnx.Float, onnx.Dim{Name: "C"})
	return agents.NewCentral("central", s, g.Model("test", "", "", nil))
}

// weighed scores a number by its stored weight where it may be named.
func weighed(weights ...float32) func(g *onnx.Graph) string {
	return func(g *onnx.Graph) string {
		mask := g.Input("action_mask", onnx.Float, onnx.Dim{Name: "C"})
		return g.Node("Mul", []string{mask, g.Floats("w", append(weights, make([]float32, numbers-len(weights))...), numbers)})
	}
}

func sjfskip() agents.Setting { return agents.Setting{Window: 16, Prior: "sjfskip"} }

// TestCentralNamesTheHighestScore checks which number is named, by schedules: always naming 1 gives the schedule of the prior, as do
// scores that are no numbers; the lowest of equal scores is 0, to pass.
func TestCentralNamesTheHighestScore(t *testing.T) {
	c := cluster.Uniform(5, 8)
	jobs := workload(150, 1, false)
	prior := must.Get(all.New("sjfskip"))(t)
	usual := text(t, play(t, c, jobs, prior))
	undefined := func(g *onnx.Graph) string {
		mask := g.Input("action_mask", onnx.Float, onnx.Dim{Name: "C"})
		return g.Node("Log", []string{g.Node("Sub", []string{mask, g.Floats("two", []float32{2})})})
	}
	forbidden := func(g *onnx.Graph) string { // 1/0 where a number may not be named
		mask := g.Input("action_mask", onnx.Float, onnx.Dim{Name: "C"})
		weight := g.Floats("w", []float32{1, 2, 1, 1, 1, 1, 1, 1, 1}, numbers)
		return g.Node("Div", []string{weight, mask})
	}
	passed := text(t, play(t, c, jobs, agents.NewCentralTeam(mustCentral(t, sjfskip(), weighed(1)))))
	if bytes.Equal(passed, usual) {
		t.Error("passing gives the schedule of the prior: the test shows nothing")
	}
	for _, v := range []struct {
		name  string
		build func(g *onnx.Graph) string
		want  []byte
		left  bool
	}{
		{"number 1 is highest", weighed(0, 1), usual, false},
		{"equal scores", weighed(), passed, false},
		{"scores that are no numbers", undefined, usual, true},
		{"infinite scores of forbidden numbers", forbidden, usual, false},
	} {
		team := agents.NewCentralTeam(mustCentral(t, sjfskip(), v.build))
		if got := text(t, play(t, c, jobs, team)); !bytes.Equal(got, v.want) || (team.OutOfDistribution() > 0) != v.left {
			t.Errorf("%s: another schedule: %v, %d choices left to the prior", v.name, !bytes.Equal(got, v.want), team.OutOfDistribution())
		}
	}
}

// TestCentralBreaksOff checks that a decision ends with the error of the context that the scheduler was told of.
func TestCentralBreaksOff(t *testing.T) {
	team := agents.NewCentralTeam(mustCentral(t, sjfskip(), weighed(0, 1)))
	run, err := sim.New(sim.Config{Cluster: cluster.Uniform(4, 8)}, workload(20, 1, false))
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cluster.Within(ctx, team)
	for decisions := 0; err == nil; decisions++ {
		tx, ok := run.Next()
		if !ok {
			break
		}
		if decisions == 3 {
			cancel()
		}
		if err = team.Schedule(tx); err == nil {
			run.Commit()
		} else if decisions < 3 {
			t.Fatal(err)
		}
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func mustCentral(t *testing.T, s agents.Setting, build func(g *onnx.Graph) string) *agents.Central {
	t.Helper()
	c := must.Get(central(s, build))(t)
	return c
}

// TestCentralOfOneSize checks that a model for a fixed number of servers decides on such clusters, and is an error on others.
func TestCentralOfOneSize(t *testing.T) {
	c := mustCentral(t, sjfskip(), func(g *onnx.Graph) string {
		coalition := g.Input("coalition", onnx.Float, onnx.Dim{Size: 1}, onnx.Dim{Name: "C"}, onnx.Dim{Size: 5})
		sum := g.Node("ReduceSum", []string{coalition, g.Ints("last", []int64{-1}, 1)}, onnx.IntAttr("keepdims", 0))
		return g.Node("Squeeze", []string{sum, g.Ints("first", []int64{0}, 1)})
	})
	play(t, cluster.Uniform(5, 8), workload(20, 1, false), agents.NewCentralTeam(c))
	s := cluster.Uniform(4, 8)
	err := schedule(t, s, agents.NewCentralTeam(c))
	if err == nil || !strings.Contains(err.Error(), "made for 5 servers, the cluster has 4") {
		t.Errorf("on 4 servers: error %v", err)
	}
}

// schedule returns the error of an episode.
func schedule(t *testing.T, c cluster.Spec, s cluster.Scheduler) error {
	t.Helper()
	run := must.Get(sim.New(sim.Config{Cluster: c}, workload(20, 1, false)))(t)
	return run.Run(t.Context(), s, 1)
}

// TestModelsThatDoNotFit checks that models whose inputs or outputs are not what the environment shows are refused, with the reason.
func TestModelsThatDoNotFit(t *testing.T) {
	input := func(name string, kind onnx.Type, dims ...int) func(g *onnx.Graph) string {
		return func(g *onnx.Graph) string {
			all := make([]onnx.Dim, len(dims))
			for i, d := range dims {
				if all[i].Size = d; d < 0 {
					all[i] = onnx.Dim{Name: "n"}
				}
			}
			return g.Input(name, kind, all...)
		}
	}
	know, wide := sjfskip(), sjfskip()
	know.Prior += "+know"
	wide.Wide.Items = 20
	for _, c := range []struct {
		name  string
		s     agents.Setting
		build func(g *onnx.Graph) string
		want  string
	}{
		{"name", sjfskip(), input("obs", onnx.Float, 9), `input "obs", want names of servers, jobs`},
		{"no input", sjfskip(), func(g *onnx.Graph) string { return g.Floats("w", make([]float32, 9), 9) }, "no inputs"},
		{"features", sjfskip(), input("candidates", onnx.Float, -1, 57), "shape [\"n\" 57], want [9 58] or [1 9 58]"},
		{"candidates", sjfskip(), input("candidates", onnx.Float, 8, 58), "want [9 58]"},
		{"wide list", wide, input("action_mask", onnx.Float, 9), "shape [9], want [22]"},
		{"batch", sjfskip(), input("action_mask", onnx.Float, 2, 9), "want [9] or [1 9]"},
		{"servers", sjfskip(), input("coalition", onnx.Float, 9, 0), "want [9 servers]"},
		// What a model does not say of its scores, or says wrongly, is found when it decides.
		{"number of scores", sjfskip(), input("cluster", onnx.Float, -1), "computes scores float32 [25], want float32 [9] or [1 9]"},
		{"type", sjfskip(), input("candidates", onnx.Int64, -1, 58), "is of int64, want float32"},
		{"type of indices", sjfskip(), input("job_of", onnx.Bool, 9), "is of bool, want int32"},
		{"type of scores", sjfskip(), input("action_mask", onnx.Bool, 9), "computes scores bool [9], want float32 [9]"},
		{"beliefs", know, weighed(1), "want one without +know"},
		{"prior", agents.Setting{Window: 16, Prior: "lottery"}, weighed(1), "lottery"},
		{"file", agents.Setting{Window: 16, Prior: "a-srpt:predictor=mine.predictor", Table: all.Table()}, weighed(1), "without files"},
		{"window", agents.Setting{Prior: "sjfskip"}, weighed(1), "window of 0 jobs"},
	} {
		p, err := central(c.s, c.build)
		if err == nil {
			err = schedule(t, cluster.Uniform(4, 8), agents.NewCentralTeam(p))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := agents.NewCentral("text", sjfskip(), []byte("a text")); err == nil || !strings.Contains(err.Error(), "not a model") {
		t.Errorf("a text: error %v", err)
	}
}

// TestBundlesOfCentrals checks that a bundle holds the whole policy, and is refused if it was made for other observations.
func TestBundlesOfCentrals(t *testing.T) {
	s := agents.Setting{Window: 12, Encoder: "uncertain", Prior: "srsf+menu", Wide: agents.Wide{Items: 20, Rivals: []string{"fifo"}}}
	c := mustCentral(t, s, func(g *onnx.Graph) string { return g.Input("action_mask", onnx.Float, onnx.Dim{Size: 22}) })
	dir := filepath.Join(t.TempDir(), "policy")
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	training := checkpoints.Provenance{Scenario: "s", Objective: "flow", Seen: []checkpoints.Period{{Trace: "t", To: 86400}}}
	must.Do(t, c.Save(dir, "now", training, key))
	b := must.Get(checkpoints.ReadSignedBundle(dir, key.Public().(ed25519.PublicKey), checkpoints.Limits{}))(t)
	back := must.Get(agents.CentralFrom(b, baselines.Table{}))(t)
	if back.Digest() != c.Digest() || back.Name != "central" || fmt.Sprint(back.Wide, back.Window, back.Encoder, back.Prior) !=
		fmt.Sprint(s.Wide, s.Window, s.Encoder, s.Prior) {
		t.Errorf("%+v, want %+v", back.Setting, s)
	}
	if _, _, err := agents.Load(dir); !errors.Is(err, checkpoints.ErrForeign) {
		t.Errorf("as a team: error %v", err)
	}
	for want, change := range map[string]func(m *checkpoints.Manifest){
		"server features: number 1 is free_tpus in": func(m *checkpoints.Manifest) { m.Features.Server[1].Name = "free_tpus" },
		"job features: number 2 is":                 func(m *checkpoints.Manifest) { m.Features.Job[2].Max++ },
		"offer features, this version observes":     func(m *checkpoints.Manifest) { m.Features.Offer = m.Features.Offer[:5] },
		"want [6]":                                  func(m *checkpoints.Manifest) { m.Candidates.Items = 4 },
		`candidates "wide-0"`:                       func(m *checkpoints.Manifest) { m.Candidates.Set = "wide-0" },
		`network "onnx-scores-0"`:                   func(m *checkpoints.Manifest) { m.Architecture.Choices["network"] = "onnx-scores-0" },
	} {
		b := must.Get(checkpoints.ReadBundle(dir, checkpoints.Limits{}))(t)
		change(&b.Manifest)
		if _, err := agents.CentralFrom(b, baselines.Table{}); !errors.Is(err, checkpoints.ErrForeign) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
