package env_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

func several(t testing.TB, n int) []env.Env {
	envs := make([]env.Env, n)
	for i := range envs {
		envs[i] = small(t, nil)
	}
	return envs
}

func newJoints(n, agents int) [][]game.Action {
	joints := make([][]game.Action, n)
	for i := range joints {
		joints[i] = make([]game.Action, agents)
	}
	return joints
}

// seedsFrom returns the seeds of n environments, beginning with first.
func seedsFrom(first uint64, n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = first + uint64(i)
	}
	return seeds
}

// present returns the seed of environment i's present episode.
func present(v *env.Vector, i int) uint64 { return env.EpisodeSeed(v.Episode(i)) }

// history plays a vector and returns copies of all time steps.
func history(t *testing.T, n int, mode env.Autoreset, workers, steps int) (
	shown [][]env.TimeStep, finals []*env.TimeStep, seeds [][]uint64,
) {
	t.Helper()
	v := must.Get(env.NewVector(several(t, n), mode, workers))(t)
	defer v.Close()
	spec, ts := v.Spec(0), make([]env.TimeStep, n)
	must.Do(t, v.Reset(seedsFrom(7, n), ts))
	joints := newJoints(n, spec.Agents)
	for step := range steps {
		row, now := make([]env.TimeStep, n), make([]uint64, n)
		for i := range ts {
			row[i].CopyFrom(&ts[i])
			row[i].Cluster, row[i].List = nil, nil
			now[i] = present(v, i)
			if mode == env.Disabled && ts[i].Over() {
				joints[i] = nil
				continue
			}
			act(&ts[i], step, joints[i])
			if mode == env.NextStep && ts[i].Over() {
				joints[i][0] = -5 // ignored
			}
		}
		shown, seeds = append(shown, row), append(seeds, now)
		must.Do(t, v.Step(joints, ts))
		var final *env.TimeStep
		if f := v.Final(0); f != nil {
			final = &env.TimeStep{}
			final.CopyFrom(f)
		}
		finals = append(finals, final)
	}
	return shown, finals, seeds
}

// TestVectorIsDeterministic checks that the time steps of a vector depend neither on the number of workers nor on the number of
// other environments.
func TestVectorIsDeterministic(t *testing.T) {
	for _, mode := range []env.Autoreset{env.SameStep, env.NextStep, env.Disabled} {
		want, _, seeds := history(t, 5, mode, 1, 150)
		for _, other := range []struct{ n, workers int }{{5, 2}, {5, 5}, {5, 0}, {3, 2}} {
			got, _, gotSeeds := history(t, other.n, mode, other.workers, 150)
			for step := range got {
				for i := range got[step] {
					if gotSeeds[step][i] != seeds[step][i] || !equal(&got[step][i], &want[step][i]) {
						t.Fatalf("%v: step %d of environment %d differs with %+v", mode, step, i, other)
					}
				}
			}
		}
	}
}

func equal(a, b *env.TimeStep) bool {
	return slices.Equal(a.Servers, b.Servers) && slices.Equal(a.Jobs, b.Jobs) && slices.Equal(a.Candidates, b.Candidates) &&
		slices.Equal(a.Global, b.Global) && slices.Equal(a.Mask, b.Mask) && slices.Equal(a.Ids, b.Ids) && slices.Equal(a.Of, b.Of) &&
		slices.Equal(a.Coalition, b.Coalition) && a.Prior == b.Prior && slices.Equal(a.Taken, b.Taken) && slices.Equal(a.Refused, b.Refused) &&
		a.Reward == b.Reward && slices.Equal(a.Rewards, b.Rewards) && a.Elapsed == b.Elapsed && a.Now == b.Now &&
		a.Terminated == b.Terminated && a.Truncated == b.Truncated
}

// TestVectorModesAgainstPlainLoop checks that every mode plays the same sequence of episodes as a plain loop with EpisodeSeed,
// with resets where the mode has them.
func TestVectorModesAgainstPlainLoop(t *testing.T) {
	for _, mode := range []env.Autoreset{env.SameStep, env.NextStep} {
		shown, finals, seeds := history(t, 1, mode, 1, 150)
		e := small(t, nil)
		spec := e.Spec()
		joint := make([]game.Action, spec.Agents)
		var ts env.TimeStep
		reset := func(n uint64) {
			must.Do(t, e.Reset(env.EpisodeSeed(7, n), &ts))
		}
		reset(0)
		episode, ended := uint64(0), 0
		for step := range shown {
			got := &shown[step][0]
			if seeds[step][0] != env.EpisodeSeed(7, episode) {
				t.Fatalf("%v: step %d plays another seed than episode %d", mode, step, episode)
			}
			if mode == env.NextStep && ts.Over() {
				if !equal(got, &ts) {
					t.Fatalf("next-step: step %d is not the last of its episode", step)
				}
				ended++
				episode++
				reset(episode)
				continue
			}
			if step == 0 || mode == env.NextStep || !shown[step][0].Over() {
				if !equal(got, &ts) {
					t.Fatalf("%v: step %d differs from the plain loop", mode, step)
				}
			}
			act(&ts, step, joint)
			must.Do(t, e.Step(joint, &ts))
			if mode == env.NextStep {
				continue
			}
			if ended += 1; !ts.Over() {
				ended--
				if finals[step] != nil {
					t.Fatalf("same-step: step %d has a final step within its episode", step)
				}
				continue
			}
			if finals[step] == nil || !equal(finals[step], &ts) {
				t.Fatalf("same-step: step %d does not keep the last step", step)
			}
			var last env.TimeStep
			last.CopyFrom(&ts)
			episode++
			reset(episode)
			ts.Reward, ts.Rewards, ts.Elapsed, ts.Taken, ts.Refused = last.Reward, last.Rewards, last.Elapsed, last.Taken, last.Refused
			ts.Terminated, ts.Truncated = last.Terminated, last.Truncated
			if step+1 < len(shown) && !equal(&shown[step+1][0], &ts) {
				t.Fatalf("same-step: step %d is not the first of the next episode with the end of the last", step+1)
			}
		}
		if ended < 2 {
			t.Fatalf("%v: the test saw %d ends", mode, ended)
		}
	}
}

// TestVectorEqualSeeds checks that environments with equal seeds play equal sequences of episodes.
func TestVectorEqualSeeds(t *testing.T) {
	v := must.Get(env.NewVector(several(t, 2), env.SameStep, 2))(t)
	defer v.Close()
	ts, joints := make([]env.TimeStep, 2), newJoints(2, v.Spec(0).Agents)
	must.Do(t, v.Reset([]uint64{3, 3}, ts))
	for step := range 100 {
		if !equal(&ts[0], &ts[1]) || present(v, 0) != present(v, 1) {
			t.Fatalf("step %d differs", step)
		}
		for i := range joints {
			act(&ts[i], step, joints[i])
		}
		must.Do(t, v.Step(joints, ts))
	}
	if present(v, 0) == 3 {
		t.Fatal("the test saw no second episode")
	}
}

func TestVectorErrors(t *testing.T) {
	v := must.Get(env.NewVector(several(t, 3), env.Disabled, 2))(t)
	ts, joints := make([]env.TimeStep, 3), newJoints(3, v.Spec(0).Agents)
	if err := v.Step(joints, ts); !errors.Is(err, env.ErrOver) || !strings.Contains(err.Error(), "environment 2: ") {
		t.Errorf("step before reset: %v", err)
	}
	must.Do(t, v.Reset(seedsFrom(1, 3), ts))
	joints[1][0] = 99
	before := ts[1].Now
	err := v.Step(joints, ts)
	if err == nil || !strings.HasPrefix(err.Error(), "environment 1: ") || strings.Contains(err.Error(), "environment 0") {
		t.Errorf("an action out of range: %v", err)
	}
	if ts[1].Now != before || ts[0].Elapsed == 0 {
		t.Errorf("after an error in environment 1 it is at %v, environment 0 moved by %v", ts[1].Now, ts[0].Elapsed)
	}
	joints[1] = nil
	if err := v.Step(joints, ts); err != nil {
		t.Errorf("nil leaves an environment alone: %v", err)
	}
	if err := v.Step(joints[:2], ts); err == nil {
		t.Error("no error for two joint actions of three")
	}
	if err := v.Reset([]uint64{1}, ts); err == nil {
		t.Error("no error for one seed of three")
	}
	must.Do(t, v.Close())
	joints[1] = joints[0]
	if err := v.Step(joints, ts); !errors.Is(err, env.ErrOver) {
		t.Errorf("step after Close: %v", err)
	}
	if err := v.ResetEnv(1, 5, &ts[1]); err != nil {
		t.Errorf("reset after Close: %v", err)
	}

	if _, err := env.NewVector(nil, env.SameStep, 1); err == nil {
		t.Error("no error for no environments")
	}
	if err := v.Play(seedsFrom(1, 2), ts, nil); err == nil {
		t.Error("no error for two seeds of three")
	}
}

// TestVectorPlay checks that a vector can play clusters of several sizes, that each environment plays the episode that it would
// play alone, and that an error in one is reported while the others continue.
func TestVectorPlay(t *testing.T) {
	make3 := func() []env.Env {
		return []env.Env{
			small(t, nil),
			small(t, func(c *env.Config) { c.Sim.Cluster = cluster.Uniform(6, 2) }),
			small(t, func(c *env.Config) { c.Jobs = func(uint64) ([]trace.Job, error) { return nil, nil } }),
		}
	}
	var want [3][]env.TimeStep
	for i, e := range make3() {
		var ts env.TimeStep
		joint := make([]game.Action, e.Spec().Agents)
		err := e.Reset(uint64(i), &ts)
		for ; err == nil; err = e.Step(joint, &ts) {
			var kept env.TimeStep
			kept.CopyFrom(&ts)
			want[i] = append(want[i], kept)
			act(&ts, len(want[i]), joint)
		}
		if !errors.Is(err, env.ErrOver) || len(want[i]) < 12 != (i == 2) {
			t.Fatalf("environment %d alone: %d time steps, error %v", i, len(want[i]), err)
		}
	}
	for _, workers := range []int{1, 3} {
		for _, mode := range []env.Autoreset{env.SameStep, env.NextStep, env.Disabled} {
			v := must.Get(env.NewVector(make3(), mode, workers))(t)
			ts := make([]env.TimeStep, 3)
			var got [3]int
			broken := errors.New("broken")
			play := func(bad int) error {
				got = [3]int{}
				return v.Play([]uint64{0, 1, 2}, ts, func(i int, now *env.TimeStep, joint []game.Action) error {
					if now != &ts[i] || len(joint) != v.Spec(i).Agents || !equal(now, &want[i][got[i]]) {
						t.Errorf("%v, %d workers: time step %d of environment %d differs", mode, workers, got[i], i)
					}
					if got[i]++; i == bad && got[i] == 9 {
						return broken
					}
					if !now.Over() {
						act(now, got[i], joint)
					}
					return nil
				})
			}
			if err := play(-1); err != nil || got != [3]int{len(want[0]), len(want[1]), len(want[2])} {
				t.Errorf("%v: played %v time steps, error %v", mode, got, err)
			}
			joints := [][]game.Action{make([]game.Action, v.Spec(0).Agents), nil, make([]game.Action, v.Spec(2).Agents)}
			if err := v.Step(joints, ts); !errors.Is(err, env.ErrOver) || !strings.Contains(err.Error(), "environment 2: ") {
				t.Errorf("%v: step after Play: %v", mode, err)
			}
			err := play(0)
			if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "environment 0: ") || got != [3]int{9, len(want[1]), len(want[2])} {
				t.Errorf("%v: with an error in environment 0 played %v time steps, error %v", mode, got, err)
			}
		}
	}
}

func TestVectorLeavesNothingBehind(t *testing.T) {
	v := must.Get(env.NewVector(several(t, 4), env.SameStep, 4))(t)
	before := runtime.NumGoroutine()
	ts, joints := make([]env.TimeStep, 4), newJoints(4, v.Spec(0).Agents)
	must.Do(t, v.Reset(seedsFrom(1, 4), ts))
	for step := range 50 {
		for i := range joints {
			act(&ts[i], step, joints[i])
		}
		must.Do(t, v.Step(joints, ts))
	}
	must.Do(t, v.Close())
	for range 100 { // a worker may still be about to return
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, before there were %d", runtime.NumGoroutine(), before)
}

// TestVectorStepAllocatesNothing checks that a vector itself allocates nothing in a step.
func TestVectorStepAllocatesNothing(t *testing.T) {
	v := must.Get(env.NewVector(several(t, 4), env.Disabled, 2))(t)
	ts := make([]env.TimeStep, 4)
	must.Do(t, v.Reset(seedsFrom(1, 4), ts))
	joints := make([][]game.Action, 4) // all nil: no environment steps
	if n := testing.AllocsPerRun(100, func() {
		must.Do(t, v.Step(joints, ts))
	}); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}
