package comm_test

import (
	"math"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/physics/comm"
)

const (
	mb = 1e6
	gb = 1e9
)

// The example has 20 MB between each replica pair, a NIC share of 312.5 MB/s per GPU used, and 12.5 GB/s inside servers.
var (
	links = comm.Links{Intra: 12.5 * gb, NIC: 1.25 * gb}
	two   = comm.Job{Stages: []comm.Stage{
		{Replicas: 2, Compute: 0.10, Params: 100 * mb, Activations: 40 * mb},
		{Replicas: 2, Compute: 0.08, Params: 10 * mb},
	}}
	wide = comm.Job{ // a replica has two GPUs
		Stages: []comm.Stage{{Replicas: 2, Compute: 0.10, Params: 100 * mb, TensorBytes: 50 * mb}},
		Tensor: 2,
	}
)

func TestAlpha(t *testing.T) {
	quiet := comm.Job{Stages: []comm.Stage{{Replicas: 2, Compute: 0.10, Params: 100 * mb}}, Tensor: 2}
	for _, c := range []struct {
		name  string
		job   comm.Job
		links comm.Links
		x     comm.Mapping
		nic   []float64
		cut   float64
		want  float64
	}{
		// stage 1: 0.10 + 40/12500 + 100/12500 = 0.10 + 0.0032 + 0.008
		// stage 2: 0.08 + 40/12500 +  10/12500 = 0.08 + 0.0032 + 0.0008 = 0.0840
		{"all on one server", two, links, comm.Mapping{2, 2}, nil, 0, 0.1112},
		// stage 1: 0.10 + 2·40/625 + 100/12500 = 0.10 + 0.128 + 0.008
		// stage 2: 0.08 + 2·40/625 +  10/12500 = 0.08 + 0.128 + 0.0008 = 0.2088
		{"a server for each stage", two, links, comm.Mapping{2, 0, 0, 2}, nil, 80 * mb, 0.236},
		// stage 1: 0.10 + (2·20/625 + 20/12500) + 100/12500 = 0.10 + 0.064 + 0.0016 + 0.008 = 0.1736
		// stage 2: on A 40/12500 = 0.0032, on B 40/312.5 = 0.128, so 0.08 + 0.128 + 10/312.5 = 0.08 + 0.128 + 0.032
		{"three and one", two, links, comm.Mapping{2, 0, 1, 1}, nil, 60 * mb, 0.240},
		// stage 1: 0.10 + (20/312.5 + 20/12500) + 100/312.5 = 0.10 + 0.064 + 0.0016 + 0.32
		// stage 2: 0.08 + (20/312.5 + 20/12500) +  10/312.5 = 0.08 + 0.064 + 0.0016 + 0.032 = 0.1776
		{"half of each stage on each server", two, links, comm.Mapping{1, 1, 1, 1}, nil, 260 * mb, 0.4856},
		// stage 1: 0.10 + 40/312.5 + 100/312.5 = 0.10 + 0.128 + 0.32
		// stage 2: 0.08 + 40/312.5 +  10/312.5 = 0.08 + 0.128 + 0.032 = 0.24
		{"four servers", two, links, comm.Mapping{1, 1, 0, 0, 0, 0, 1, 1}, nil, 300 * mb, 0.548},

		// stage 2: 0.08 + 2·40/312.5 + 10/12500 = 0.08 + 0.256 + 0.0008
		{"half a NIC under stage 2", two, links, comm.Mapping{2, 0, 0, 2}, []float64{1, 0.5}, 80 * mb, 0.3368},
		// stage 1: 0.10 + 20/156.25 + 20/12500 + 100/156.25 = 0.10 + 0.128 + 0.0016 + 0.64
		{"half of every NIC", two, links, comm.Mapping{1, 1, 1, 1}, []float64{0.5, 0.5}, 260 * mb, 0.8696},
		{"one server with half a NIC", two, links, comm.Mapping{2, 2}, []float64{0.5}, 0, 0.1112},
		{"a server left out", two, links, comm.Mapping{2, 0, 0, 0, 0, 2}, []float64{1, 0.1, 1}, 80 * mb, 0.236},

		// 0.10 + 50/12500 + 100/25000 = 0.10 + 0.004 + 0.004: gradients use the links of both GPUs
		{"tensor parallel on one server", wide, links, comm.Mapping{2}, nil, 0, 0.108},
		// 0.10 + 50/12500 + 100/625 = 0.10 + 0.004 + 0.16
		{"tensor parallel on two servers", wide, links, comm.Mapping{1, 1}, nil, 200 * mb, 0.264},
		{"tensor parallel without bytes", quiet, links, comm.Mapping{2}, nil, 0, 0.104},
	} {
		t.Run(c.name, func(t *testing.T) {
			gpus := make([]int32, len(c.x)/len(c.job.Stages))
			for m := range gpus {
				gpus[m] = 4
			}
			near(t, comm.Alpha(c.job, c.x, c.links, gpus, c.nic), c.want)
			near(t, comm.Cut(c.job, c.x), c.cut)
		})
	}
}

func near(tb interface {
	Helper()
	Errorf(string, ...any)
}, got, want float64) {
	tb.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		tb.Errorf("got %.12g, want %.12g", got, want)
	}
}

func TestAlphaRefusesMappingsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		name string
		x    comm.Mapping
		gpus []int32
		nic  []float64
		want string
	}{
		{"too short", comm.Mapping{2, 2, 0}, []int32{4, 4}, nil, "mapping of 3"},
		{"multipliers of other servers", comm.Mapping{2, 2}, []int32{4}, []float64{1, 1}, "2 multipliers"},
		{"a replica lost", comm.Mapping{2, 1}, []int32{4}, nil, "1 replicas of stage 1, want 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				message, _ := recover().(string)
				if !strings.HasPrefix(message, "comm: ") || !strings.Contains(message, c.want) {
					t.Errorf("panic %q, want %q", message, c.want)
				}
			}()
			comm.Alpha(two, c.x, links, c.gpus, c.nic)
		})
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	gpus, workers, nic := []int32{4, 4}, []int32{3, 1}, []float64{1, 0.5}
	x := make(comm.Mapping, 4)
	for _, c := range []struct {
		name string
		call func()
	}{
		{"Ranks", func() {
			var err error
			if x, err = comm.Ranks(x, two, workers); err != nil {
				t.Fatal(err)
			}
		}},
		{"Alpha", func() { comm.Alpha(two, x, links, gpus, nic) }},
		{"Cut", func() { comm.Cut(two, x) }},
	} {
		if n := testing.AllocsPerRun(100, c.call); n != 0 {
			t.Errorf("%s allocates %v times", c.name, n)
		}
	}
}

func TestValidate(t *testing.T) {
	stage := comm.Stage{Replicas: 1, Compute: 1}
	with := func(change func(*comm.Stage)) comm.Job {
		s := stage
		change(&s)
		return comm.Job{Stages: []comm.Stage{stage, s}}
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"good job", comm.Job{Stages: []comm.Stage{stage}}.Validate(), ""},
		{"no stages", comm.Job{}.Validate(), "stages: none"},
		{"tensor below 0", comm.Job{Stages: []comm.Stage{stage}, Tensor: -1}.Validate(), "tensor: -1"},
		{"no replicas", with(func(s *comm.Stage) { s.Replicas = 0 }).Validate(), "stage 1: replicas: 0"},
		{"too many GPUs", with(func(s *comm.Stage) { s.Replicas = 1 << 20 }).Validate(), "stage 1: 1048577 GPUs"},
		{"no compute", with(func(s *comm.Stage) { s.Compute = 0 }).Validate(), "stage 1: compute: 0 s"},
		{"endless compute", with(func(s *comm.Stage) { s.Compute = math.Inf(1) }).Validate(), "stage 1: compute: +Inf"},
		{"params not a number", with(func(s *comm.Stage) { s.Params = math.NaN() }).Validate(), "stage 1: params: NaN"},
		{"activations below 0", with(func(s *comm.Stage) { s.Activations = -1 }).Validate(), "stage 1: activations: -1"},
		{"tensor bytes below 0", with(func(s *comm.Stage) { s.TensorBytes = -1 }).Validate(), "stage 1: tensor bytes: -1"},
		{"good links", links.Validate(), ""},
		{"free links", comm.Links{Intra: math.Inf(1), NIC: math.Inf(1)}.Validate(), ""},
		{"no bandwidth inside", comm.Links{NIC: 1}.Validate(), "intra: 0"},
		{"no NIC", comm.Links{Intra: 1, NIC: math.NaN()}.Validate(), "nic: NaN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			switch {
			case c.want == "" && c.err != nil:
				t.Errorf("got %v, want no error", c.err)
			case c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)):
				t.Errorf("got %v, want %q", c.err, c.want)
			}
		})
	}
}
