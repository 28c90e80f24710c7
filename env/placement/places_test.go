package placement_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// racked returns a cluster of servers with so many GPUs each, two servers to a rack, on which the jobs wait.
func racked(t *testing.T, model string, servers, gpus int, jobs ...trace.Job) *cluster.State {
	m := must.Get(physics.Parse(model))(t)
	cfg := sim.Config{Cluster: cluster.Uniform(servers, gpus), Physics: m}
	for i := range cfg.Cluster.Servers {
		cfg.Cluster.Servers[i].GPUType, cfg.Cluster.Servers[i].Rack = "V100", int32(i/2)+1
	}
	return state(t, &cfg, jobs)
}

// TestMenuPlaces checks where the last job starts after the others have been put on one GPU each.
func TestMenuPlaces(t *testing.T) {
	const uplink, power = "network(12.5,1.25,0.05)", "power(600)"
	hour := time.Hour
	one := func(d time.Duration) trace.Job { return job("bert-large", 1, 0, d) }
	gang := func(n int32) trace.Job { return job("gpt2-1.5b", n, 0, hour) }
	compare := func(c *placement.MenuConfig) { c.Places = 4 }
	for _, test := range []struct {
		name    string
		physics string
		servers int
		gpus    int
		busy    []cluster.ServerID // where the others run
		jobs    []trace.Job
		change  func(*placement.MenuConfig)
		want    []cluster.ServerID // of the last job; none if it waits
	}{
		{"BestFit knows no racks", uplink, 4, 2, []cluster.ServerID{0}, []trace.Job{one(hour), gang(4)}, nil, []cluster.ServerID{1, 2}},
		{"a gang keeps off the uplink", uplink, 4, 2, []cluster.ServerID{0}, []trace.Job{one(hour), gang(4)}, compare,
			[]cluster.ServerID{2, 3}},
		{"BestFit fills the rack that has no power left", power, 4, 2, []cluster.ServerID{0}, []trace.Job{one(hour), one(hour)}, nil,
			[]cluster.ServerID{0}},
		{"a job goes to the rack that has power", power, 4, 2, []cluster.ServerID{0}, []trace.Job{one(hour), one(hour)}, compare,
			[]cluster.ServerID{2}},
		{"where nothing is gained, BestFit decides", "gpu-type", 4, 2, []cluster.ServerID{0}, []trace.Job{one(hour), one(hour)}, compare,
			[]cluster.ServerID{0}},
		{"a gang waits for a rack", uplink, 4, 1, []cluster.ServerID{0, 2}, []trace.Job{one(time.Minute), one(9 * hour), gang(2)}, compare,
			nil},
		{"but not for one that is free too late", uplink, 4, 1, []cluster.ServerID{0, 2},
			[]trace.Job{one(99 * hour), one(99 * hour), gang(2)}, compare, []cluster.ServerID{1, 3}},
		{"nor without estimates", uplink, 4, 1, []cluster.ServerID{0, 2}, []trace.Job{one(0), one(0), gang(2)}, compare,
			[]cluster.ServerID{1, 3}},
		{"nor where it may not", uplink, 4, 1, []cluster.ServerID{0, 2}, []trace.Job{one(time.Minute), one(9 * hour), gang(2)},
			func(c *placement.MenuConfig) { c.Places, c.Wait = 4, false }, []cluster.ServerID{1, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := racked(t, test.physics, test.servers, test.gpus, test.jobs...)
			tx := s.Begin(nil)
			for i, v := range test.busy {
				at := cluster.Placement{{Server: v, Workers: 1, Amount: test.jobs[i].Request}}
				must.Do(t, tx.Place(cluster.JobID(i), at))
			}
			c := placement.DefaultMenu()
			if test.change != nil {
				test.change(&c)
			}
			last := cluster.JobID(len(test.jobs) - 1)
			must.Get(placement.NewMenu(c).Place(tx, last))(t)
			var got []cluster.ServerID
			for _, q := range s.Placement(last) {
				got = append(got, q.Server)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("servers %v, want %v", got, test.want)
			}
		})
	}
}

// TestEachPlace checks which sets of racks are compared, and in which order.
func TestEachPlace(t *testing.T) {
	s := racked(t, "ideal", 8, 2, job("", 1, 0, 0), job("", 3, 0, 0), job("", 2, 0, 0), job("", 9, 0, 0))
	tx := s.Begin(nil)
	whole := s.Spec(0).Request
	for id, at := range []cluster.Placement{
		{{Server: 0, Workers: 1, Amount: whole}},
		{{Server: 2, Workers: 2, Amount: whole}, {Server: 3, Workers: 1, Amount: whole}},
		{{Server: 4, Workers: 2, Amount: whole}},
	} {
		must.Do(t, tx.Place(cluster.JobID(id), at))
	}
	// Free are now 3 GPUs in rack 1, 1 in rack 2, 2 in rack 3 and 4 in rack 4.
	for _, test := range []struct {
		n    int32
		most int
		want string // workers in each rack, of one placement after another
	}{
		{1, 9, "0100 0001 0010 1000 "},
		{2, 9, "0020 0002 2000 0110 1100 0101 "},
		{2, 1, "0020 0110 "},
		{4, 9, "0004 3100 3010 3001 2020 0022 3100 0103 "},
		{5, 9, "0104 0014 1004 3020 3002 3020 0023 0104 "},
		{9, 9, "3024 3024 3024 3114 "},
		{10, 9, "3124 3124 3124 3124 "},
		{11, 9, ""},
	} {
		got := ""
		for _, at := range placement.EachPlace(tx.View(), 3, test.n, whole, test.most) {
			var in [4]int32
			for _, q := range at {
				in[q.Server/2] += q.Workers
			}
			for _, n := range in {
				got += fmt.Sprint(n)
			}
			got += " "
		}
		if got != test.want {
			t.Errorf("%d workers, at most %d: %q, want %q", test.n, test.most, got, test.want)
		}
	}
}

// TestPlacesFit checks that each placement that is compared can be carried out and has as many workers as wanted, and that a menu
// that compares places finds no worse choice than one that does not.
func TestPlacesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		jobs := drawJobs(t, &cfg.Cluster, rapid.IntRange(1, 8).Draw(t, "jobs"))
		s := state(t, &cfg, jobs)
		tx, last := s.Begin(nil), cluster.JobID(len(jobs)-1)
		must.Do(t, (&skip{placer: flexible(t)}).Schedule(tx))
		if s.Phase(last) == cluster.Running {
			must.Do(t, tx.Preempt(last))
		}
		spec, most := s.Spec(last), rapid.IntRange(1, 4).Draw(t, "most")
		n := rapid.Int32Range(spec.Least(), spec.Most()).Draw(t, "n")
		n -= n % spec.Together()
		if n < spec.Least() {
			n = spec.Workers
		}
		for _, at := range placement.EachPlace(&s.View, last, n, spec.Request, most) {
			mark := tx.Mark()
			if err := tx.Place(last, at); err != nil || at.Workers() != n {
				t.Fatalf("%d workers %+v, want %d: %v", at.Workers(), at, n, err)
			}
			tx.Rollback(mark)
		}
		cost := func(places int) float64 {
			c := placement.DefaultMenu()
			c.Places, c.Wait = places, false
			m, mark := placement.NewMenu(c), tx.Mark()
			if ok, err := m.Place(tx, last); err != nil {
				t.Fatal(err)
			} else if !ok {
				return math.Inf(1)
			}
			tx.Rollback(mark)
			return m.Cost()
		}
		if with, without := cost(most), cost(0); with > without {
			t.Fatalf("the best choice costs %v s with other places, %v s without", with, without)
		}
	})
}
