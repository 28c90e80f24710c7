package adam

import (
	"math"
	"testing"
)

// TestStep checks two steps against Adam with decoupled weight decay, as published.
func TestStep(t *testing.T) {
	s, w := New(3), []float32{9, 1, -2}
	const rate, decay = 0.1, 0.5
	m, v, want := 0.0, 0.0, -2.0
	for n, g := range []float32{0.5, -3} {
		s.Next()
		s.Step(w[1:], []float32{0, g}, 1, 2, rate, decay)
		m, v = 0.9*m+0.1*2*float64(g), 0.999*v+0.001*4*float64(g)*float64(g)
		k := float64(n + 1)
		want -= rate*(m/(1-math.Pow(0.9, k)))/(math.Sqrt(v/(1-math.Pow(0.999, k)))+1e-5) + rate*decay*want
	}
	if math.Abs(float64(w[2])-want) > 1e-6 || w[0] != 9 || math.Abs(float64(w[1])-0.95*0.95) > 1e-6 || s.Steps != 2 {
		t.Errorf("weights %v after %d steps, want 9, 0.9025 and %v after 2", w, s.Steps, want)
	}
	var again State
	if err := again.Load(s.Tensors(), 2); err == nil {
		t.Error("moments of another number of weights were loaded")
	}
	again = New(3)
	if err := again.Load(s.Tensors(), 2); err != nil || again.M[2] != s.M[2] || again.V[2] != s.V[2] || again.Steps != 2 {
		t.Errorf("loaded %+v, error %v, want %+v", again, err, s)
	}
}
