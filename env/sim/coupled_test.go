package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// TestTimelinesOfCoupledJobs checks when jobs end that slow each other, against times computed by hand. The second job comes
// when the first has done half of its work of 1,000 s. Until the first ends, both run at the speed beside, and then the second
// has done half of its work, too.
func TestTimelinesOfCoupledJobs(t *testing.T) {
	short := profile.Lookup("resnet50-64")
	for _, c := range []struct {
		name           string
		physics, model string
		workers, gpus  int32 // workers of each job, each on a server of its own; GPUs of a server
		alone, beside  float64
	}{
		// A rack of 2 V100 draws 90 W idle, and 255 W more with each job: 345 W with one, 600 W with two.
		{"below a cap of two", "power(600)", "bert-large", 1, 2, 1, 1},
		{"above a cap of one", "power(430)", "bert-large", 1, 2, 1, math.Cbrt(340. / 510)},
		// A gang of two racks exchanges its parameters at 1 GB/s, which is the uplink's bandwidth; on one server at 50 GB/s.
		{"on an uplink at once", "network(50,4,1)", "resnet50-64", 2, 4, alone(short, 1), alone(short, 0.5)},
		{"on an uplink in turns", "interleaved(50,4,1)", "resnet50-64", 2, 4, alone(short, 1), alone(short, 1)},
	} {
		model := must.Get(physics.Parse(c.physics))(t)
		spec := cluster.Uniform(int(c.workers), int(c.gpus))
		for i := range spec.Servers {
			spec.Servers[i].GPUType, spec.Servers[i].Rack = "V100", int32(i)+1
		}
		var all []trace.Job
		for i, name := range []string{"first", "second"} {
			all = append(all, trace.Job{Work: 1000 * time.Second, JobSpec: cluster.JobSpec{
				Name: name, Model: c.model, Workers: c.workers, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
				Submit: time.Duration(i) * time.Duration(500/c.alone*1e9),
			}})
		}
		log := simtest.Play(t, &sim.Episode{Config: sim.Config{Cluster: spec, Physics: model}, Jobs: all}, &apart{}, 1)
		ends := map[cluster.JobID]float64{}
		for _, r := range log.Records {
			if r.Kind == sim.Finish {
				ends[r.Job] = r.At.Seconds()
			}
		}
		first := 500/c.alone + 500/c.beside
		for id, want := range []float64{first, first + 500/c.alone} {
			if got := ends[cluster.JobID(id)]; math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: job %d ends at %v s, want %v", c.name, id, got, want)
			}
		}
	}
}

// alone returns the speed of a gang of two replicas in two racks that gets a fraction of 1 GB/s, relative to one server.
func alone(f *profile.Family, fraction float64) float64 {
	return (f.ComputeSeconds() + f.ParamBytes()/50e9) / (f.ComputeSeconds() + f.ParamBytes()/(1e9*fraction))
}

// apart is a scheduler that starts every job with one worker on each server.
type apart struct{}

func (*apart) Name() string       { return "apart" }
func (*apart) Reset(uint64) error { return nil }

func (*apart) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	for len(s.Pending()) > 0 {
		id := s.Pending()[0]
		var p cluster.Placement
		for i := range s.Spec(id).Workers {
			p = append(p, cluster.Piece{Server: cluster.ServerID(i), Workers: 1, Amount: s.Spec(id).Request})
		}
		if err := tx.Place(id, p); err != nil {
			return err
		}
	}
	return nil
}
