package belief

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/cluster"
)

// network returns a network of two members with the given number of hidden units and weights of the given size.
func network(hidden int, size float64) *Network {
	rng := rand.New(rand.NewPCG(7, 8))
	members := []Member{NewMember(hidden), NewMember(hidden)}
	n := &Network{Inputs: Scaling{make([]float32, Inputs), make([]float32, Inputs)}, Members: members}
	for k := range Inputs {
		n.Inputs.Mean[k], n.Inputs.Scale[k] = float32(rng.NormFloat64()), 1+float32(rng.Float64())
	}
	for i := range n.Members {
		for _, t := range n.Members[i].Tensors("") {
			for k := range t.Data.([]float32) {
				t.Data.([]float32)[k] = float32(size * rng.NormFloat64())
			}
		}
	}
	return n
}

// busyLearner makes a learner with what rapid draws, and returns its live jobs. The same draws go to plain, if not nil.
func busyLearner(t *rapid.T, l, plain *Learner) (live []*cluster.JobSpec) {
	for range rapid.IntRange(0, 30).Draw(t, "events") {
		if len(live) == 0 || rapid.Bool().Draw(t, "arrives") {
			j := drawJob(t)
			l.Arrived(j)
			live = append(live, j)
			continue
		}
		i := rapid.IntRange(0, len(live)-1).Draw(t, "job")
		age := drawAge(t)
		if rapid.Bool().Draw(t, "runs") {
			l.Runs(live[i], age)
			continue
		}
		l.Ended(live[i], age)
		if plain != nil {
			plain.Ended(live[i], age)
		}
		live = slices.Delete(live, i, i+1)
	}
	return live
}

// TestZeroWeightsCorrectNothing checks that a network with weights of 0 predicts what a History predicts.
func TestZeroWeightsCorrectNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, plain := NewLearned(network(3, 0), Mean), New(History, Mean)
		for _, j := range append(busyLearner(t, l, plain), drawJob(t)) {
			if most := apart(l.Of(j), plain.Of(j)); most > 1e-9 {
				t.Fatalf("probabilities of %+v are up to %v apart", j, most)
			}
		}
	})
}

// TestNetworkEqualsPlainLoops checks corrected distributions against the definition: inputs, normalised, through two layers of
// ReLU units and one without, added to the logarithms of the odds; probabilities averaged over the members.
func TestNetworkEqualsPlainLoops(t *testing.T) {
	n := network(5, 0.3)
	rapid.Check(t, func(t *rapid.T) {
		l, plain := NewLearned(n, Mean), New(History, Mean)
		for _, j := range busyLearner(t, l, plain) {
			var x [Hazards * Inputs]float32
			var base [Hazards]float32
			if !l.Inputs(j, &x, &base) {
				t.Fatal("a live job has no inputs")
			}
			var want [Bins]float64
			for m := range n.Members {
				reached := 1.0
				for k := range Hazards {
					h := 1 / (1 + math.Exp(-float64(base[k])-correction(n, m, x[k*Inputs:][:Inputs])))
					want[k] += reached * h / float64(len(n.Members))
					reached *= 1 - h
				}
				want[open] += reached / float64(len(n.Members))
			}
			for k := range want {
				if got := l.Of(j).Probability(k); math.Abs(got-want[k]) > 1e-5 {
					t.Fatalf("bin %d: probability %v, want %v", k, got, want[k])
				}
			}
		}
	})
}

// correction computes what a member adds to the logarithm of odds.
func correction(n *Network, m int, x []float32) float64 {
	h := make([]float64, Inputs)
	for k, v := range x {
		if v == v {
			h[k] = min(max((float64(v)-float64(n.Inputs.Mean[k]))/float64(n.Inputs.Scale[k]), -4), 4)
		}
	}
	for i, b := range n.Members[m].B {
		next := make([]float64, len(b))
		for o := range b {
			next[o] = float64(b[o])
			for k, v := range h {
				next[o] += v * float64(n.Members[m].W[i][k*len(b)+o])
			}
			if i < 2 {
				next[o] = max(next[o], 0)
			}
		}
		h = next
	}
	return h[0]
}

// TestInputsAreCausal checks that all inputs are written, that they do not depend on how long the job itself has run, and that
// they follow what the user's other jobs do.
func TestInputsAreCausal(t *testing.T) {
	if len(inputNames) != Inputs {
		t.Fatalf("%d names, want %d", len(inputNames), Inputs)
	}
	l := NewLearned(network(3, 0.3), Mean)
	j, other, old := job("ada", 4), job("ada", 4), job("ada", 2)
	for _, s := range []*cluster.JobSpec{old, other, j} {
		l.Arrived(s)
	}
	const unwritten = 12345
	see := func() (x [Hazards * Inputs]float32) {
		for i := range x {
			x[i] = unwritten
		}
		l.Inputs(j, &x, new([Hazards]float32))
		for i, v := range x {
			if v == unwritten {
				t.Fatalf("input %q of bin %d is not written", inputNames[i%Inputs], i/Inputs)
			}
		}
		return x
	}
	same := func(a, b [Hazards * Inputs]float32) bool {
		return slices.EqualFunc(a[:], b[:], func(x, y float32) bool { return x == y || x != x && y != y })
	}
	before := see()
	l.Runs(j, time.Hour)
	if !same(before, see()) {
		t.Error("inputs depend on the age of the job itself")
	}
	l.Runs(other, time.Hour)
	later := see()
	if same(before, later) {
		t.Error("inputs do not depend on the age of another job of the user")
	}
	l.Ended(old, time.Minute)
	if same(later, see()) {
		t.Error("inputs do not depend on an ended job of the user")
	}
	if l.Inputs(job("ada", 4), new([Hazards * Inputs]float32), new([Hazards]float32)) {
		t.Error("a job that never arrived has inputs")
	}
}

func TestLearnedDoesNotAllocate(t *testing.T) {
	l, j, other, stranger := NewLearned(network(8, 0.3), Mean), job("ada", 4), job("ada", 2), job("bob", 2)
	l.Arrived(j)
	l.Arrived(other)
	age := time.Minute
	use := func() {
		l.Ended(stranger, time.Hour)
		l.Runs(other, age)
		age += time.Minute
		l.Left(j, time.Hour)
		l.Left(other, age)
	}
	use()
	if n := testing.AllocsPerRun(100, use); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNetworksAreRead(t *testing.T) {
	dir, n := t.TempDir(), network(4, 1)
	if err := n.Write(dir); err != nil {
		t.Fatal(err)
	}
	read, err := OpenNetwork(dir)
	if err != nil || fmt.Sprint(read) != fmt.Sprint(n) {
		t.Errorf("read %v, error %v, want %v", read, err, n)
	}
	good, err := os.ReadFile(filepath.Join(dir, NetworkFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(n *Network){
		"uneven": func(n *Network) {
			m := &n.Members[1]
			m.W[1], m.B[1], m.W[2] = m.W[1][:12], m.B[1][:3], m.W[2][:3]
		},
		"NaN":   func(n *Network) { n.Members[0].B[0][0] = float32(math.NaN()) },
		"scale": func(n *Network) { n.Inputs.Scale[3] = 0 },
		"empty": func(n *Network) { n.Members = nil },
	} {
		n := network(4, 1)
		spoil(n)
		if err := n.Write(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenNetwork(dir); !errors.Is(err, checkpoints.ErrDamaged) {
			t.Errorf("%s: error %v, want %v", name, err, checkpoints.ErrDamaged)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, NetworkFile), good[:len(good)-1], 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenNetwork(dir); !errors.Is(err, checkpoints.ErrDamaged) {
		t.Errorf("a file that is cut off: error %v, want %v", err, checkpoints.ErrDamaged)
	}
	if _, err := OpenNetwork(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}
