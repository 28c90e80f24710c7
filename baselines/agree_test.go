package baselines

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestToldAndUntoldAgree checks that where no choice changes a speed, a policy that learns speeds from readings decides as one that
// is told them: single workers with whole GPUs of one type on servers in racks.
func TestToldAndUntoldAgree(t *testing.T) {
	model := must.Get(physics.Parse("gpu-type * scaling * network(12.5,1.25,1)"))(t)
	for _, name := range []string{"las+know", "srsf+menu+move+know:time=history", "srsf:evict=true+menu:places=8:idle=true+move+know"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := sim.Config{Cluster: cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), 2), Physics: model, Restart: sim.Pause(time.Minute)}
				for i := range cfg.Cluster.Servers {
					cfg.Cluster.Servers[i].Rack = rapid.Int32Range(0, 2).Draw(t, "rack")
				}
				jobs := make([]job, rapid.IntRange(1, 12).Draw(t, "jobs"))
				at := time.Duration(0)
				for i := range jobs {
					at += time.Duration(rapid.IntRange(0, 1000).Draw(t, "after")) * time.Second
					j := &jobs[i]
					j.Name, j.User, j.Submit = string(rune('a'+i)), rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), at
					j.Model = rapid.SampledFrom([]string{"resnet50-64", "gpt2-1.5b", ""}).Draw(t, "model")
					j.Work = time.Duration(rapid.IntRange(1, 4000).Draw(t, "work")) * time.Second
					j.Workers, j.Request.GPUMilli = 1, cluster.WholeGPU
				}
				play := func(name string) []string {
					s := must.Get(tested().New(name))(t)
					return timeline(t, cfg, jobs, s)
				}
				cfg.Readings = sim.Readings{Interval: 2 * time.Minute, Noise: 0.1, Seed: 1}
				want := play(name)
				cfg.Hidden = sim.Hidden{Speeds: true, Models: sim.NoName}
				for _, speed := range []string{":speed=fit", ":speed=none"} {
					if got := play(name + speed); !slices.Equal(got, want) {
						t.Fatalf("told nothing, %s\n%q\ntold speeds\n%q", speed, got, want)
					}
				}
			})
		})
	}
}
