package agents_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/must"
)

func TestForwardAllocatesNothing(t *testing.T) {
	for _, size := range append(variants(), joint()...) {
		s, p := policy(t, size, 1, 0.3)
		n := agents.NewNet(s, p)
		list := []agents.Observation{random(&s, 300, 32, 8, 1), random(&s, 16, 0, 3, 2), random(&s, 64, 48, 20, 3)}
		run := func() {
			for i := range list {
				n.Forward(&list[i])
			}
		}
		run()
		if allocs := testing.AllocsPerRun(5, run); allocs != 0 {
			t.Errorf("%s, %s: allocates %v times", s.Attention, s.Graph, allocs)
		}
	}
}

// TestUntrainedBidsAreZero checks that an untrained network bids exactly 0 for any observation, so that the prior decides.
func TestUntrainedBidsAreZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom(append(variants(), joint()...)).Draw(t, "size")
		s := must.Get(agents.NewShape(12, 9, 14, 5, size))(t)
		seed := rapid.Uint64().Draw(t, "seed")
		n := agents.NewNet(s, agents.Init(s, rand.New(rand.NewPCG(seed, 1))))
		o := random(&s, rapid.IntRange(1, 40).Draw(t, "servers"), rapid.IntRange(0, 20).Draw(t, "jobs"),
			rapid.IntRange(1, 12).Draw(t, "candidates"), seed)
		n.Forward(&o)
		for i, b := range n.Bids {
			if b != 0 {
				t.Fatalf("bid %d is %v", i, b)
			}
		}
	})
}

// rearrange returns the observation with its servers, jobs and candidates in another order: server i of the result is server
// servers[i] of o, and so on.
func rearrange(s *agents.Shape, o *agents.Observation, servers, jobs, candidates []int) agents.Observation {
	c := o.Clone()
	move := func(dst, src []float32, perm []int, width int) {
		for i, from := range perm {
			copy(dst[i*width:(i+1)*width], src[from*width:])
		}
	}
	move(c.Server, o.Server, servers, s.Server)
	move(c.Job, o.Job, jobs, s.Job)
	move(c.Candidate, o.Candidate, candidates, s.Candidate)
	if s.Joint {
		for i, from := range servers {
			c.Rack[i], c.Type[i] = o.Rack[from], o.Type[from]
		}
		for i, from := range jobs {
			c.Tenant[i] = o.Tenant[from]
		}
		for i, k := range o.Taken {
			c.Taken[i] = int32(slices.Index(candidates, int(k)))
		}
	}
	for i, from := range candidates {
		c.Of[i] = -1
		if k := o.Of[from]; k >= 0 {
			c.Of[i] = int32(slices.Index(jobs, int(k)))
		}
	}
	for i, share := range o.Shares {
		c.Shares[i] = agents.Share{
			Candidate: int32(slices.Index(candidates, int(share.Candidate))), Server: int32(slices.Index(servers, int(share.Server))),
			Weight: share.Weight,
		}
	}
	slices.SortFunc(c.Shares, func(a, b agents.Share) int {
		return int(a.Candidate-b.Candidate)<<16 + int(a.Server-b.Server)
	})
	return c
}

// TestOrderDoesNotMatter checks that bids and neighbours do not depend on the order of servers, jobs and candidates.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom(append(variants(), joint()...)).Draw(t, "size")
		seed := rapid.Uint64().Draw(t, "seed")
		s := must.Get(agents.NewShape(12, 9, 14, 5, size))(t)
		r := rand.New(rand.NewPCG(seed, 9))
		p := agents.Init(s, r)
		for i := range p {
			for j := range p[i].Data {
				p[i].Data[j] += float32(0.2 * r.NormFloat64())
			}
		}
		o := random(&s, rapid.IntRange(1, 40).Draw(t, "servers"), rapid.IntRange(0, 20).Draw(t, "jobs"),
			rapid.IntRange(1, 12).Draw(t, "candidates"), seed)
		servers, jobs, candidates := r.Perm(o.Servers), r.Perm(o.Jobs), r.Perm(o.Candidates)
		nodes := servers
		if s.Joint { // the first candidate is the prior's own
			at := slices.Index(candidates, 0)
			candidates[0], candidates[at] = 0, candidates[0]
			nodes = candidates
		}
		if s.Graph == agents.GraphRandom { // GraphRandom depends on the numbers of the nodes
			slices.Sort(nodes)
		}
		moved := rearrange(&s, &o, servers, jobs, candidates)
		a, b := agents.NewNet(s, p), agents.NewNet(s, p)
		a.Forward(&o)
		b.Forward(&moved)
		for i, from := range candidates {
			if got, want := float64(b.Bids[i]), float64(a.Bids[from]); math.Abs(got-want) > 2e-4*(1+math.Abs(want)) {
				t.Fatalf("bid of candidate %d is %v, want %v", from, got, want)
			}
		}
		adjacency(a, &s, &o)
		adjacency(b, &s, &moved)
		for i, from := range nodes {
			to := b.Graph.Neighbours(i)
			var was []int32
			for _, j := range to {
				was = append(was, int32(nodes[j]))
			}
			slices.Sort(was)
			if want := a.Graph.Neighbours(from); !slices.Equal(was, want) {
				t.Fatalf("node %d has neighbours %v, want %v", from, was, want)
			}
		}
	})
}

// TestVariantsDiffer checks that all variants have the same parameters and different bids, and that without a graph the pair
// parameters have no effect.
func TestVariantsDiffer(t *testing.T) {
	var seen [][]float32
	_, p := policy(t, agents.DefaultSize(), 1, 0.2)
	for _, size := range variants() {
		s, q := policy(t, size, 1, 0.2)
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("%s, %s: other parameters", s.Attention, s.Graph)
		}
		o := random(&s, 40, 20, 6, 3)
		n := agents.NewNet(s, q)
		n.Forward(&o)
		bids := slices.Clone(n.Bids)
		if slices.ContainsFunc(seen, func(other []float32) bool { return slices.Equal(bids, other) }) {
			t.Errorf("%s, %s: bids like another", s.Attention, s.Graph)
		}
		seen = append(seen, bids)
		adjacent := func() []float32 {
			dst := make([]float32, o.Servers*o.Servers)
			n.Graph.Adjacency(dst)
			return dst
		}
		neighbours := adjacent()
		at := slices.IndexFunc(q, func(p agents.Param) bool { return p.Name == "pair.w" })
		for i := range q[at].Data {
			q[at].Data[i] = float32(math.Cos(float64(i)))
		}
		n.Forward(&o)
		if same := slices.Equal(bids, n.Bids); same != (s.Graph == agents.GraphNone) {
			t.Errorf("%s, %s: other projections, same bids %v", s.Attention, s.Graph, same)
		}
		if same := slices.Equal(neighbours, adjacent()); same != (s.Graph != agents.GraphDynamic) {
			t.Errorf("%s, %s: other projections, same neighbours %v", s.Attention, s.Graph, same)
		}
	}
}

func TestShapesAreChecked(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*agents.Size)
		want   []string
	}{
		{"default", func(*agents.Size) {}, nil},
		{"empty choices", func(s *agents.Size) { s.Attention, s.Graph = "", "" }, nil},
		{"width", func(s *agents.Size) { s.Width = 0 }, []string{"width", "0", "1 to 4096"}},
		{"heads", func(s *agents.Size) { s.Heads = 5 }, []string{"width", "32", "multiple of the 5 heads"}},
		{"kappa", func(s *agents.Size) { s.Kappa = -1 }, []string{"kappa", "-1", "0 to 256"}},
		{"attention", func(s *agents.Size) { s.Attention = "all" }, []string{"attention", `"all"`, "attend, mean, none"}},
		{"graph", func(s *agents.Size) { s.Graph = "ring" }, []string{"graph", `"ring"`, "dynamic, random, full, none"}},
	} {
		size := agents.DefaultSize()
		c.change(&size)
		s, err := agents.NewShape(12, 9, 14, 5, size)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: error %v", c.name, err)
		}
		for _, want := range c.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %s", c.name, err, want)
			}
		}
		if err == nil && (s.Server != 17 || s.Job != 14 || s.Candidate != 14 || s.Attention != "attend" || s.Graph != "dynamic") {
			t.Errorf("%s: shape %+v", c.name, s)
		}
	}
	if _, err := agents.NewShape(12, 9, 0, 5, agents.DefaultSize()); err == nil || !strings.Contains(err.Error(), "candidate features: 0") {
		t.Errorf("error %v, want one with candidate features", err)
	}
}

func TestClonesAreIndependent(t *testing.T) {
	s, _ := policy(t, agents.DefaultSize(), 1, 0)
	o := random(&s, 4, 3, 5, 1)
	c, again := o.Clone(), random(&s, 4, 3, 5, 1)
	for _, x := range [][]float32{o.Server, o.Job, o.Candidate} {
		clear(x)
	}
	clear(o.Shares)
	clear(o.Of)
	if !reflect.DeepEqual(c, again) {
		t.Error("a clone changes with what it was made of")
	}
}

// TestFromTensors checks that weights are found by name, in any order and among other tensors, and copied, and that errors name
// the tensor.
func TestFromTensors(t *testing.T) {
	s, p := policy(t, agents.DefaultSize(), 1, 0.1)
	tensors := p.Tensors()
	at := slices.IndexFunc(tensors, func(t checkpoints.Tensor) bool { return t.Name == "offer.w" })
	shape := tensors[at].Shape
	data := func(n int, v float64) []float32 {
		d := make([]float32, n)
		d[n-1] = float32(v)
		return d
	}
	size := shape[0] * shape[1]
	for _, c := range []struct {
		name string
		put  checkpoints.Tensor
		want []string
	}{
		{"another name", checkpoints.Tensor{Name: "offer.v", Shape: shape, Data: data(size, 1)}, []string{`"offer.w"`, "not among"}},
		{"transposed", checkpoints.Tensor{Name: "offer.w", Shape: []int{shape[1], shape[0]}, Data: data(size, 1)},
			[]string{`"offer.w"`, "shape", "want"}},
		{"flat", checkpoints.Tensor{Name: "offer.w", Shape: []int{size}, Data: data(size, 1)}, []string{`"offer.w"`, "shape"}},
		{"too large", checkpoints.Tensor{Name: "offer.w", Shape: []int{shape[0] + 1, shape[1]}, Data: data(size+shape[1], 1)},
			[]string{`"offer.w"`, "shape"}},
		{"of float64", checkpoints.Tensor{Name: "offer.w", Shape: shape, Data: make([]float64, size)},
			[]string{`"offer.w"`, "float64"}},
		{"not a number", checkpoints.Tensor{Name: "offer.w", Shape: shape, Data: data(size, math.NaN())},
			[]string{"offer.w", "NaN", "finite"}},
		{"infinite", checkpoints.Tensor{Name: "offer.w", Shape: shape, Data: data(size, math.Inf(-1))},
			[]string{"offer.w", "-Inf", "finite"}},
	} {
		list := slices.Clone(tensors)
		list[at] = c.put
		_, err := agents.FromTensors(s, list)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %s", c.name, err, want)
			}
		}
	}
	if _, err := agents.FromTensors(s, nil); err == nil {
		t.Error("no tensors are fine")
	}
	list := append(slices.Clone(tensors), checkpoints.Tensor{Name: "adam.m", Shape: []int{1}, Data: []float32{1}})
	slices.Reverse(list)
	got := must.Get(agents.FromTensors(s, list))(t)
	for i := range got {
		if got[i].Name != p[i].Name || !slices.Equal(got[i].Data, p[i].Data) {
			t.Errorf("%s differs", p[i].Name)
		}
		got[i].Data[0]++
		if got[i].Data[0] == p[i].Data[0] {
			t.Errorf("%s is shared", got[i].Name)
		}
	}
}
