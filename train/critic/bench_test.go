package critic_test

import (
	"testing"

	"github.com/clustergym/clustergym/train/critic"
)

// BenchmarkRun measures a gradient step on 64 states at the size of a run on 8 servers.
func BenchmarkRun(b *testing.B) {
	s := critic.Shape{Server: 44, Job: 49, Features: 33, Width: 32}
	p := shaken(s)
	m, grad := machine[float32](b, s, 64, 8, 32), make([]float32, p.Count())
	list, want := states(s, 8, 32, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Run(p, list, want, grad); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkValue measures the value of one of these states.
func BenchmarkValue(b *testing.B) {
	s := critic.Shape{Server: 44, Job: 49, Features: 33, Width: 32}
	net := critic.NewNet(s, shaken(s))
	list, _ := states(s, 8, 32, 1)
	b.ReportAllocs()
	for b.Loop() {
		net.Value(&list[0])
	}
}
