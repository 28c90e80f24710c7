package belief

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/cluster"
)

// speedNetwork returns a network of two members with the given number of hidden units and weights of the given size.
func speedNetwork(hidden int, size float64) *SpeedNetwork {
	rng := rand.New(rand.NewPCG(7, 8))
	n := &SpeedNetwork{Members: []SpeedMember{NewSpeedMember(hidden), NewSpeedMember(hidden)}}
	for _, s := range n.scalings() {
		s.s.Mean, s.s.Scale = make([]float32, s.inputs), make([]float32, s.inputs)
		for k := range s.inputs {
			s.s.Mean[k], s.s.Scale[k] = float32(rng.NormFloat64()), 1+float32(rng.Float64())
		}
	}
	for i := range n.Members {
		for _, part := range n.Members[i].Parts() {
			for k := range part {
				part[k] = float32(size * rng.NormFloat64())
			}
		}
	}
	return n
}

// ask asks about a job of the toy, or one that is drawn.
func ask(t *rapid.T, c *toy) (*cluster.JobSpec, cluster.Configuration) {
	spec := drawSpec(t)
	if c.n > 0 {
		spec = *c.Spec(cluster.JobID(rapid.IntRange(0, int(c.n)-1).Draw(t, "asked job")))
	}
	return &spec, drawConfiguration(t)
}

// TestZeroWeightsCorrectNoSpeed checks that a network with weights of 0 answers what the regression does, and that its belief saves
// the same.
func TestZeroWeightsCorrectNoSpeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, l, plain := newToy(t, 7), NewLearnedSpeeds(speedNetwork(3, 0)), NewSpeeds(true)
		drawReadings(t, c, l, plain)
		spec, at := ask(t, c)
		m, s := l.Of(&c.View, spec, &at)
		if mean, sd := plain.Of(&c.View, spec, &at); m != mean || s != sd {
			t.Fatalf("mean %v and deviation %v, want %v and %v", m, s, mean, sd)
		}
		m, s, ok := l.Next(&c.View, spec, &at)
		if mean, sd, known := plain.Next(&c.View, spec, &at); m != mean || s != sd || ok != known {
			t.Fatalf("next mean %v and deviation %v (%t), want %v and %v (%t)", m, s, ok, mean, sd, known)
		}
		if !bytes.Equal(l.Save(), plain.Save()) {
			t.Fatal("it saves another text")
		}
	})
}

// TestSpeedNetworkEqualsPlainLoops checks corrected beliefs against the definition: inputs, scaled, through the layers, features of
// points added; coefficients move by so many standard deviations and are made sensible; the standard deviation of a difference
// grows by the factors of the coefficients, as far as it comes from them; answers averaged over the members. A restored belief
// gives the same bits.
func TestSpeedNetworkEqualsPlainLoops(t *testing.T) {
	n := speedNetwork(5, 0.1)
	rapid.Check(t, func(t *rapid.T) {
		c, l, again, plain := newToy(t, 7), NewLearnedSpeeds(n), NewLearnedSpeeds(n), NewLearnedSpeeds(new(SpeedNetwork))
		drawReadings(t, c, l, plain)
		if err := again.Restore(l.Save()); err != nil {
			t.Fatal(err)
		}
		spec, at := ask(t, c)
		at.MemMiB = max(at.MemMiB, spec.Request.MemMiB)
		got, sd := l.Of(&c.View, spec, &at)
		if m, s := again.Of(&c.View, spec, &at); m != got || s != sd {
			t.Fatalf("restored mean %v and deviation %v, want %v and %v", m, s, got, sd)
		}
		plain.Save() // beliefs are then computed again from all that was read, as in l
		plain.width = l.width
		var in SpeedInputs
		if !plain.Inputs(&c.View, spec, &at, &in) {
			return
		}
		z := plainAnswer(n, &in)
		b := *plain.of(plain.job(spec), spec)
		widen := 0.0
		for k := range cpuParts {
			b.mean[cpuAt+k] += z[k] * math.Sqrt(b.covariance[cpuAt+k][cpuAt+k])
		}
		for i, share := range in.Share {
			widen += float64(share) * z[SpeedShifts+i]
		}
		sensible(&b.mean, &b.covariance)
		for i, v := range l.of(l.job(spec), spec).mean {
			if math.Abs(v-b.mean[i]) > 1e-3*(1+math.Abs(v)) && math.Abs(v-b.mean[i]) > nothing*1.01 {
				t.Fatalf("coefficient %d: %v, want %v", i, v, b.mean[i])
			}
		}
		if want := in.SD * math.Exp(widen); math.Abs(sd-want) > 1e-3*(1+want) {
			t.Fatalf("deviation %v, want %v", sd, want)
		}
	})
}

// plainAnswer computes in plain loops what a network answers to inputs.
func plainAnswer(n *SpeedNetwork, in *SpeedInputs) (z [SpeedAnswer]float64) {
	scaled := func(s *Scaling, x []float32) []float64 {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = min(max((float64(v)-float64(s.Mean[i]))/float64(s.Scale[i]), -4), 4)
		}
		return y
	}
	for i := range n.Members {
		layer := func(at int, x []float64, relu bool) []float64 {
			w, b := n.Members[i].W[at], n.Members[i].B[at]
			y := make([]float64, len(b))
			for o := range y {
				y[o] = float64(b[o])
				for k, v := range x {
					y[o] += v * float64(w[k*len(b)+o])
				}
				if relu {
					y[o] = max(y[o], 0)
				}
			}
			return y
		}
		sum := make([]float64, n.Members[i].Hidden())
		for p := range in.Count {
			for k, v := range layer(1, layer(0, scaled(&n.Point, in.Points[p*SpeedPoint:][:SpeedPoint]), true), true) {
				sum[k] += v
			}
		}
		x := slices.Concat(scaled(&n.Context, in.Context[:]), sum)
		for k, v := range layer(4, layer(3, layer(2, x, true), true), false) {
			most := float64(mostShift)
			if k >= SpeedShifts {
				most = mostWiden
			}
			z[k] += min(max(v, -most), most) / float64(len(n.Members))
		}
	}
	return z
}

// TestSpeedInputsAreNamed checks that all inputs have a name and are written, and that the order in which types of GPUs were read
// does not change them.
func TestSpeedInputsAreNamed(t *testing.T) {
	if len(contextInputs) != SpeedContext || len(pointInputs) != SpeedPoint || len(effectNames) != typesAt {
		t.Fatalf("%d, %d and %d names, want %d, %d and %d", len(contextInputs), len(pointInputs), len(effectNames), SpeedContext,
			SpeedPoint, typesAt)
	}
	const unwritten = 12345
	see := func(types ...string) (in SpeedInputs) {
		c, l := newToy(t, 3), NewLearnedSpeeds(new(SpeedNetwork))
		id := c.submit(cluster.JobSpec{User: "ada", Request: amount(3)})
		for i, name := range []string{"V100", "P100"} {
			at := as(c.Spec(id), float64(3+i))
			at.GPUType = name
			c.read(id, at, 2)
		}
		for _, name := range types {
			l.knows(name)
		}
		l.Read(&c.View, id)
		for _, part := range [][]float32{in.Context[:], in.Points[:], in.Shift[:], in.Share[:]} {
			for i := range part {
				part[i] = unwritten
			}
		}
		at := as(c.Spec(id), 6)
		at.GPUType = "T4"
		if !l.Inputs(&c.View, c.Spec(id), &at, &in) || in.Count != 1 {
			t.Fatalf("inputs with %d points, want 1", in.Count)
		}
		for i, v := range slices.Concat(in.Context[:], in.Points[:SpeedPoint], in.Shift[:], in.Share[:]) {
			if v == unwritten {
				t.Fatalf("input %d is not written", i)
			}
		}
		return in
	}
	a, b := see("P100", "T4"), see("T4", "P100")
	x, y := slices.Concat(a.Context[:], a.Points[:], a.Shift[:], a.Share[:]), slices.Concat(b.Context[:], b.Points[:], b.Shift[:], b.Share[:])
	for i, v := range x {
		if math.Abs(float64(v-y[i])) > 1e-5 {
			t.Errorf("input %d: %v, with types in another order %v", i, v, y[i])
		}
	}
}

func TestLearnedSpeedsDoNotAllocate(t *testing.T) {
	c, l := newToy(t, 2), NewLearnedSpeeds(speedNetwork(8, 0.3))
	id := c.submit(cluster.JobSpec{User: "ada", Request: amount(3)})
	for cores := range 3 {
		c.read(id, as(c.Spec(id), float64(cores+1)), 1)
	}
	l.Read(&c.View, id)
	spec, at := c.Spec(id), as(c.Spec(id), 6)
	l.Of(&c.View, spec, &at)
	if n := testing.AllocsPerRun(100, func() { l.Of(&c.View, spec, &at) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSpeedNetworksAreRead(t *testing.T) {
	dir, n := t.TempDir(), speedNetwork(4, 1)
	if err := n.Write(dir); err != nil {
		t.Fatal(err)
	}
	read, err := OpenSpeedNetwork(dir)
	if err != nil || fmt.Sprint(read) != fmt.Sprint(n) {
		t.Errorf("read %v, error %v, want %v", read, err, n)
	}
	for name, spoil := range map[string]func(n *SpeedNetwork){
		"uneven": func(n *SpeedNetwork) { n.Members[1].W[1] = n.Members[1].W[1][:12] },
		"NaN":    func(n *SpeedNetwork) { n.Members[0].B[0][0] = float32(math.NaN()) },
		"scale":  func(n *SpeedNetwork) { n.Context.Scale[3] = 0 },
		"empty":  func(n *SpeedNetwork) { n.Members = nil },
	} {
		n := speedNetwork(4, 1)
		spoil(n)
		file, err := spoiled(n)
		if err != nil {
			continue // it cannot even be written
		}
		if _, err := parseSpeedNetwork(file); !errors.Is(err, checkpoints.ErrDamaged) {
			t.Errorf("%s: error %v, want %v", name, err, checkpoints.ErrDamaged)
		}
	}
	times := t.TempDir()
	if err := network(4, 1).Write(times); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(times, NetworkFile), filepath.Join(times, SpeedNetworkFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSpeedNetwork(times); !errors.Is(err, checkpoints.ErrForeign) {
		t.Errorf("a network of run times: error %v, want %v", err, checkpoints.ErrForeign)
	}
	if _, err := OpenSpeedNetwork(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}

// spoiled returns the file of a network.
func spoiled(n *SpeedNetwork) ([]byte, error) {
	var b bytes.Buffer
	err := checkpoints.WriteTensors(&b, n.Tensors(), map[string]string{"kind": speedNetworkKind, "inputs": speedInputs()})
	return b.Bytes(), err
}

// FuzzSpeedNetwork checks that no file causes a panic, and that what is accepted answers with finite numbers and is written as it
// was read.
func FuzzSpeedNetwork(f *testing.F) {
	for _, hidden := range []int{1, 4} {
		file, err := spoiled(speedNetwork(hidden, 1))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		n, err := parseSpeedNetwork(file)
		if err != nil {
			return
		}
		text, err := spoiled(n)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseSpeedNetwork(text); err != nil || fmt.Sprint(again) != fmt.Sprint(n) {
			t.Fatalf("read again: %v, error %v, want %v", again, err, n)
		}
		c, l := newToy(t, 2), NewLearnedSpeeds(n)
		id := c.submit(cluster.JobSpec{Request: amount(3)})
		at := as(c.Spec(id), 6)
		l.Of(&c.View, c.Spec(id), &at)
	})
}
