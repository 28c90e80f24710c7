package sim_test

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
	"pgregory.net/rapid"
)

// drawEpisode draws a small cluster with its rules, the jobs, and the jobs that already run at the start.
func drawEpisode(t *rapid.T) sim.Episode {
	cfg := drawConfig(t)
	e := sim.Episode{Config: cfg, Jobs: drawJobs(t, &cfg)}
	if rapid.IntRange(0, 1).Draw(t, "warm") == 0 {
		e.Running = drawRunning(t, e)
	}
	return e
}

// drawConfig draws a cluster and the rules of the episode.
func drawConfig(t *rapid.T) sim.Config {
	cfg := sim.Config{Cluster: drawCluster(t), Physics: drawPhysics(t), Restart: drawRestart(t)}
	if rapid.Bool().Draw(t, "with outages") {
		cfg.Outages = drawOutages(t, &cfg.Cluster)
	}
	if rapid.IntRange(0, 3).Draw(t, "with demand") > 0 {
		cfg.Demand = drawDemand(t, &cfg.Cluster)
		cfg.Grace = drawTime(t, "grace", 600)
	}
	if rapid.IntRange(0, 2).Draw(t, "cut off") == 0 {
		cfg.Horizon = 1 + drawTime(t, "horizon", 9000)
	}
	if rapid.Bool().Draw(t, "with readings") {
		cfg.Readings = sim.Readings{
			Interval: 1 + drawTime(t, "interval of readings", 300), Noise: rapid.SampledFrom([]float64{0, 0, 0.05, 1}).Draw(t, "noise"),
			Seed: rapid.Uint64().Draw(t, "seed of readings"),
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "phases") == 0 {
		cfg.Phases = sim.Phases{Every: time.Minute + drawTime(t, "phase", 600), Slowest: 0.3, Seed: 1}
	}
	if rapid.IntRange(0, 2).Draw(t, "hidden") == 0 {
		cfg.Hidden = sim.Hidden{
			Speeds: true,
			Models: rapid.SampledFrom([]sim.Naming{sim.FullName, sim.Domain, sim.NoName}).Draw(t, "told of models"),
		}
	}
	return cfg
}

func drawRestart(t *rapid.T) sim.Restart {
	r := sim.Pause(drawTime(t, "pause", 60))
	if rapid.Bool().Draw(t, "pauses differ") {
		r.Migrate, r.Resize = drawTime(t, "pause of a migration", 60), drawTime(t, "pause of a resize", 60)
	}
	r.FromScratch = rapid.IntRange(0, 3).Draw(t, "from scratch") == 0
	if rapid.Bool().Draw(t, "checkpoints") {
		r.Interval = 1 + drawTime(t, "checkpoint interval", 900)
		r.Save = drawTime(t, "checkpoint save", 90)
	}
	return r
}

// drawOutages draws failures of servers and GPUs. A server and one of its GPUs may be out at the same time.
func drawOutages(t *rapid.T, c *cluster.Spec) (all []sim.Outage) {
	type unit struct {
		server cluster.ServerID
		gpu    int32
	}
	back := map[unit]time.Duration{}
	for range rapid.IntRange(1, 6).Draw(t, "outages") {
		u := unit{cluster.ServerID(rapid.IntRange(0, len(c.Servers)-1).Draw(t, "server")), -1}
		if n := c.Servers[u.server].GPUs; n > 0 {
			u.gpu = rapid.Int32Range(-1, n-1).Draw(t, "GPU")
		}
		from := back[u] + drawTime(t, "works for", 2000)
		back[u] = from + 1 + drawTime(t, "is out for", 1000)
		all = append(all, sim.Outage{From: from, To: back[u], Server: u.server, GPU: u.gpu})
	}
	return all
}

// drawDemand draws the inference pool's demand; it offers at most the servers of the pool.
func drawDemand(t *rapid.T, c *cluster.Spec) (all []sim.Demand) {
	pool := int32(0)
	for i := range c.Servers {
		if c.Servers[i].Pool == cluster.Inference {
			pool++
		}
	}
	at := drawTime(t, "first demand", 200) - 1
	for range rapid.IntRange(0, 8).Draw(t, "demands") {
		at += 1 + drawTime(t, "until the next demand", 1000)
		all = append(all, sim.Demand{
			At: at, Need: rapid.Int64Range(0, 5000).Draw(t, "need"), Offer: rapid.Int32Range(0, pool).Draw(t, "offer"),
		})
	}
	return all
}

// drawTime draws a time of at most the given number of seconds, in coarse steps so that events coincide, and sometimes an
// arbitrary nanosecond.
func drawTime(t *rapid.T, name string, most int64) time.Duration {
	d := time.Duration(rapid.Int64Range(0, 20).Draw(t, name)*most) * time.Second / 20
	if d > 0 && rapid.IntRange(0, 3).Draw(t, name+" in ns") == 0 {
		d -= time.Duration(rapid.Int64Range(0, int64(d)/20).Draw(t, name+" less"))
	}
	return d
}

// drawRunning places some of the jobs submitted at 0 wherever they fit, and returns them as running from the start.
func drawRunning(t *rapid.T, e sim.Episode) (running []sim.Running) {
	s := must.Get(e.New())(t)
	tx, ok := s.Next()
	if !ok || tx.Now() != 0 {
		return nil
	}
	c := simtest.Chaos{Draw: rng.Stream(rapid.Uint64().Draw(t, "seed of the warm start"), "warm")}
	for _, id := range slices.Clone(tx.View().Pending()) {
		if p := c.Spread(tx.View(), id); c.Draw.IntN(4) > 0 && tx.Place(id, p) == nil {
			running = append(running, sim.Running{Job: id, Placement: p})
		}
	}
	return running
}
