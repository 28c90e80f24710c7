package scenario

import "testing"

// TestGangsComeLater checks that gangs of most of the cluster come in several test windows of gangs-venus-v1, and in no training
// window.
func TestGangsComeLater(t *testing.T) {
	src := builtinSource(t, "gangs-venus-v1")
	count := func(split Split, gpus int32) (windows int) {
		for i, w := range src.windows[split] {
			for _, j := range src.pool.cut(w.warm, w.to, 0) {
				if j.Workers >= gpus {
					t.Logf("%s %d: %d of %d GPUs", split, i, j.Workers, src.scenario.Cluster.GPUs())
					windows++
					break
				}
			}
		}
		return windows
	}
	if n := count(Train, 49); n > 0 {
		t.Errorf("%d training windows have gangs of more than 6 servers", n)
	}
	if n := count(Test, 128); n < 5 {
		t.Errorf("%d test windows have gangs of 16 servers or more, want 5", n)
	}
}
