package scenario

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
)

func TestThePoolStandsAfterTheCluster(t *testing.T) {
	s := load(t, "inference.servers=3", "inference.gpus_per_server=2", "inference.gpu_type=T4",
		"cluster.servers_per_rack=2", "cluster.gpu_type=V100",
		"cluster.groups=[{servers: 1, gpus_per_server: 8, gpu_type: P100, gpu_mem_gib: 16, cpus_per_server: 4, mem_gib_per_server: 2}]")
	cfg := must.Get(s.SimConfig())(t)
	var racks, gpus []int32
	var pools []cluster.Pool
	for _, v := range cfg.Cluster.Servers {
		racks, gpus, pools = append(racks, v.Rack), append(gpus, v.GPUs), append(pools, v.Pool)
	}
	want := []cluster.Pool{0, 0, 0, cluster.Inference, cluster.Inference, cluster.Inference}
	if !slices.Equal(racks, []int32{1, 1, 2, 3, 3, 4}) || !slices.Equal(gpus, []int32{4, 4, 8, 2, 2, 2}) || !slices.Equal(pools, want) {
		t.Errorf("racks %v, GPUs %v, pools %v", racks, gpus, pools)
	}
	p := cfg.Cluster.Servers[2]
	if p.GPUType != "P100" || p.GPUMemMiB != 16<<10 || p.CPUMilli != 4000 || p.MemMiB != 2048 || p.Name != "server-2" {
		t.Errorf("the group's server is %+v", p)
	}
	if cfg.Grace != 5*time.Minute || s.Cluster.GPUs() != 16 {
		t.Errorf("grace %v, %d training GPUs, want 5m and 16", cfg.Grace, s.Cluster.GPUs())
	}
}

// TestPredictorsServeTheDemand checks for every predictor that the pool serves its demand within the limit and lends the other
// servers.
func TestPredictorsServeTheDemand(t *testing.T) {
	for _, p := range []string{"last", "seasonal", "ar", "oracle"} {
		t.Run(p, func(t *testing.T) {
			src := open(t, "inference.servers=100", "inference.gpus_per_server=1", "inference.predictor="+p)
			o := inference.Account(src.demand, 100, nil)
			most := 2 * unserved // the margin was calibrated on the first half of the series only
			if p == "oracle" {
				most = 0
			}
			t.Logf("%.1f servers lent, %.4f %% unserved", o.Lent, 100*o.Unserved)
			if o.Unserved > most || o.Lent < 5 {
				t.Errorf("%.4f %% of demand unserved, %.1f servers lent, want at most %.2f %% and at least 5",
					100*o.Unserved, o.Lent, 100*most)
			}
		})
	}
}

func TestBuiltinPoolsServeTheirDemand(t *testing.T) {
	for _, name := range []string{"loaning-small-v1", "loaning-venus-v1"} {
		src := builtinSource(t, name)
		n := src.scenario.Inference.Servers
		o := inference.Account(src.demand, n, nil)
		t.Logf("%s: %.1f of %d servers lent, %.4f %% unserved", name, o.Lent, n, 100*o.Unserved)
		if o.Unserved > .001 || o.Lent < .1*float64(n) {
			t.Errorf("%s: %.4f %% of demand unserved, %.1f of %d servers lent, want at most 0.1 %% and a tenth",
				name, 100*o.Unserved, o.Lent, n)
		}
	}
}

// TestTheCycleIsForeseenFromItsEnd checks that the cycle has no cold start: at its beginning the predictor has observed its end.
func TestTheCycleIsForeseenFromItsEnd(t *testing.T) {
	s := load(t, "inference.servers=100", "inference.gpus_per_server=1", "inference.predictor=seasonal")
	plan := must.Get(s.planInference())(t)
	rates := must.Get(s.rates())(t)
	usage := must.Get(rates.Usage(1, peak))(t)
	_, margin, err := s.predictor(usage, nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := inference.Pool{Servers: 100, Headroom: inference.DefaultHeadroom, Margin: margin}
	yesterday := usage.Values[len(usage.Values)-int(day/usage.Step)+1]
	if want := pool.Offer(usage.Values[0], yesterday); plan[0].Offer != want {
		t.Errorf("the cycle begins with an offer of %d, want %d, by what the day before its beginning was like", plan[0].Offer, want)
	}
}

func TestDemandWrapsAround(t *testing.T) {
	c := cycle{{Need: 1, Offer: 1}, {Need: 2, Offer: 2}, {Need: 3, Offer: 3}}
	d := c.from(rng.Stream(4, "x"), 40*time.Minute)
	if len(d) != 9 {
		t.Fatalf("%d points, want one every 5 minutes up to 40", len(d))
	}
	for k := range d {
		if d[k].At != time.Duration(k)*5*time.Minute || d[k].Need != 1+(d[0].Need-1+int64(k))%3 || int64(d[k].Offer) != d[k].Need {
			t.Errorf("point %d is %+v after %+v", k, d[k], d[0])
		}
	}
	first := map[int64]bool{}
	for seed := range uint64(30) {
		first[c.from(rng.Stream(seed, "x"), 0)[0].Need] = true
	}
	if len(first) != 3 {
		t.Errorf("30 seeds begin at %v, want anywhere in the cycle", first)
	}
	if (cycle)(nil).from(nil, time.Hour) != nil {
		t.Error("demand without a pool")
	}
}
