package profile

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var gpuTypes = []string{"", "V100", "P100", "K80", "T4", "A100", "H9000"}

func family(t *rapid.T) *Family {
	name := rapid.SampledFrom(Names()).Draw(t, "family")
	return Lookup(Vary(name, rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "within"), rapid.Uint64Range(0, 3).Draw(t, "seed")))
}

func TestCatalogue(t *testing.T) {
	names := Names()
	want := []string{
		"resnet18-16", "resnet18-32", "resnet18-64", "resnet18-128", "resnet18-256",
		"resnet50-16", "resnet50-32", "resnet50-64", "resnet50-128",
		"transformer-16", "transformer-32", "transformer-64", "transformer-128", "transformer-256",
		"lm-5", "lm-10", "lm-20", "lm-40", "lm-80",
		"recommendation-512", "recommendation-1024", "recommendation-2048", "recommendation-4096", "recommendation-8192",
		"a3c", "cyclegan", "bert-large", "gpt2-1.5b", "llama-7b", "llama-13b", "llama-70b",
	}
	if !slices.Equal(names, want) {
		t.Errorf("families %q, want %q", names, want)
	}
	if !slices.Equal(GavelJobs(), want[:26]) {
		t.Errorf("Gavel's job types %q, want the first 26 families", GavelJobs())
	}
	for _, name := range names {
		if f := Lookup(name); f == nil || f.name != name || f != Lookup(name) {
			t.Errorf("Lookup(%q) gives %v", name, f)
		}
	}
	if f := Lookup("resnet51"); f != nil {
		t.Errorf("an unknown name gives %v", f)
	}
}

func TestGPUSpeeds(t *testing.T) {
	for _, c := range []struct {
		family, gpu string
		want        float64
		ok          bool
	}{
		{"resnet50-64", "V100", 1, true},
		{"resnet50-64", "", 1, true},
		{"resnet50-64", "P100", 2.6194694 / 4.3947748, true}, // ratio of the rates alone, as Gavel publishes them
		{"resnet50-64", "K80", 0.6190282 / 4.3947748, true},
		{"recommendation-2048", "P100", 16.59664 / 7.4696321, true},
		{"lm-5", "T4", 1.0 / 3, true},
		{"llama-7b", "A100", 2, true},
		{"llama-7b", "P100", 1.6776965 / 1.5951407, true}, // transformer-256
		{"lm-5", "v100", 1, false},
		{"lm-5", "H9000", 1, false},
	} {
		got, ok := Lookup(c.family).GPUSpeed(c.gpu)
		if math.Abs(got-c.want) > 1e-6 || ok != c.ok {
			t.Errorf("%s on %q: %g, %v; want %g, %v", c.family, c.gpu, got, ok, c.want, c.ok)
		}
	}
}

// TestCurvesAreAboutWhatWasMeasured checks some fitted values against the measured ones: the curves are not only bounded but also
// approximately right.
func TestCurvesAreAboutWhatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
		off       float64
	}{
		{"resnet50 on 1 core (Synergy .4)", Lookup("resnet50-64").CPUMem(1, 62.5), 0.4, 0.02},
		{"resnet18 on 24 cores (Synergy 2.4)", Lookup("resnet18-64").CPUMem(24, 250), 2.4, 0.02},
		{"resnet50 on 20.83 GB (Synergy .1)", Lookup("resnet50-64").CPUMem(3, 20.83), 0.1, 0.01},
		{"a language model on 1 core and 20.83 GB", Lookup("lm-5").CPUMem(1, 20.83), 1, 0.001},
		{"the V100's iteration of resnet50-64", Lookup("resnet50-64").ComputeSeconds(), 1 / 4.3947748, 1e-6},
		{"resnet50's gradients", Lookup("resnet50-64").ParamBytes(), 4 * 25.6e6, 1},
		{"llama-7b's gradients", Lookup("llama-7b").ParamBytes(), 2 * 6.7e9, 1},
	} {
		if math.Abs(c.got-c.want) > c.off {
			t.Errorf("%s: %g, want %g within %g", c.name, c.got, c.want, c.off)
		}
	}
}

// TestInterferenceIsBounded checks that a partner never speeds up or stops a worker, and that more pressure or more strength
// slows it further.
func TestInterferenceIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gpu := rapid.SampledFrom(gpuTypes).Draw(t, "GPU")
		s, _ := family(t).Vectors(gpu)
		_, p := family(t).Vectors(gpu)
		strength := rapid.Float64Range(0, 1.3).Draw(t, "strength")
		one := Beside(strength, s, p)
		if !(one > 0 && one <= 1) {
			t.Fatalf("speed %g beside one partner, want it in (0, 1]", one)
		}
		_, q := family(t).Vectors(gpu)
		if two := Beside(strength, s, [2]float64{p[0] + q[0], p[1] + q[1]}); !(two > 0 && two <= one) {
			t.Fatalf("speed %g beside one partner and %g beside two", one, two)
		}
		if strong := Beside(strength+0.1, s, p); strong > one {
			t.Fatalf("speed %g at strength %g and %g at more", one, strength, strong)
		}
		if s[0] < 0 || s[1] < 0 || p[0] < 0 || p[1] < 0 {
			t.Fatalf("s %v, p %v", s, p)
		}
	})
}

// TestCPUMemIsBounded checks that the speed over cores and memory is positive, rises in both, is 1 at the fair share, and
// saturates.
func TestCPUMemIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := family(t)
		cores, more := rapid.Float64Range(0, 100).Draw(t, "cores"), rapid.Float64Range(0, 20).Draw(t, "more cores")
		mem, room := rapid.Float64Range(0, 2000).Draw(t, "GiB"), rapid.Float64Range(0, 500).Draw(t, "more GiB")
		speed := f.CPUMem(cores, mem)
		if !(speed > 0 && speed < 7) || !strings.Contains(f.name, "~") && speed >= 3.5 {
			t.Fatalf("%s with %g cores and %g GiB: speed %g, want it in (0, 3.5), of a variant in (0, 7)", f.name, cores, mem, speed)
		}
		const rounding = 1 - 1e-12
		if high := f.CPUMem(cores+more, mem); high < speed*rounding {
			t.Fatalf("%s: speed %g with %g cores, %g with %g", f.name, speed, cores, high, cores+more)
		}
		if high := f.CPUMem(cores, mem+room); high < speed*rounding {
			t.Fatalf("%s: speed %g with %g GiB, %g with %g", f.name, speed, mem, high, mem+room)
		}
		if fair := f.CPUMem(FairCores, FairMemGiB); math.Abs(fair-1) > 1e-6 {
			t.Fatalf("%s: speed %g at the fair share", f.name, fair)
		}
		if plenty := f.CPUMem(1e4, 1e6); f.CPUMem(1e5, 1e7) > plenty*1.01 {
			t.Fatalf("%s: speed %g with plenty, %g with ten times that", f.name, plenty, f.CPUMem(1e5, 1e7))
		}
	})
}

// TestThroughputIsBounded checks that the throughput is positive, 1 for one replica, at most proportional to the replicas, and
// never decreases in the replicas on a fixed number of servers.
func TestThroughputIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := family(t)
		nodes := rapid.Int32Range(-1, 200).Draw(t, "servers")
		replicas := max(nodes, 1) + rapid.Int32Range(0, 400).Draw(t, "replicas beyond one each")
		got, more := f.Throughput(nodes, replicas), f.Throughput(nodes, replicas+1)
		if !(got > 0 && got <= float64(replicas)*(1+1e-12)) {
			t.Fatalf("%s: throughput %g of %d replicas on %d servers", f.name, got, replicas, nodes)
		}
		if replicas > 1 && more < got*(1-1e-9) {
			t.Fatalf("%s on %d servers: throughput %g of %d replicas, %g of one more", f.name, nodes, got, replicas, more)
		}
		if together := f.Throughput(1, replicas); got > together*(1+1e-12) {
			t.Fatalf("%s: throughput %g of %d replicas on one server, %g on %d", f.name, together, replicas, got, nodes)
		}
		if one := f.Throughput(rapid.Int32Range(-1, 3).Draw(t, "servers of one"), 1); one != 1 {
			t.Fatalf("%s: throughput %g of one replica", f.name, one)
		}
	})
}

// TestSizes checks that every family has positive sizes, and that more shards never need more memory each.
func TestSizes(t *testing.T) {
	for _, name := range Names() {
		f := Lookup(name)
		if !(f.ComputeSeconds() > 0 && f.ParamBytes() > 0 && f.ActivationBytes() > 0 && f.Layers() > 0) {
			t.Errorf("%s: compute %g s, parameters %g bytes, activations %g bytes, %d layers", name,
				f.ComputeSeconds(), f.ParamBytes(), f.ActivationBytes(), f.Layers())
		}
		if f.GPUMemMiB(0) != f.GPUMemMiB(1) {
			t.Errorf("%s: %d MiB in 0 shards, %d in 1", name, f.GPUMemMiB(0), f.GPUMemMiB(1))
		}
		for shards := int32(1); shards < 64; shards *= 2 {
			if a, b := f.GPUMemMiB(shards), f.GPUMemMiB(2*shards); a <= 0 || b > a {
				t.Errorf("%s: %d MiB in %d shards, %d in %d", name, a, shards, b, 2*shards)
			}
		}
	}
	if got := Lookup("llama-7b").GPUMemMiB(8); got != 1024+12780 { // 6.7e9·16/8 bytes are 12,779.2 MiB
		t.Errorf("llama-7b in 8 shards needs %d MiB, want 13804", got)
	}
}

func TestNothingAllocates(t *testing.T) {
	sum := 0.0
	allocs := testing.AllocsPerRun(100, func() {
		f := Lookup("resnet50-64")
		s, p := f.Vectors("P100")
		speed, _ := f.GPUSpeed("T4")
		sum += Beside(Strong, s, p) + speed + f.CPUMem(4, 100) + f.Throughput(2, 8)
	})
	if allocs != 0 || sum == 0 {
		t.Errorf("%g allocations, sum %g", allocs, sum)
	}
}
