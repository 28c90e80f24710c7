package physics_test

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/must"
)

func TestSpeed(t *testing.T) {
	one := cluster.Amount{GPUMilli: cluster.WholeGPU}
	half := cluster.Amount{GPUMilli: cluster.WholeGPU / 2}
	for _, c := range []struct {
		name         string
		workers      int32
		on           cluster.Placement
		ideal, inter float64
	}{
		{"one server is full speed", 4, spread(one, 4), 1, 1},
		{"two servers where one would do", 4, spread(one, 2, 2), 1, 1 / 1.25},
		{"four servers where one would do", 4, spread(one, 1, 1, 1, 1), 1, 1 / 1.375},
		{"two servers where two are needed", 8, spread(one, 4, 4), 1, 1},
		{"three servers where two are needed", 6, spread(one, 2, 2, 2), 1, 6. / 7},
		{"half of every GPU", 4, spread(half, 4), 0.5, 0.5},
		{"half the gang", 4, spread(one, 2), 0.5, 0.5},
		{"twice the gang on two servers", 4, spread(one, 4, 4), 2, 2},
		{"half of every GPU on two servers", 4, spread(half, 2, 2), 0.5, 0.5 / 1.25},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := must.Get(cluster.NewState(cluster.Uniform(4, 4), 1))(t)
			s.Submit(0, &cluster.JobSpec{Name: "a", Workers: c.workers, MinWorkers: 1, MaxWorkers: 16, Request: one})
			must.Do(t, s.Begin(nil).Place(0, c.on))
			if got := physics.Ideal().Speed(&s.View, 0); got != c.ideal {
				t.Errorf("ideal: %v, want %v", got, c.ideal)
			}
			if got := physics.Compose(physics.InterServer{Penalty: 0.5}).Speed(&s.View, 0); got-c.inter > 1e-15 || c.inter-got > 1e-15 {
				t.Errorf("inter-server(0.5): %v, want %v", got, c.inter)
			}
		})
	}
}

// spread returns a placement with a piece on each of the first servers.
func spread(a cluster.Amount, workers ...int32) (p cluster.Placement) {
	for i, n := range workers {
		p = append(p, cluster.Piece{Server: cluster.ServerID(i), Workers: n, Amount: a})
	}
	return p
}

func TestParse(t *testing.T) {
	for _, m := range []physics.Model{
		physics.Ideal(), physics.Compose(physics.InterServer{}), physics.Compose(physics.InterServer{Penalty: 1. / 3}),
		physics.Compose(
			physics.GPUType{}, physics.CPUMem{}, physics.Sharing{Strength: 0.3}, physics.Scaling{}, physics.Diminishing{Gain: 0.8},
			physics.NewNetwork(12.5, 1.25, 0.1), physics.Power{Watts: 7200},
			physics.NewInterleaved(12.5, 1.25, 2.5), physics.Jitter{Sigma: 0.15},
		),
	} {
		if got, err := physics.Parse(m.Name()); err != nil || got.Name() != m.Name() {
			t.Errorf("parse %q: %v, %v", m.Name(), got, err)
		}
	}
	for _, name := range []string{
		"", "Ideal", "ideal ", "inter-server", "inter-server()", "inter-server(-1)", "inter-server(NaN)", "inter-server(+Inf)",
		"inter-server(1e7)", "inter-server(1", "inter-server(1))", "1)", "ideal * sharing(1)", "gpu-type()", "sharing(1,2)",
		"network(1,1)", "network(0,1,1)", "cpu-mem * ", "diminishing(0)", "power(0)", "interleaved(1,1)",
	} {
		if m, err := physics.Parse(name); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("parse %q: %v, %v, want an error that says what is wanted", name, m, err)
		}
	}
}

// FuzzParse checks for any text that Parse returns an error, or a model whose Name parses to a model with the same name.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"ideal", "inter-server(0.5)", "inter-server(0x1p-3)",
		"inter-server(-0)", "inter-server(1e5)", ")", "network(12.5, 1.25,40) * gpu-type*cpu-mem * sharing(0.3) * scaling * jitter(1)"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		m, err := physics.Parse(name)
		if err != nil {
			return
		}
		if again, err := physics.Parse(m.Name()); err != nil || again.Name() != m.Name() {
			t.Fatalf("%q is %v; its name %q is %v, %v", name, m, m.Name(), again, err)
		}
	})
}
