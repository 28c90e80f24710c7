package profile

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// constants lists the constants of a family that vary.
func (f *Family) constants() []float64 {
	list := []float64{f.other, f.compute, f.param, f.activation, f.scaling.LocalBase, f.scaling.LocalPerReplica, f.scaling.RemoteBase,
		f.scaling.RemotePerReplica}
	gpu := math.Pow(f.surface.gpu, f.surface.root)
	for _, log := range []float64{f.surface.cpu, f.surface.fetch, f.surface.hold} {
		list = append(list, math.Exp(f.surface.root*log)/gpu) // a variant is normalised
	}
	for g := range f.s {
		list = append(list, f.speed[g], f.s[g][0], f.s[g][1], f.p[g][0], f.p[g][1])
	}
	return list
}

// TestVariants checks that a variant keeps within its bounds and differs from its family and from variants of other seeds, that
// equal names give equal constants, and that sizes, and the speed with what was measured as the reference, stay.
func TestVariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(Names()).Draw(t, "family")
		within := rapid.SampledFrom([]float64{0.01, 0.5, 1}).Draw(t, "within")
		seed := rapid.Uint64().Draw(t, "seed")
		f, v := Lookup(name), Lookup(Vary(name, within, seed))
		if v == nil || v == f || v.name != Vary(name, within, seed) || !strings.HasPrefix(v.name, name+"~") {
			t.Fatalf("Lookup(%q) = %v", Vary(name, within, seed), v)
		}
		was, is := f.constants(), v.constants()
		differ := 0
		for i := range was {
			if ratio := is[i] / was[i]; was[i] != 0 && !(ratio > 1/(1+within)-1e-9 && ratio < 1+within+1e-9) {
				t.Fatalf("constant %d is %g times that of the family", i, ratio)
			}
			if was[i] != is[i] {
				differ++
			}
		}
		if differ < 12 {
			t.Fatalf("%d constants differ", differ)
		}
		if !slices.Equal(is, f.vary(v.name, within, seed).constants()) || slices.Equal(is, f.vary("", within, seed+1).constants()) {
			t.Fatal("constants do not follow from the name")
		}
		if v.GPUMemMiB(1) != f.GPUMemMiB(1) || v.Layers() != f.Layers() || v.Throughput(1, 1) != 1 {
			t.Fatal("sizes or references differ")
		}
		if speed, ok := v.GPUSpeed("V100"); speed != 1 || !ok {
			t.Fatalf("V100 speed %g", speed)
		}
		n := rapid.Int32Range(1, 100).Draw(t, "replicas")
		if one, more := v.Throughput(1, n), v.Throughput(1, n+1); !(one > 0 && more >= one*(1-1e-12)) {
			t.Fatalf("%d replicas make %g, one more %g", n, one, more)
		}
		if speed := v.CPUMem(2, 20); !(speed >= leastSpeed) {
			t.Fatalf("speed %g", speed)
		}
	})
	small, large := Lookup(Vary("resnet50-16", 1, 7)), Lookup(Vary("resnet50-128", 1, 7))
	got, want := small.compute/large.compute, Lookup("resnet50-16").compute/Lookup("resnet50-128").compute
	if math.Abs(got/want-1) > 1e-12 {
		t.Errorf("batch sizes of a model vary by other factors: %g, want %g", got, want)
	}
}

func TestNoVariants(t *testing.T) {
	for _, name := range []string{
		"lm-5~", "lm-5~0~1", "lm-5~-1~1", "lm-5~0.50~1", "lm-5~1.5~1", "lm-5~NaN~1", "lm-5~1~-1", "lm-6~1~1", "~1~1", "lm-5~1~1~1",
		"lm-5~1~01", "lm-5~1",
	} {
		if f := Lookup(name); f != nil {
			t.Errorf("%s is a variant", name)
		}
	}
	if Vary("lm-5", 0, 3) != "lm-5" || Vary("", 1, 3) != "" || Vary("unknown", 1, 3) != "unknown" {
		t.Error("Vary renames what has no variants")
	}
	var group sync.WaitGroup
	for k := range 4 {
		group.Go(func() {
			for seed := range uint64(2 * mostVariants) {
				if f := Lookup(Vary("lm-5", 0.25, seed)); f == nil || f.CPUMem(3, 60) != Lookup(Vary("lm-5", 0.25, seed)).CPUMem(3, 60) {
					t.Errorf("goroutine %d: variant %d is %v", k, seed, f)
				}
			}
		})
	}
	group.Wait()
	if c := load(); len(c.variants.byName) > mostVariants {
		t.Errorf("%d variants are kept", len(c.variants.byName))
	}
}
