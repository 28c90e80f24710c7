package yardsticks

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/env/game"
)

func normals(draw *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(draw.NormFloat64())
	}
	return x
}

// TestGradientEqualsFiniteDifferences checks the machine's gradient against differences of scores that the kernels compute, not
// Gorgonia. The last rows of the machine are unused.
func TestGradientEqualsFiniteDifferences(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	n := newNet(7, 1, draw)
	m, err := newMachine[float64](n.width, 9)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.vm.Close() }()
	rows, slopes := normals(draw, 6*n.width), normals(draw, 6)
	grad := make([]float64, n.size())
	// The second run must not add to what a run of all rows left behind.
	if err := m.add(grad, n, normals(draw, 9*n.width), normals(draw, 9)); err != nil {
		t.Fatal(err)
	}
	clear(grad)
	if err := m.add(grad, n, rows, slopes); err != nil {
		t.Fatal(err)
	}
	cost := func() (sum float64) {
		for i, s := range n.score(nil, rows) {
			sum += float64(slopes[i]) * float64(s)
		}
		return sum
	}
	at := 0
	for _, p := range n.params() {
		data := p.Data.([]float32)
		for k := 0; k < len(data); k += 1 + len(data)/20 {
			const eps = 1e-2
			before := data[k]
			data[k] = before + eps
			up := cost()
			data[k] = before - eps
			down := cost()
			data[k] = before
			if got, want := grad[at+k], (up-down)/(2*eps); math.Abs(got-want) > 5e-2*max(1, math.Abs(want)) {
				t.Errorf("%s[%d]: gradient %.4f, difference %.4f", p.Name, k, got, want)
			}
		}
		at += len(data)
	}
}

// TestMachineScoresAsKernels compares the graph's scores with those of the kernels, at the size of a training step.
func TestMachineScoresAsKernels(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	n := newNet(133, 1, draw)
	m, err := newMachine[float32](n.width, ippoBatch)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.vm.Close() }()
	rows := normals(draw, ippoBatch*n.width)
	if err := m.add(make([]float32, n.size()), n, rows, make([]float32, ippoBatch)); err != nil {
		t.Fatal(err)
	}
	got := m.scores.Data().([]float32)
	for i, want := range n.score(nil, rows) {
		if math.Abs(float64(got[i]-want)) > 1e-5 {
			t.Fatalf("row %d: score %v, want %v", i, got[i], want)
		}
	}
}

// TestPreferenceEqualsFiniteDifferences checks the derivatives of IPPO's loss against differences of the loss as published.
func TestPreferenceEqualsFiniteDifferences(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct{ log, advantage float64 }{{-1.2, 1.5}, {-1.2, -1.5}, {-4, 2}, {-4, -2}, {-0.1, 2}, {-0.1, -2}} {
		scores := normals(draw, 4)
		loss := func(scores []float32) float64 {
			sum, entropy := 0.0, 0.0
			for _, x := range scores {
				sum += math.Exp(float64(x))
			}
			for _, x := range scores {
				p := math.Exp(float64(x)) / sum
				entropy -= p * math.Log(p)
			}
			ratio := math.Exp(float64(scores[2]) - math.Log(sum) - c.log)
			clipped := min(max(ratio, 1-ippoClip), 1+ippoClip)
			return -0.5 * (min(ratio*c.advantage, clipped*c.advantage) + ippoEntropy*entropy)
		}
		got := preference(nil, append([]float32(nil), scores...), 2, c.log, c.advantage, 0.5)
		for k := range scores {
			const eps = 1e-2
			up, down := append([]float32(nil), scores...), append([]float32(nil), scores...)
			up[k] += eps
			down[k] -= eps
			if want := (loss(up) - loss(down)) / (2 * eps); math.Abs(float64(got[k])-want) > 1e-3*max(1, math.Abs(want)) {
				t.Errorf("log %v, advantage %v: derivative %d is %v, difference %v", c.log, c.advantage, k, got[k], want)
			}
		}
	}
}

// TestDoubleQ checks VDN's errors on a step whose values are computed by hand: the target is what the target network says of the
// actions that the net itself prefers, and every agent's action gets the same slope.
func TestDoubleQ(t *testing.T) {
	draw := rand.New(rand.NewPCG(7, 9))
	const w = 3
	l, err := newVDN(w, 2, 1e-3, draw)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.close() }()
	l.target = newNet(w, 1, draw) // so that the two differ
	drawn := func(n int) view { return view{make([]game.Action, n), normals(draw, n*w)} }
	s := &step{
		views: []view{drawn(2), drawn(3)}, taken: []int{1, 0}, next: []view{drawn(4), drawn(2)}, reward: -0.2, discount: 0.9,
	}
	want, differ := 0.2, false
	for i := range s.views {
		want += float64(l.q.score(nil, rowOf(s.views[i].rows, s.taken[i], w))[0])
		best := highest(l.q.score(nil, s.next[i].rows))
		differ = differ || best != highest(l.target.score(nil, s.next[i].rows))
		want -= 0.9 * float64(l.target.score(nil, s.next[i].rows)[best])
	}
	if !differ {
		t.Fatal("both networks prefer the same actions: want another seed")
	}
	rows, slopes := l.loss([]*step{s})
	if len(rows) != 2*w || len(slopes) != 2 {
		t.Fatalf("%d rows and %d slopes, want those of two agents", len(rows)/w, len(slopes))
	}
	for _, got := range slopes {
		if math.Abs(float64(got)-min(max(want, -1), 1)) > 1e-5 {
			t.Errorf("slope %v, want %v", got, want)
		}
	}
}
