package agents_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/internal/kernel/plain"
)

// random returns an observation of random features.
func random(s *agents.Shape, servers, tokens int, seed uint64) agents.Observation {
	r := rand.New(rand.NewPCG(seed, 5))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = r.Float32()
		}
		return x
	}
	return agents.Observation{
		Servers: servers, Tokens: tokens, Server: numbers(servers * s.Server), Token: numbers(tokens * s.Token),
		Item: numbers(servers * tokens * s.Item), ServerMask: slices.Repeat([]float32{1}, servers),
		TokenMask: slices.Repeat([]float32{1}, tokens), Active: slices.Repeat([]bool{true}, servers),
	}
}

// double is the forward pass once more in plain loops and double precision: residual bids and stop.
func double(p *agents.Policy, o *agents.Observation) (bids []complex128, stop complex128) {
	s, d := p.Shape, p.Shape.Width
	wide := func(x []float32) []complex128 {
		y := make([]complex128, len(x))
		for i, v := range x {
			y[i] = complex(float64(v), 0)
		}
		return y
	}
	w := func(name string) []complex128 {
		return wide(p.Params[slices.IndexFunc(p.Params, func(q agents.Param) bool { return q.Name == name })].Data)
	}
	dense := func(x []complex128, name string, in, out int, act func(complex128) complex128) []complex128 {
		return plain.Dense(x, w(name+"w"), w(name+"b"), in, out, act)
	}
	attend := func(x, y, mask []complex128, name string, reference int) []complex128 {
		project := func(x []complex128, part string) []complex128 {
			return plain.Dense(x, w(name+".w"+part), w(name+".b"+part), d, d, plain.Identity)
		}
		sum := project(plain.Attention(project(x, "q"), project(y, "k"), project(y, "v"), mask, 1, len(x)/d, len(y)/d, d, s.Heads,
			reference), "o")
		for i, v := range x {
			sum[i] += v
		}
		return plain.LayerNorm(sum, w(name+".gain"), w(name+".bias"))
	}
	here, there := wide(o.ServerMask), wide(o.TokenMask)
	h := dense(wide(o.Server), "server.", s.Server, d, plain.ReLU)
	y := dense(wide(o.Token), "token.", s.Token, d, plain.ReLU)
	y = attend(y, h, here, "tokens_to_servers", agents.ReferenceServers)
	h = attend(h, y, there, "servers_to_tokens", 0)
	z := attend(w("inducing.points"), h, here, "inducing_to_servers", agents.ReferenceServers)
	h = attend(h, z, slices.Repeat([]complex128{1}, s.Inducing), "servers_to_inducing", 0)

	m := s.Hidden
	u := plain.ItemHidden(dense(h, "item.agent.", d, m, plain.Identity), dense(y, "item.token.", d, m, plain.Identity),
		wide(o.Item), w("item.w"), 1, o.Servers, o.Tokens, s.Item, m)
	word := dense(plain.Pool(h, here, o.Servers, d, false), "stop.servers.", d, m, cmplx.Tanh)
	for i, v := range dense(plain.Pool(y, there, o.Tokens, d, false), "stop.tokens.", d, m, cmplx.Tanh) {
		word[i] += v
	}
	return dense(u, "bid.", m, 1, plain.Identity), dense(word, "stop.", m, 1, plain.Identity)[0]
}

// The production forward pass equals plain loops in double precision, on one server, a few and many, padded and not.
func TestForwardEqualsPlainLoops(t *testing.T) {
	p := newPolicy(t, 1)
	shake(p, 1, 0.1)
	n := agents.NewNet(p.Shape, p.Params)
	for _, c := range []struct{ servers, tokens, padded int }{
		{1, 1, 0}, {1, 32, 0}, {3, 5, 1}, {64, 32, 0}, {64, 32, 20}, {1024, 32, 0}, {5, 32, 5},
	} {
		o := random(&p.Shape, c.servers, c.tokens, 2)
		clear(o.ServerMask[c.servers-c.padded:])
		clear(o.TokenMask[c.tokens-c.padded/2:])
		n.Forward(&o)
		bids, stop := double(p, &o)
		if math.Abs(float64(n.Stop)-real(stop)) > 1e-5*(1+math.Abs(real(stop))) {
			t.Errorf("%+v: stop is %v, want %v", c, n.Stop, real(stop))
		}
		for a, want := range bids {
			if !(math.Abs(float64(n.Bids[a])-real(want)) <= 1e-5*(1+math.Abs(real(want)))) {
				t.Errorf("%+v: bid %d is %v, want %v", c, a, n.Bids[a], real(want))
				break
			}
		}
	}
}

// Padded servers, whatever they look like, change nothing for the others.
func TestPaddedServersChangeNothing(t *testing.T) {
	const servers, more, tokens = 7, 300, 32
	p := newPolicy(t, 1)
	shake(p, 1, 0.3)
	o, c := random(&p.Shape, servers, tokens, 3), random(&p.Shape, servers+more, tokens, 4)
	copy(c.Server, o.Server)
	copy(c.Token, o.Token)
	copy(c.Item, o.Item)
	clear(c.ServerMask[servers:])
	clear(c.Active[servers:])
	a, b := agents.NewNet(p.Shape, p.Params), agents.NewNet(p.Shape, p.Params)
	a.Forward(&o)
	b.Forward(&c)
	near := func(x, y float32) bool { return math.Abs(float64(x-y)) <= 1e-5*(1+math.Abs(float64(x))) }
	if !near(a.Stop, b.Stop) || !slices.EqualFunc(a.Bids, b.Bids[:len(a.Bids)], near) {
		t.Error("padding changes the bids")
	}
	if !slices.Equal(a.Graph.To, b.Graph.To) || !slices.EqualFunc(a.Graph.Gate, b.Graph.Gate, near) {
		t.Error("padding changes the coordination graph")
	}
}
