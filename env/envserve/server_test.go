package envserve_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envserve"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/must"
)

// check compares what the memory shows of an environment with its time step.
func check(p *parent, slot, i int, ts, last *env.TimeStep) {
	s := ts.Spec()
	equal(p, "servers", slot, i, ts.Servers)
	equal(p, "jobs", slot, i, ts.Jobs)
	equal(p, "candidates", slot, i, ts.Candidates)
	equal(p, "cluster", slot, i, ts.Global)
	equal(p, "mask", slot, i, ts.Mask)
	equal(p, "rewards", slot, i, ts.Rewards)
	equal(p, "reward", slot, i, []float64{ts.Reward})
	equal(p, "elapsed", slot, i, []float64{ts.Elapsed.Seconds()})
	equal(p, "now", slot, i, []float64{ts.Now.Seconds()})
	equal(p, "prior", slot, i, []int32{int32(ts.Prior)})
	equal(p, "terminated", slot, i, []bool{ts.Terminated})
	equal(p, "truncated", slot, i, []bool{ts.Truncated != ""})
	equal(p, "ended", slot, i, []bool{last != nil})
	shown, legal, of := make([]bool, s.Jobs), make([]bool, s.Candidates), make([]int32, s.Candidates)
	for k := range ts.Ids {
		shown[k] = true
	}
	equal(p, "shown", slot, i, shown)
	for n := range of {
		of[n] = -1
	}
	legal[0] = true
	coalition := make([]float32, s.Candidates*s.Agents)
	for k, c := range ts.List {
		legal[k+1], of[k+1] = !c.Gone, ts.Of[k]
		for _, m := range ts.Members(game.Action(k + 1)) {
			coalition[(k+1)*s.Agents+int(m.Server)] = m.Weight
		}
	}
	equal(p, "legal", slot, i, legal)
	equal(p, "of", slot, i, of)
	equal(p, "coalition", slot, i, coalition)
	taken, refused := make([]bool, s.Candidates), make([]int32, s.Candidates)
	for _, n := range ts.Taken {
		taken[n] = true
	}
	for _, r := range ts.Refused {
		refused[r.Candidate] = int32(r.Reason) + 1
	}
	equal(p, "taken", slot, i, taken)
	equal(p, "refused", slot, i, refused)
	if last != nil {
		equal(p, "final_servers", -1, i, last.Servers)
		equal(p, "final_jobs", -1, i, last.Jobs)
		equal(p, "final_cluster", -1, i, last.Global)
		equal(p, "final_now", -1, i, []float64{last.Now.Seconds()})
	}
}

// TestMemoryShowsTheVector plays the same joint actions on a server and on a vector, in every mode, and compares all numbers. It
// also checks that a step leaves the observations of the step before in place.
func TestMemoryShowsTheVector(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, mode := rapid.IntRange(1, 3).Draw(t, "environments"), rapid.SampledFrom([]env.Autoreset{env.SameStep, env.NextStep,
			env.Disabled}).Draw(t, "autoreset")
		p := start(t, envserve.Config{Envs: environments(t, n), Autoreset: mode, Workers: rapid.IntRange(0, 2).Draw(t, "workers")})
		defer p.end()
		whole := environments(t, n)
		for i, e := range whole {
			whole[i] = env.NewWholeReturn(e)
		}
		v := must.Get(env.NewVector(whole, mode, 1))(t)
		ts := make([]env.TimeStep, n)
		seeds := rapid.SliceOfN(rapid.Uint64Range(0, 5), n, n).Draw(t, "seeds")
		all := slices.Repeat([]uint64{1}, n)
		p.put("seeds", seeds...)
		p.put("reset", all...)
		slot := p.slot(envserve.Reset, 0)
		must.Do(t, v.Reset(seeds, ts))
		joints, draw := make([][]game.Action, n), rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "actions")))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			over, replaced := false, 0
			for i := range ts {
				if v.Final(i) != nil {
					replaced++
				}
				check(p, slot, i, &ts[i], v.Final(i))
				over = over || mode == env.Disabled && ts[i].Over()
			}
			if p.replaced != replaced {
				t.Fatalf("the reply says that %d environments replaced an episode, want %d", p.replaced, replaced)
			}
			if over {
				if status, text := p.call(envserve.Step, 0); status != 1 || !strings.Contains(text, env.ErrOver.Error()) {
					t.Fatalf("a step after the end: %d, %s", status, text)
				}
				reset := make([]uint64, n)
				for i := range ts {
					if ts[i].Over() || draw.IntN(3) == 0 {
						reset[i] = 1
						seeds[i] = 1 + draw.Uint64N(5)
						must.Do(t, v.ResetEnv(i, seeds[i], &ts[i]))
					}
				}
				p.put("seeds", seeds...)
				p.put("reset", reset...)
				slot = p.slot(envserve.Reset, 0)
				continue
			}
			by, wrong := draw.Uint32N(2), make([]float64, n)
			for i := range ts {
				joint := make([]game.Action, p.hello.Agents)
				if joints[i] = joint; len(ts[i].List) == 0 {
					continue
				}
				if by == 0 {
					ts[i].Unanimous(game.Action(draw.IntN(len(ts[i].List)+1)), joint)
				} else {
					envtest.RandomJoint(&ts[i].Round, draw, joint)
				}
			}
			if by == 0 {
				unanimous(p, ts, joints, draw, wrong)
			} else {
				each(p, ts, joints, draw, wrong)
			}
			before := p.row("candidates", slot, 0)
			old := slot
			if slot = p.slot(envserve.Step, by); slot == old || !slices.Equal(before, p.row("candidates", old, 0)) {
				t.Fatalf("a step writes slot %d, which the parent still reads", old)
			}
			must.Do(t, v.Step(joints, ts))
			for i := range wrong {
				if got := p.row("illegal", slot, i)[0]; got != wrong[i] {
					t.Fatalf("environment %d: %v illegal numbers, want %v", i, got, wrong[i])
				}
			}
		}
	})
}

// unanimous writes the candidate that each joint action names. It writes a number out of range for some of those that pass.
func unanimous(p *parent, ts []env.TimeStep, joints [][]game.Action, draw *rand.Rand, wrong []float64) {
	actions := make([]uint64, len(ts))
	for i := range ts {
		n := slices.Max(joints[i])
		if actions[i] = uint64(n); n == 0 && draw.IntN(2) == 0 {
			actions[i] = []uint64{uint64(len(ts[i].List)) + 1, 1 << 31}[draw.IntN(2)]
			if len(ts[i].List) > 0 {
				wrong[i] = 1
			}
		}
	}
	p.put("actions", actions...)
}

// each writes the joint actions. It writes a forbidden number for some agents that pass.
func each(p *parent, ts []env.TimeStep, joints [][]game.Action, draw *rand.Rand, wrong []float64) {
	var numbers []uint64
	for i := range ts {
		for agent, n := range joints[i] {
			if n == 0 && draw.IntN(2) == 0 {
				if forbidden := slices.Index(ts[i].Legal(agent), false); forbidden > 0 {
					n = game.Action(forbidden)
					if len(ts[i].List) > 0 {
						wrong[i]++
					}
				}
			}
			numbers = append(numbers, uint64(n))
		}
	}
	p.put("joint", numbers...)
}

// TestRefusedRequests checks that a request out of order is answered by an error that says what was expected, and that the server
// goes on.
func TestRefusedRequests(t *testing.T) {
	p := start(t, envserve.Config{Envs: environments(t, 2), Version: "v1"})
	defer p.end()
	p.put("reset", 1)
	p.put("seeds", 1, 2)
	for _, c := range []struct {
		kind     envserve.Kind
		argument uint32
		want     string
	}{
		{envserve.Step, 0, "no episode has begun: call reset first"},
		{envserve.Render, 0, "there is no picture"},
		{envserve.Reset, 0, "reset some environments: no episode has begun"},
		{9, 0, "request of kind 9, want 1 to 6"},
		{envserve.SayHello, 7, "the parent speaks protocol 7, clustergym v1 speaks 3"},
		{envserve.Reset, 0, "the parent speaks protocol 7"},
	} {
		if status, text := p.call(c.kind, c.argument); status != 1 || !strings.Contains(text, c.want) {
			t.Errorf("request %d %d: status %d, %q, want an error with %q", c.kind, c.argument, status, text, c.want)
		}
	}
	p.done(envserve.SayHello, envserve.Protocol)
	p.put("reset", 1, 1)
	p.slot(envserve.Reset, 0)
	if status, text := p.call(envserve.Step, 2); status != 1 || !strings.Contains(text, "want 0 (actions) or 1 (joint)") {
		t.Errorf("status %d, %q", status, text)
	}
	p.slot(envserve.Step, 1)
	if got := p.done(envserve.Echo, 0x64636261); got != "abcd" {
		t.Errorf("the echo is %q", got)
	}
}

func TestRefusedConfigurations(t *testing.T) {
	toys := envtest.Toys()
	one := must.Get(toys[0].Make())(t)
	two := must.Get(toys[1].Make())(t)
	for want, cfg := range map[string]envserve.Config{
		"0 environments, want 1 to":              {},
		"environment 1 has 2 agents":             {Envs: []env.Env{one, two}},
		"autoreset(7)":                           {Envs: []env.Env{one}, Autoreset: 7},
		"environments, want 1 to 4096":           {Envs: make([]env.Env, envserve.MaxEnvs+1)},
		"with -1 workers, want a known mode and": {Envs: []env.Env{one}, Workers: -1},
	} {
		if _, err := envserve.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
