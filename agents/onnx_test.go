package agents_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/onnx/onnxtest"
)

// feeds returns an observation as the model's inputs.
func feeds(s *agents.Shape, o *agents.Observation) map[string]onnxtest.Tensor {
	weights, of := make([]float32, o.Candidates*o.Servers), make([]int64, o.Candidates)
	for _, share := range o.Shares {
		weights[int(share.Candidate)*o.Servers+int(share.Server)] = share.Weight
	}
	for i, k := range o.Of {
		of[i] = int64(k)
	}
	return map[string]onnxtest.Tensor{
		"server":  onnxtest.Floats(o.Server, o.Servers, s.Server),
		"job":     onnxtest.Floats(o.Job, o.Jobs, s.Job),
		"offer":   onnxtest.Floats(o.Candidate, o.Candidates, s.Candidate),
		"weights": onnxtest.Floats(weights, o.Candidates, o.Servers),
		"of":      onnxtest.Ints(of, o.Candidates),
	}
}

// model loads the ONNX model of a network of the given size with random changes to its weights.
func model(tb testing.TB, size agents.Size, by float64) (*agents.Net, agents.Shape, *onnxtest.Session) {
	tb.Helper()
	s, p := policy(tb, size, 1, by)
	return agents.NewNet(s, p), s, onnxtest.Load(tb, exported(tb, &agents.Policy{Name: "test", Shape: s, Params: p}))
}

// exported returns the ONNX model of a policy's bundle.
func exported(tb testing.TB, p *agents.Policy) []byte {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "policy")
	must.Do(tb, export.Save(dir, p, "", checkpoints.Provenance{}, nil))
	return must.Get(checkpoints.ReadBundle(dir, checkpoints.Limits{}))(tb).ONNX
}

// TestONNXEqualsForward checks that ONNX Runtime gives the same bids as the forward pass, up to 1e-5, in all variants and sizes,
// with weights that differ from their initial values.
func TestONNXEqualsForward(t *testing.T) {
	small := agents.Size{Width: 12, Heads: 3, Hidden: 5, Rank: 3, Kappa: 2, Inducing: 2}
	alone := small
	alone.Kappa = 0
	for _, size := range append(variants(), small, alone) {
		t.Run(fmt.Sprintf("%+v", size), func(t *testing.T) {
			n, s, session := model(t, size, 0.05)
			worst, spread, most := 0.0, 0.0, 0
			check := func(what string, o *agents.Observation) {
				t.Helper()
				n.Forward(o)
				got, dims := session.Run(feeds(&s, o), "bids")
				if len(dims) != 1 || dims[0] != o.Candidates {
					t.Fatalf("%s: bids are %v, want [%d]", what, dims, o.Candidates)
				}
				for i, want := range n.Bids {
					off := math.Abs(got[i]-float64(want)) / (1 + math.Abs(float64(want)))
					if !(off <= 1e-5) {
						t.Errorf("%s: bid %d is %v, want %v (off by %.2g)", what, i, got[i], want, off)
						return
					}
					worst, spread = max(worst, off), max(spread, math.Abs(float64(want-n.Bids[0])))
				}
			}
			for _, c := range []struct{ servers, jobs, candidates int }{
				{1, 1, 1}, {1, 0, 3}, {2, 3, 4}, {5, 32, 5}, {16, 32, 8}, {16, 0, 1}, {64, 48, 8}, {64, 0, 5}, {64, 7, 30},
				{256, 32, 8}, {256, 48, 80}, {1024, 48, 8}, {1024, 1, 70},
			} {
				for seed := range uint64(3) {
					o := random(&s, c.servers, c.jobs, c.candidates, seed)
					most = max(most, members(&o))
					what := fmt.Sprintf("%+v, seed %d", c, seed)
					check(what, &o)
					for i := range o.Of {
						o.Of[i] = -1
					}
					check(what+", no candidate with a job", &o)
					// Make servers equal in pairs: on a tie, the lower number must be selected.
					for i := s.Server; i < len(o.Server); i += 2 * s.Server {
						copy(o.Server[i:i+s.Server], o.Server[i-s.Server:i])
					}
					check(what+", pairs of equal servers", &o)
					o.Shares = nil
					check(what+", no coalitions", &o)
				}
			}
			t.Logf("off by at most %.2g, bids differ by up to %.2g, up to %d members", worst, spread, most)
			if spread < 0.1 || most <= coordgraph.Exact {
				t.Errorf("bids differ by at most %v, at most %d members: too little to tell", spread, most)
			}
		})
	}
}

// TestONNXOfJointNetworks checks that ONNX Runtime gives the bids before any candidate was carried out, and factors from which
// the payoffs follow as in the forward pass.
func TestONNXOfJointNetworks(t *testing.T) {
	for _, size := range joint() {
		t.Run(fmt.Sprint(size.Attention, " ", size.Graph), func(t *testing.T) {
			n, s, session := model(t, size, 0.2)
			_, p := policy(t, size, 1, 0.2)
			for seed := range uint64(5) {
				o := random(&s, 16, 8, 12, seed)
				taken := o.Taken
				o.Taken = nil
				n.Forward(&o)
				bids, _ := session.Run(feeds(&s, &o), "bids")
				for i, want := range n.Bids {
					if math.Abs(bids[i]-float64(want)) > 1e-5*(1+math.Abs(float64(want))) {
						t.Fatalf("bid %d is %v, want %v", i, bids[i], want)
					}
				}
				if s.Graph == agents.GraphNone {
					continue
				}
				factors, dims := session.Run(feeds(&s, &o), "factors")
				if len(dims) != 2 || dims[0] != o.Candidates || dims[1] != s.Rank {
					t.Fatalf("factors are %v, want [%d %d]", dims, o.Candidates, s.Rank)
				}
				edges := make([]float32, o.Candidates*o.Candidates)
				n.Adjacency(edges)
				n.After(taken)
				for i, want := range n.Bids {
					got := bids[i] + paid(&s, p, &o, factors, edges, taken, i)
					if math.Abs(got-float64(want)) > 1e-4*(1+math.Abs(float64(want))) {
						t.Fatalf("bid %d after %v is %v, want %v", i, taken, got, want)
					}
				}
			}
		})
	}
}

// paid returns the payoffs of candidate i with those that were carried out, from the factors of a model.
func paid(s *agents.Shape, p agents.Params, o *agents.Observation, factors []float64, edges []float32, taken []int32, i int) (sum float64) {
	for _, k := range taken {
		if edges[i*o.Candidates+int(k)] == 0 {
			continue
		}
		strengths := tied(o, i, int(k))
		for tie, name := range []string{"server", "rack", "type", "tenant", "any"} {
			w := p[slices.IndexFunc(p, func(q agents.Param) bool { return q.Name == "tie."+name })].Data
			for r := range s.Rank {
				sum += strengths[tie] * float64(w[r]) * factors[i*s.Rank+r] * factors[int(k)*s.Rank+r]
			}
		}
	}
	return sum
}

// members returns the number of servers in any coalition.
func members(o *agents.Observation) int {
	seen := map[int32]bool{}
	for _, share := range o.Shares {
		seen[share.Server] = true
	}
	return len(seen)
}

// TestBundleHoldsItsModel checks that a bundle's model is that of its policy, reads the observed features, and explains them and
// its decisions in its metadata.
func TestBundleHoldsItsModel(t *testing.T) {
	p := newPolicy(t, 1, "sjfhold+menu")
	shake(p, 1)
	p.Margin = 2.5
	dir := filepath.Join(t.TempDir(), "policy")
	must.Do(t, export.Save(dir, p, "", checkpoints.Provenance{}, nil))
	b := must.Get(checkpoints.ReadBundle(dir, checkpoints.Limits{}))(t)
	if !bytes.Equal(exported(t, p), b.ONNX) {
		t.Fatal("the same policy gives another model")
	}
	meta := onnxtest.Metadata(t, b.ONNX)
	for key, want := range map[string]string{
		"schema_version": "3", "network": "server-offer-attention-1", "name": "learned", "prior": "sjfhold+menu", "margin": "2.5",
		"window": "16", "weights_sha256": b.Manifest.Weights.SHA256, "policy_digest": p.Digest(),
		"offer_kinds": "own,packed,alone,aligned,sized,first,begin,wait,stop,reserve,gather,drop,veto,grow,move,preempt",
	} {
		if got := meta["clustergym."+key]; got != want {
			t.Errorf("metadata %s: %q, want %q", key, got, want)
		}
	}
	f := b.Manifest.Features
	for table, want := range map[string][]checkpoints.Feature{
		"server": slices.Concat(f.Server, f.Global), "job": slices.Concat(f.Job, f.Global), "offer": f.Offer,
	} {
		var got []checkpoints.Feature
		if err := json.Unmarshal([]byte(meta["clustergym.features."+table]), &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("metadata of %s features: %v (%v), want %v", table, got, err, want)
		}
	}
}
