package profile

import "testing"

func TestWatts(t *testing.T) {
	for _, c := range []struct {
		gpuType, family string
		idle, busy      int64
	}{
		{"V100", "bert-large", 45, 255}, {"", "bert-large", 45, 255}, {"H9000", "bert-large", 45, 255},
		{"V100", "resnet18-16", 45, 204}, {"V100", "a3c", 45, 102}, {"V100", "recommendation-512", 45, 128},
		{"T4", "llama-7b", 11, 60}, {"A100", "llama-7b~0.5~3", 60, 340},
	} {
		if idle, busy := IdleWatts(c.gpuType), Lookup(c.family).BusyWatts(c.gpuType); idle != c.idle || busy != c.busy {
			t.Errorf("%s on %q draws %d and %d W, want %d and %d", c.family, c.gpuType, idle, busy, c.idle, c.busy)
		}
	}
}
