package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
)

// paced returns players of the 8 episodes of an update. label is the fraction of decisions to label.
func paced(tb testing.TB, items int, label float64) []*player {
	tb.Helper()
	d := agents.Design{
		Name: "paced", Window: agents.DefaultWindow, Prior: "srsf+menu+move", Wide: agents.Wide{Items: items}, Margin: 8,
		Size: agents.DefaultSize(),
	}
	p, err := d.Make(func(s agents.Shape) (agents.Params, error) { return agents.Init(s, rand.New(rand.NewPCG(1, 2))), nil })
	if err != nil {
		tb.Fatal(err)
	}
	players := make([]*player, 8)
	for i := range players {
		seed := uint64(i)
		episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: mixed(80+10*i, seed)}
		if players[i], err = newPlayer(p, episode, flow(2*time.Hour), label, rand.New(rand.NewPCG(seed, 1))); err != nil {
			tb.Fatal(err)
		}
	}
	return players
}

// lockStep plays like playAll, but in lock-step: all players choose, concurrently, and then all environments step.
func lockStep(players []*player, workers int) error {
	envs, joints := make([]env.Env, len(players)), make([][]game.Action, len(players))
	for i, g := range players {
		envs[i], joints[i] = g.env, make([]game.Action, g.env.Spec().Agents)
	}
	v, err := env.NewVector(envs, env.Disabled, workers)
	if err != nil {
		return err
	}
	ts, now := make([]env.TimeStep, len(envs)), make([][]game.Action, len(envs))
	if err := v.Reset(make([]uint64, len(envs)), ts); err != nil {
		return err
	}
	for {
		var tasks errgroup.Group
		tasks.SetLimit(workers)
		playing := false
		for i, g := range players {
			if now[i] = nil; ts[i].Over() {
				continue
			}
			now[i], playing = joints[i], true
			tasks.Go(func() error { return g.act(context.Background(), &ts[i], joints[i]) })
		}
		if err := tasks.Wait(); err != nil || !playing {
			return err
		}
		if err := v.Step(now, ts); err != nil {
			return err
		}
	}
}

// TestPaceChangesNothing checks that players play and label the same in lock-step as at their own pace.
func TestPaceChangesNothing(t *testing.T) {
	own, step := paced(t, 0, 0.1), paced(t, 0, 0.1)
	if err := playAll(t.Context(), own, 3, func(int, *rollout) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := lockStep(step, 3); err != nil {
		t.Fatal(err)
	}
	for i := range own {
		a, b := own[i].out, step[i].out
		if a.kinds != b.kinds || len(a.samples) == 0 || !reflect.DeepEqual(a.samples, b.samples) {
			t.Errorf("episode %d: %d samples, in step %d, or others", i, len(a.samples), len(b.samples))
		}
	}
}

// BenchmarkPace measures the cost of lock-step, in which environments wait for the few decisions that take long.
func BenchmarkPace(b *testing.B) {
	for _, items := range []int{0, 62} {
		for _, label := range []float64{0.06, 0.2} {
			for _, pace := range []string{"own", "lock-step"} {
				b.Run(fmt.Sprintf("candidates=%d/label=%v/%s", items, label, pace), func(b *testing.B) {
					workers, decisions := runtime.GOMAXPROCS(0), 0
					for b.Loop() {
						players := paced(b, items, label)
						var err error
						if pace == "own" {
							err = playAll(b.Context(), players, workers, func(int, *rollout) error { return nil })
						} else {
							err = lockStep(players, workers)
						}
						if err != nil {
							b.Fatal(err)
						}
						for _, g := range players {
							for _, n := range g.out.kinds {
								decisions += n
							}
						}
					}
					b.ReportMetric(float64(decisions)/b.Elapsed().Seconds(), "decisions/s")
				})
			}
		}
	}
}
