package profile

import (
	"math"
	"testing"
)

// TestCachedResultsAreThoseComputed checks Throughput, CPUMem and Beside against what they cache, to the last bit, when they
// compute it and when they find it cached.
func TestCachedResultsAreThoseComputed(t *testing.T) {
	for _, name := range append(Names(), Vary("gpt2-1.5b", 0.5, 3)) {
		f := Lookup(name)
		for range 2 {
			for n := range int32(200) {
				if got, want := f.Throughput(n%9, n), f.throughput(float64(n%9), float64(n)); got != want {
					t.Fatalf("%s: throughput %v of %d replicas, want %v", name, got, n, want)
				}
				cores, mem := float64(n)/7, float64(n*n)
				if got, want := f.CPUMem(cores, mem), f.surface.at(cores, mem); got != want {
					t.Fatalf("%s: speed %v with %v cores, want %v", name, got, cores, want)
				}
				s, p := f.s[V100], [2]float64{cores / 10, cores / 20}
				if got, want := Beside(0.3, s, p), math.Exp(-0.3*(s[0]*p[0]+s[1]*p[1])); got != want {
					t.Fatalf("%s: %v beside %v, want %v", name, got, p, want)
				}
			}
		}
	}
}

// TestLookupOfNamesLikeThoseOfFamilies checks that names that search in the same place as that of a family are told apart.
func TestLookupOfNamesLikeThoseOfFamilies(t *testing.T) {
	found, none := 0, 0
	for _, name := range Names() {
		for i := range len(name) {
			for _, other := range []string{name[:i], name[i:], name[:i] + "x" + name[i:], name[i:] + name[:i]} {
				f := Lookup(other)
				switch {
				case f == nil:
					none++
				case f.name != other:
					t.Fatalf("%q gives the family %q", other, f.name)
				default:
					found++
				}
			}
		}
	}
	if found == 0 || none == 0 {
		t.Errorf("%d names of families and %d others, want both", found, none)
	}
}
