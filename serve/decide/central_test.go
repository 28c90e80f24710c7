package decide_test

import (
	"path/filepath"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/onnx"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// central returns the policy of an ONNX model that reads the coalitions of clusters of so many servers, and whose scores are their
// sums divided by a number.
func central(t *testing.T, servers int, by float32) *policy.Policy {
	t.Helper()
	var g onnx.Graph
	coalition := g.Input("coalition", onnx.Float, onnx.Dim{Name: "C"}, onnx.Dim{Size: servers})
	sum := g.Node("ReduceSum", []string{coalition, g.Ints("last", []int64{-1}, 1)}, onnx.IntAttr("keepdims", 0))
	scores := g.Node("Div", []string{sum, g.Floats("by", []float32{by})})
	g.Output(g.Rename(scores, "scores"), onnx.Float, onnx.Dim{Name: "C"})
	c := must.Get(agents.NewCentral("mine", agents.Setting{Window: 8, Prior: "sjfskip"}, g.Model("m", "", "", nil)))(t)
	dir := filepath.Join(t.TempDir(), "policy")
	must.Do(t, c.Save(dir, "", checkpoints.Provenance{}, nil))
	p := must.Get(new(policy.Finder).Load(dir))(t)
	return p
}

// TestCentralControllersDecide checks that a central controller decides in production, that choices with scores that are not finite
// are left to its prior and counted, and that the fallback decides on clusters for which its model is not made.
func TestCentralControllersDecide(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers int
		by      float32
		who     string
		left    bool
	}{
		{"finite scores", 2, 1, decide.ByPolicy, false},
		{"infinite scores", 2, 0, decide.ByPolicy, true},
		{"another cluster", 3, 1, decide.ByFallback, false},
	} {
		s := newSite(t, central(t, c.servers, c.by), nil)
		a := s.decide(t)
		d := a.Decision
		if d.Policy != "mine" || d.By != c.who || (d.OutOfDistribution > 0) != c.left || len(a.Ops) != 1 || a.Ops[0].Job != "x<y" {
			t.Errorf("%s: decision %+v, plan %+v", c.name, d, a.Plan)
		}
		if c.who == decide.ByFallback {
			contains(t, d.Fallback.Why, "made for 3 servers, the cluster has 2")
			contains(t, s.metrics(t), `clustergym_fallbacks_total{reason="error"} 1`)
		}
	}
}
