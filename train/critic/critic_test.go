package critic_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/train/critic"
)

var shape = critic.Shape{Server: 9, Job: 7, Features: 5, Width: 6}

// shaken returns weights that all differ from their initial values, so that no test passes because a weight is 0.
func shaken(s critic.Shape) agents.Params {
	r := rand.New(rand.NewPCG(3, 4))
	p := critic.Init(s, r)
	for i := range p {
		for j := range p[i].Data {
			p[i].Data[j] += float32(0.2 * r.NormFloat64())
		}
	}
	return p
}

// random returns a state with random features.
func random(s critic.Shape, servers, jobs int, r *rand.Rand) critic.State {
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	return critic.State{
		Observation: &agents.Observation{
			Servers: servers, Jobs: jobs, Server: numbers(servers * s.Server), Job: numbers(jobs * s.Job),
		},
		Features: numbers(s.Features),
	}
}

// states returns states of at most the given numbers of servers and jobs, with targets. The first has the most, the second as few
// as possible.
func states(s critic.Shape, servers, jobs, n int) (list []critic.State, want []float64) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		a, b := 1+r.IntN(servers), r.IntN(jobs+1)
		switch i {
		case 0:
			a, b = servers, jobs
		case 1:
			a, b = 1, 0
		}
		list, want = append(list, random(s, a, b, r)), append(want, 3*r.NormFloat64())
	}
	return list, want
}

func machine[T float32 | float64](tb testing.TB, s critic.Shape, rows, servers, jobs int) *critic.Machine[T] {
	tb.Helper()
	m := must.Get(critic.NewMachine[T](s, rows, servers, jobs))(tb)
	tb.Cleanup(func() { _ = m.Close() }) // a machine contains nothing to lose
	return m
}

// plainly computes the network's number by loops, from its definition.
func plainly(s critic.Shape, p agents.Params, x *critic.State) float64 {
	dense := func(at int, in []float64, relu bool) []float64 {
		out := make([]float64, p[at].Shape[1])
		for j := range out {
			out[j] = float64(p[at+1].Data[j])
			for i, v := range in {
				out[j] += v * float64(p[at].Data[i*len(out)+j])
			}
			if relu {
				out[j] = max(out[j], 0)
			}
		}
		return out
	}
	wide := func(x []float32) (out []float64) {
		for _, v := range x {
			out = append(out, float64(v))
		}
		return out
	}
	var row []float64
	for k, rows := range [][]float64{wide(x.Server), wide(x.Job)} {
		mean, most := make([]float64, s.Width), make([]float64, s.Width)
		each := []int{s.Server, s.Job}[k]
		for from := 0; from < len(rows); from += each {
			for j, v := range dense(2*k, rows[from:from+each], true) {
				mean[j] += v * float64(each) / float64(len(rows))
				most[j] = max(most[j], v) // of numbers that are at least 0
			}
		}
		row = append(append(row, mean...), most...)
	}
	row = append(row, wide(x.Features)...)
	return dense(8, dense(6, dense(4, row, true), true), false)[0]
}

// TestNetEqualsPlainLoops checks the network's number against its definition.
func TestNetEqualsPlainLoops(t *testing.T) {
	for _, s := range []critic.Shape{shape, {Server: 40, Job: 51, Features: 30, Width: 32}, {Server: 1, Job: 1, Width: 1}} {
		p := shaken(s)
		net := critic.NewNet(s, p)
		list, _ := states(s, 64, 48, 20)
		for i := range list {
			if got, want := net.Value(&list[i]), plainly(s, p, &list[i]); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
				t.Fatalf("%+v, state %d: %v, want %v", s, i, got, want)
			}
		}
	}
}

// TestGraphAgreesWithNet checks that the training graph and the plain network give the same numbers, at production size, also for
// fewer rows, servers and jobs than the machine's maximum.
func TestGraphAgreesWithNet(t *testing.T) {
	s := critic.Shape{Server: 40, Job: 51, Features: 30, Width: 32}
	p := shaken(s)
	net, grad := critic.NewNet(s, p), make([]float32, p.Count())
	for _, c := range []struct{ servers, jobs int }{{1, 1}, {16, 32}, {64, 48}} {
		m := machine[float32](t, s, 11, c.servers, c.jobs)
		list, want := states(s, c.servers, c.jobs, 10)
		must.Get(m.Run(p, list, want, grad))(t)
		for i := range list {
			if got, want := float64(m.Values()[i]), net.Value(&list[i]); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
				t.Fatalf("%+v, state %d: %v, want %v", c, i, got, want)
			}
		}
	}
}

// TestGradients checks gradients in float64 against central differences of the loss, and the loss against its definition.
func TestGradients(t *testing.T) {
	const rows = 9
	p := shaken(shape)
	m := machine[float64](t, shape, rows, 5, 4)
	list, want := states(shape, 5, 4, rows-1) // one padded row
	grad, scrap := make([]float64, p.Count()), make([]float64, p.Count())
	cost := func(grad []float64) float64 {
		x := must.Get(m.Run(p, list, want, grad))(t)
		return x
	}
	loss, sum := cost(grad), 0.0
	far := 0
	for i := range list {
		e := math.Abs(plainly(shape, p, &list[i]) - want[i])
		if e > 1 {
			far++
			sum += e - 0.5
		} else {
			sum += e * e / 2
		}
	}
	if math.Abs(loss-sum/float64(len(list))) > 1e-9 || far == 0 || far == len(list) {
		t.Fatalf("loss %v, want %v; %d of %d errors above 1", loss, sum/float64(len(list)), far, len(list))
	}
	at := 0
	for i := range p {
		some := false
		for j := range p[i].Data {
			const step = 1.0 / (1 << 16) // a power of two, because parameters are float32
			old := p[i].Data[j]
			p[i].Data[j] = old + step
			up, plus := cost(scrap), float64(p[i].Data[j])
			p[i].Data[j] = old - step
			down, minus := cost(scrap), float64(p[i].Data[j])
			p[i].Data[j] = old
			want, got := (up-down)/(plus-minus), grad[at+j]
			if some = some || got != 0; math.Abs(got-want) > 1e-4*max(0.02, math.Abs(got)+math.Abs(want)) {
				t.Errorf("%s[%d]: gradient %v, want %v", p[i].Name, j, got, want)
			}
		}
		if !some {
			t.Errorf("%s has no gradient", p[i].Name)
		}
		at += len(p[i].Data)
	}
}

// TestRunsAreClean checks that padding adds nothing and that a second run gives the same result.
func TestRunsAreClean(t *testing.T) {
	p := shaken(shape)
	run := func(m *critic.Machine[float64], list []critic.State, want []float64) ([]float64, float64) {
		grad := slices.Repeat([]float64{99}, p.Count())
		loss := must.Get(m.Run(p, list, want, grad))(t)
		return grad, loss
	}
	small, large := machine[float64](t, shape, 5, 6, 5), machine[float64](t, shape, 8, 13, 14)
	list, want := states(shape, 6, 5, 5)
	exact, first := run(small, list, want)
	if again, second := run(small, list, want); !slices.Equal(exact, again) || first != second {
		t.Fatal("a second run differs")
	}
	full, others := states(shape, 13, 14, 8)
	run(large, full, others) // leaves numbers in the padding of the next batch
	padded, third := run(large, list, want)
	for i := range exact {
		if math.Abs(exact[i]-padded[i]) > 1e-9*max(1, math.Abs(exact[i])) {
			t.Fatalf("gradient %d is %v with padding, %v without", i, padded[i], exact[i])
		}
	}
	if math.Abs(first-third) > 1e-9 {
		t.Fatalf("loss %v with padding, %v without", third, first)
	}
}

// TestOrderDoesNotMatter checks that the number does not depend on the order of servers and of jobs.
func TestOrderDoesNotMatter(t *testing.T) {
	p := shaken(shape)
	net := critic.NewNet(shape, p)
	shuffled := func(t *rapid.T, rows []float32, width int, name string) []float32 {
		order := rapid.Permutation(indices(len(rows)/width)).Draw(t, name)
		var out []float32
		for _, i := range order {
			out = append(out, rows[i*width:(i+1)*width]...)
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		x := random(shape, rapid.IntRange(1, 9).Draw(t, "servers"), rapid.IntRange(0, 9).Draw(t, "jobs"), r)
		want, o := net.Value(&x), *x.Observation
		o.Server, o.Job = shuffled(t, x.Server, shape.Server, "order of servers"), shuffled(t, x.Job, shape.Job, "order of jobs")
		y := critic.State{Observation: &o, Features: x.Features}
		if got := net.Value(&y); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
			t.Fatalf("%v in another order, %v before", got, want)
		}
	})
}

func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// TestScaleKeepsValues checks the statistics against their definition, and that a new scale leaves the value of every state.
func TestScaleKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := shaken(shape)
		net := critic.NewNet(shape, p)
		x := random(shape, 3, 4, rand.New(rand.NewPCG(1, 1)))
		var s critic.Scale
		if s.Value(2) != 2 || s.Number(2) != 2 {
			t.Fatal("the first scale is not that of the numbers")
		}
		mean, square := 0.0, 0.0
		for update := range rapid.IntRange(1, 30).Draw(t, "updates") {
			values := rapid.SliceOfN(rapid.Float64Range(-50, 50), 2, 20).Draw(t, "values")
			before, number := s.Value(net.Value(&x)), net.Value(&x)
			s.Adapt(p, values)
			m, q := 0.0, 0.0
			for _, v := range values {
				m, q = m+v/float64(len(values)), q+v*v/float64(len(values))
			}
			part := max(0.1, 1/float64(update+1))
			mean, square = (1-part)*mean+part*m, (1-part)*square+part*q
			if d := math.Sqrt(max(square-mean*mean, 0)); math.Abs(s.Mean-mean) > 1e-9 || math.Abs(s.Deviation()-d) > 1e-4 {
				t.Fatalf("mean %v and deviation %v, want %v and %v", s.Mean, s.Deviation(), mean, d)
			}
			if s.Deviation() < 0.1 {
				return // float32 weights cannot express values at such a scale
			}
			if update == 0 {
				if net.Value(&x) != number {
					t.Fatal("the first update changed the network")
				}
				continue
			}
			if got := s.Value(net.Value(&x)); math.Abs(got-before) > 1e-3*(1+math.Abs(before)) {
				t.Fatalf("update %d: value %v, want %v as before", update+1, got, before)
			}
		}
	})
}

// TestShrinkLeavesHindsight checks that a network whose weights of observations are 0 tells states apart by hindsight alone.
func TestShrinkLeavesHindsight(t *testing.T) {
	s := shape
	s.Hindsight = 2
	p, r := shaken(s), rand.New(rand.NewPCG(1, 1))
	before := p.Clone()
	critic.Shrink(s, p, 0.5)
	if p[0].Data[3] != before[0].Data[3]/2 || p[1].Data[3] != before[1].Data[3] {
		t.Errorf("weight %v and bias %v, were %v and %v", p[0].Data[3], p[1].Data[3], before[0].Data[3], before[1].Data[3])
	}
	critic.Shrink(s, p, 0)
	net := critic.NewNet(s, p)
	x, y := random(s, 3, 4, r), random(s, 5, 2, r)
	other := net.Value(&y)
	copy(y.Features[3:], x.Features[3:])
	if net.Value(&x) != net.Value(&y) || net.Value(&x) == other {
		t.Errorf("values %v and %v with equal hindsight, %v with other hindsight", net.Value(&x), net.Value(&y), other)
	}
}

func TestRefusals(t *testing.T) {
	if _, err := critic.NewMachine[float32](critic.Shape{Server: 1, Job: 1}, 1, 1, 1); err == nil {
		t.Error("a network without width")
	}
	if _, err := critic.NewMachine[float32](critic.Shape{Server: 1, Job: 1, Hindsight: 1, Width: 1}, 1, 1, 1); err == nil {
		t.Error("more hindsight than features")
	}
	if _, err := critic.NewMachine[float32](shape, 1, 0, 1); err == nil {
		t.Error("a machine for no server")
	}
	p := shaken(shape)
	m, grad := machine[float32](t, shape, 2, 3, 3), make([]float32, p.Count())
	list, want := states(shape, 4, 3, 3)
	if _, err := m.Run(p, list, want, grad); err == nil {
		t.Error("3 states on a machine for 2")
	}
	if _, err := m.Run(p, list[:1], want[:1], grad); err == nil {
		t.Error("4 servers on a machine for 3")
	}
	if _, err := m.Run(p, list[1:2], nil, grad); err == nil {
		t.Error("a state without a target")
	}
}
