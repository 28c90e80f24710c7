package placement

import (
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// opinion believes that the speed of some jobs follows their CPU up to so many cores.
type opinion struct {
	cores   map[string]float64 // by job
	version int
}

func (o *opinion) Speed(s *cluster.View, id cluster.JobID) float64 {
	most, ok := o.cores[s.Spec(id).Name]
	if !ok {
		return 1
	}
	return max(min(float64(s.Placement(id)[0].CPUMilli)/1000, most)/most, 0.01)
}

func (o *opinion) Coupled(_ *cluster.View, _ cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return dst
}

func (o *opinion) Kind(spec *cluster.JobSpec) string { return spec.Name }
func (o *opinion) Version(*cluster.JobSpec) int      { return o.version }

// TestBeliefsAreAskedAgain checks that what was computed from a belief is used for jobs of the same kind only, and until the belief
// changes, and that a belief is not taken to be exact.
func TestBeliefsAreAskedAgain(t *testing.T) {
	s, err := cluster.NewState(cluster.Spec{Servers: []cluster.ServerSpec{{Name: "a", GPUs: 1, CPUMilli: 16000, MemMiB: 1 << 20}}}, 2)
	must.Do(t, err)
	belief := &opinion{cores: map[string]float64{"x": 8, "y": 2}}
	s.SetProfile(belief)
	for id, name := range []string{"x", "y"} {
		s.Submit(cluster.JobID(id), &cluster.JobSpec{
			Name: name, Model: "same", Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 16000, MemMiB: 1024},
		})
	}
	tune := NewTune(DefaultTune())
	lean := func(id cluster.JobID, cores float64) {
		t.Helper()
		got, _, _, err := tune.Levels(&s.View, id)
		if milli := float64(got.CPUMilli); err != nil || milli > 1000*cores || milli < 1000*cores*(1-unsure)-300 {
			t.Errorf("job %d needs %v, error %v, want a little less than %v cores", id, got, err, cores)
		}
	}
	lean(0, 8)
	lean(1, 2)
	belief.cores["x"] = 4
	lean(0, 8)
	belief.version++
	lean(0, 4)
	lean(1, 2)
	if kind := Flexible(&s.View, 0); kind == Flexible(&s.View, 1) || tuned(&s.View, 0) == tuned(&s.View, 1) {
		t.Errorf("jobs of different kinds have the kind %v", kind)
	}
}
