package intake

import (
	"strings"
	"testing"
)

func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		text        string
		scale, want int64
		exact       bool
	}{
		{"500m", 1000, 500, true}, {"0.1", 1000, 100, true}, {"2", 1000, 2000, true}, {"64Gi", 1, 64 << 30, true}, {"1.5Ki", 1, 1536, true},
		{"129M", 1, 129e6, true}, {"1e3", 1, 1000, true}, {"12E2", 1, 1200, true}, {"1E", 1, 1 << 50, true}, {"100n", 1000, 1, false},
		{"0", 1, 0, true}, {"1e99", 1, 1 << 50, true},
	} {
		if got, exact, ok := parseQuantity(c.text, c.scale, 1<<50); !ok || got != c.want || exact != c.exact {
			t.Errorf("%s: %d, exact %t, ok %t; want %d, exact %t", c.text, got, exact, ok, c.want, c.exact)
		}
	}
	for _, text := range []string{"", "-1", "x", "1.2.3", "1Zi", "1e999999999", "0x10", "1/2", "Gi", strings.Repeat("1", 41)} {
		if got, _, ok := parseQuantity(text, 1, 1<<50); ok {
			t.Errorf("%s: %d, want none", text, got)
		}
	}
}

func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"500m", "64Gi", "1e3", "0.5", "1E", "1e-99"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, _, ok := parseQuantity(text, 1000, mostCPUMilli); n < 0 || n > mostCPUMilli || !ok && n != 0 {
			t.Fatalf("%d, %t", n, ok)
		}
	})
}
