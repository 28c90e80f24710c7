package agents_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/plain"
)

// policy returns a network of the given size. Each weight differs from its initial value by a random number of standard deviation
// by.
func policy(tb testing.TB, size agents.Size, seed uint64, by float64) (agents.Shape, agents.Params) {
	tb.Helper()
	s := must.Get(agents.NewShape(12, 9, 14, 5, size))(tb)
	r := rand.New(rand.NewPCG(seed, 3))
	p := agents.Init(s, r)
	for i := range p {
		for j := range p[i].Data {
			p[i].Data[j] += float32(by * r.NormFloat64())
		}
	}
	return s, p
}

// variant returns the default size with other values of Attention and Graph.
func variant(attention, graph string) agents.Size {
	size := agents.DefaultSize()
	size.Attention, size.Graph = attention, graph
	return size
}

// variants returns the sizes of the network and of all variants.
func variants() []agents.Size {
	return []agents.Size{
		agents.DefaultSize(), variant("mean", "dynamic"), variant("none", "dynamic"), variant("attend", "none"),
		variant("attend", "random"), variant("attend", "full"),
	}
}

// joint returns the sizes of variants with Joint.
func joint() []agents.Size {
	list := variants()
	for i := range list {
		list[i].Joint = true
	}
	return list
}

// random returns an observation with random features. Each candidate is about at most one job and has up to six servers.
func random(s *agents.Shape, servers, jobs, candidates int, seed uint64) agents.Observation {
	r := rand.New(rand.NewPCG(seed, 5))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = r.Float32()
		}
		return x
	}
	o := agents.Observation{
		Servers: servers, Jobs: jobs, Candidates: candidates,
		Server: numbers(servers * s.Server), Job: numbers(jobs * s.Job), Candidate: numbers(candidates * s.Candidate),
	}
	for i := range candidates {
		o.Of = append(o.Of, int32(r.IntN(jobs+1)-1))
		members := r.Perm(servers)[:r.IntN(min(6, servers)+1)]
		slices.Sort(members)
		at, sum := len(o.Shares), float32(0)
		for _, m := range members {
			w := 0.1 + r.Float32()
			o.Shares = append(o.Shares, agents.Share{Candidate: int32(i), Server: int32(m), Weight: w})
			sum += w
		}
		for k := range o.Shares[at:] {
			o.Shares[at+k].Weight /= sum
		}
	}
	if s.Joint {
		few := func(n int) []int32 {
			x := make([]int32, n)
			for i := range x {
				x[i] = int32(r.IntN(3))
			}
			return x
		}
		o.Rack, o.Type, o.Tenant = few(servers), few(servers), few(jobs)
		for _, k := range r.Perm(candidates)[:min(candidates, 4)] {
			if k > 0 {
				o.Taken = append(o.Taken, int32(k))
			}
		}
	}
	return o
}

// double computes the forward pass with plain loops in double precision, candidate by candidate, on the given coordination graph.
func double(s agents.Shape, p agents.Params, o *agents.Observation, g *coordgraph.Graph[float32]) []float64 {
	d, m := s.Width, s.Hidden
	wide := func(x []float32) []complex128 {
		y := make([]complex128, len(x))
		for i, v := range x {
			y[i] = complex(float64(v), 0)
		}
		return y
	}
	w := func(name string) []complex128 {
		return wide(p[slices.IndexFunc(p, func(q agents.Param) bool { return q.Name == name })].Data)
	}
	dense := func(x []complex128, name, part string, in, out int, act func(complex128) complex128) []complex128 {
		return plain.Dense(x, w(name+".w"+part), w(name+".b"+part), in, out, act)
	}
	norm := func(x, more []complex128, name string) []complex128 {
		sum := slices.Clone(x)
		for i, v := range more {
			sum[i] += v
		}
		return plain.LayerNorm(sum, w(name+".gain"), w(name+".bias"))
	}
	ones := func(n int) []complex128 { return slices.Repeat([]complex128{1}, n) }
	attend := func(x, y []complex128, name string, reference int) []complex128 {
		project := func(x []complex128, part string) []complex128 { return dense(x, name, part, d, d, plain.Identity) }
		heads := plain.Attention(project(x, "q"), project(y, "k"), project(y, "v"), ones(len(y)/d), 1, len(x)/d, len(y)/d, d,
			s.Heads, reference)
		return norm(x, project(heads, "o"), name)
	}
	h := dense(wide(o.Server), "server", "", s.Server, d, plain.ReLU)
	y := dense(wide(o.Job), "job", "", s.Job, d, plain.ReLU)
	seen := attend(y, h, "jobs_to_servers", agents.ReferenceServers)
	switch s.Attention {
	case agents.Attend:
		h = attend(h, seen, "servers_to_jobs", 0)
		z := attend(w("inducing.points"), h, "inducing_to_servers", agents.ReferenceServers)
		h = attend(h, z, "servers_to_inducing", 0)
	case agents.AttendMean:
		h = attend(h, y, "servers_to_jobs", 0)
		v := dense(h, "servers_to_inducing", "v", d, d, plain.Identity)
		others := make([]complex128, len(h))
		for i := range o.Servers {
			for j := range o.Servers {
				for t := range d {
					if i != j {
						others[i*d+t] += v[j*d+t] / complex(float64(o.Servers-1), 0)
					}
				}
			}
		}
		h = norm(h, dense(others, "servers_to_inducing", "o", d, d, plain.Identity), "servers_to_inducing")
	case agents.AttendNone:
		h = attend(h, y, "servers_to_jobs", 0)
	}
	y = seen

	var q, e []complex128
	if !s.Joint {
		q = dense(h, "pair", "", d, s.Rank, plain.Identity)
	}
	bids := make([]float64, o.Candidates)
	for i := range bids {
		row := make([]complex128, 4*d, 4*d+s.Candidate)
		first, second := make([]complex128, s.Rank), make([]complex128, s.Rank)
		for _, share := range o.Shares {
			if int(share.Candidate) != i {
				continue
			}
			at, weight := int(share.Server), complex(float64(share.Weight), 0)
			for t := range d {
				row[t] += weight * h[at*d+t]
			}
			if s.Joint {
				continue
			}
			to := g.Neighbours(at)
			for r := range s.Rank {
				first[r] += weight * q[at*s.Rank+r]
				second[r] += weight * q[at*s.Rank+r]
				for _, j := range to {
					second[r] += weight * q[int(j)*s.Rank+r]
				}
			}
		}
		for t := range d {
			if k := int(o.Of[i]); k >= 0 {
				row[d+t] = y[k*d+t]
			}
			for k := range o.Servers {
				row[2*d+t] += h[k*d+t] / complex(float64(o.Servers), 0)
			}
			for k := range o.Jobs {
				row[3*d+t] += y[k*d+t] / complex(float64(o.Jobs), 0)
			}
		}
		row = append(row, wide(o.Candidate[i*s.Candidate:(i+1)*s.Candidate])...)
		hidden := dense(row, "offer", "", len(row), m, plain.ReLU)
		if s.Joint {
			e = append(e, hidden...)
			continue
		}
		bid := complex128(0)
		for t, u := range hidden {
			bid += u * w("bid.w")[t]
		}
		if s.Graph != agents.GraphNone {
			for r, v := range w("pair.weight") {
				bid += v * first[r] * second[r]
			}
		}
		bids[i] = real(bid)
	}
	if !s.Joint {
		return bids
	}
	if s.Attention == agents.Attend {
		e = attend(e, e, "candidates_to_candidates", 0)
	}
	q = dense(e, "tie", "", m, s.Rank, plain.Identity)
	for i := range bids {
		bid := complex128(0)
		for t, v := range w("bid.w") {
			bid += v * e[i*m+t]
		}
		for _, taken := range o.Taken {
			if s.Graph == agents.GraphNone || !slices.Contains(g.Neighbours(i), taken) {
				continue
			}
			strengths := tied(o, i, int(taken))
			for k, name := range []string{"server", "rack", "type", "tenant", "any"} {
				for r, v := range w("tie." + name) {
					bid += complex(strengths[k], 0) * v * q[i*s.Rank+r] * q[int(taken)*s.Rank+r]
				}
			}
		}
		bids[i] = real(bid)
	}
	return bids
}

// tied returns the strengths of the ties between two candidates, computed server by server.
func tied(o *agents.Observation, a, b int) (s [agents.Ties]float64) {
	weights := func(c int, id func(server int32) int32) map[int32]float64 {
		sum := map[int32]float64{}
		for _, share := range o.Shares {
			if int(share.Candidate) == c && id(share.Server) != 0 {
				sum[id(share.Server)] += float64(share.Weight)
			}
		}
		return sum
	}
	for k, id := range []func(int32) int32{
		func(server int32) int32 { return server + 1 }, func(server int32) int32 { return o.Rack[server] },
		func(server int32) int32 { return o.Type[server] },
	} {
		other := weights(b, id)
		for at, w := range weights(a, id) {
			s[k] += min(w, other[at])
		}
	}
	if x, y := o.Of[a], o.Of[b]; x >= 0 && y >= 0 && o.Tenant[x] != 0 && o.Tenant[x] == o.Tenant[y] {
		s[agents.SameTenant] = 1
	}
	s[agents.AnyTwo] = 1
	return s
}

// adjacency makes the network select its graph for the last observation.
func adjacency(n *agents.Net, s *agents.Shape, o *agents.Observation) {
	nodes := s.Nodes(o)
	n.Adjacency(make([]float32, nodes*nodes))
}

// TestAfterEqualsForward checks that the bids after candidates were carried out are those of a forward pass that was told of them.
func TestAfterEqualsForward(t *testing.T) {
	for _, size := range joint() {
		s, p := policy(t, size, 1, 0.3)
		all, step := agents.NewNet(s, p), agents.NewNet(s, p)
		o := random(&s, 16, 8, 12, 4)
		all.Forward(&o)
		before := o.Clone()
		before.Taken = nil
		step.Forward(&before)
		apart := slices.Clone(step.Bids)
		step.After(o.Taken[:1])
		step.After(o.Taken)
		if !slices.Equal(step.Bids, all.Bids) {
			t.Errorf("%s, %s: bids %v, want %v", s.Attention, s.Graph, step.Bids, all.Bids)
		}
		if same := slices.Equal(apart, all.Bids); same != (s.Graph == agents.GraphNone) {
			t.Errorf("%s, %s: what was carried out makes a difference: %v", s.Attention, s.Graph, !same)
		}
	}
}

// TestForwardEqualsPlainLoops checks the production forward pass against plain loops in double precision: on one server, on a few
// and on many, without jobs, without coalitions, and in all variants.
func TestForwardEqualsPlainLoops(t *testing.T) {
	for _, size := range append(variants(), joint()...) {
		s, p := policy(t, size, 1, 0.1)
		n := agents.NewNet(s, p)
		for _, c := range []struct{ servers, jobs, candidates int }{
			{1, 1, 1}, {1, 0, 3}, {2, 3, 4}, {16, 32, 8}, {64, 0, 5}, {64, 48, 30}, {1024, 48, 8}, {5, 32, 5},
		} {
			o := random(&s, c.servers, c.jobs, c.candidates, 2)
			n.Forward(&o)
			adjacency(n, &s, &o)
			for i, want := range double(s, p, &o, &n.Graph) {
				if !(math.Abs(float64(n.Bids[i])-want) <= 1e-5*(1+math.Abs(want))) {
					t.Errorf("%s, %s, %+v: bid %d is %v, want %v", s.Attention, s.Graph, c, i, n.Bids[i], want)
					break
				}
			}
			if len(n.Bids) != c.candidates {
				t.Errorf("%+v: %d bids", c, len(n.Bids))
			}
			o.Shares = nil
			n.Forward(&o)
			adjacency(n, &s, &o)
			for i, want := range double(s, p, &o, &n.Graph) {
				if !(math.Abs(float64(n.Bids[i])-want) <= 1e-5*(1+math.Abs(want))) {
					t.Errorf("%s, %s, %+v without coalitions: bid %d is %v, want %v", s.Attention, s.Graph, c, i, n.Bids[i], want)
					break
				}
			}
		}
	}
}

// TestNeighboursAreMembers checks that neighbours are members of coalitions, at least kappa of them if there are as many, and all
// members in the full graph.
func TestNeighboursAreMembers(t *testing.T) {
	for _, size := range variants() {
		s, p := policy(t, size, 1, 0.1)
		n := agents.NewNet(s, p)
		for i, servers := range []int{1, 5, 64, 64, 64, 64, 700} {
			candidates := 8
			if servers == 700 {
				candidates = 200 // more members than coordgraph.Exact
			}
			o := random(&s, servers, 3, candidates, uint64(i))
			member := make([]bool, servers)
			for _, share := range o.Shares {
				member[share.Server] = true
			}
			all := 0
			for _, m := range member {
				if m {
					all++
				}
			}
			n.Forward(&o)
			for i, m := range member {
				to := n.Graph.Neighbours(i)
				least, most := min(s.Kappa, all-1), all-1
				switch {
				case !m || s.Graph == agents.GraphNone:
					least, most = 0, 0
				case s.Graph == agents.GraphFull:
					least = all - 1
				}
				if len(to) < least || len(to) > most {
					t.Fatalf("%s, %d servers: server %d has %d neighbours, want %d to %d", s.Graph, servers, i, len(to), least, most)
				}
				for _, j := range to {
					if !member[j] || int(j) == i {
						t.Fatalf("%s: server %d, which is in no coalition or %d itself, is a neighbour", s.Graph, j, i)
					}
				}
			}
		}
	}
}
