package envserve_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envserve"
	"github.com/clustergym/clustergym/internal/must"
)

// random writes numbers, of which some are forbidden, as the actions of all environments or of all their agents.
func random(t *rapid.T, by uint32, to ...*parent) {
	p := to[0]
	name, n := "actions", p.hello.Envs
	if by == 1 {
		name, n = "joint", n*p.hello.Agents
	}
	numbers := rapid.SliceOfN(rapid.Uint64Range(0, uint64(p.hello.Candidates)), n, n).Draw(t, name)
	for _, p := range to {
		p.put(name, numbers...)
	}
}

// begun resets the environments whose episode is over until none is, where nothing else does it, and returns the slot that shows them.
func begun(slot int, mode env.Autoreset, p *parent) {
	for seed := uint64(1); mode == env.Disabled; seed++ {
		reset := make([]uint64, p.hello.Envs)
		for i := range reset {
			if p.row("terminated", slot, i)[0] != 0 || p.row("truncated", slot, i)[0] != 0 {
				reset[i] = 1
			}
		}
		if !slices.Contains(reset, 1) {
			break
		}
		p.put("reset", reset...)
		p.put("seeds", slices.Repeat([]uint64{seed}, len(reset))...)
		slot = p.slot(envserve.Reset, 0)
	}
}

// TestSavedEnvironmentsGoOn saves environments after some steps, restores others from it, and plays the same on both: they show the
// same, in every mode, over the ends of episodes.
func TestSavedEnvironmentsGoOn(t *testing.T) {
	shown := []string{"servers", "jobs", "candidates", "cluster", "mask", "legal", "shown", "coalition", "of", "prior", "now"}
	told := []string{"reward", "rewards", "elapsed", "taken", "refused", "illegal", "terminated", "truncated", "ended"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "environments")
		mode := rapid.SampledFrom([]env.Autoreset{env.SameStep, env.NextStep, env.Disabled}).Draw(t, "autoreset")
		p := start(t, envserve.Config{Envs: environments(t, n), Autoreset: mode})
		defer p.end()
		p.put("seeds", rapid.SliceOfN(rapid.Uint64Range(1, 5), n, n).Draw(t, "seeds")...)
		p.put("reset", slices.Repeat([]uint64{1}, n)...)
		slot := p.slot(envserve.Reset, 0)
		for range rapid.IntRange(0, 30).Draw(t, "steps before") {
			by := rapid.Uint32Range(0, 1).Draw(t, "by")
			begun(slot, mode, p)
			random(t, by, p)
			slot = p.slot(envserve.Step, by)
		}
		q := start(t, envserve.Config{Envs: environments(t, n), Autoreset: mode}, p.done(envserve.Save, 0))
		defer q.end()
		own, names := 0, shown
		for range rapid.IntRange(1, 20).Draw(t, "steps after") {
			for _, name := range names {
				for i := range n {
					if a, b := p.row(name, slot, i), q.row(name, own, i); !slices.Equal(a, b) {
						t.Fatalf("%s of environment %d: %v, the copy has %v", name, i, a, b)
					}
				}
			}
			names = append(slices.Clone(shown), told...)
			by := rapid.Uint32Range(0, 1).Draw(t, "by")
			begun(slot, mode, p)
			begun(own, mode, q)
			random(t, by, p, q)
			slot, own = p.slot(envserve.Step, by), q.slot(envserve.Step, by)
		}
		if a, b := p.done(envserve.Save, 0), q.done(envserve.Save, 0); a != b {
			t.Fatalf("saved again: %s, the copy %s", a, b)
		}
	})
}

// TestWhatCannotBeRestored checks that a text that no server has saved is refused with the reason, and that one from before the first
// reset restores that.
func TestWhatCannotBeRestored(t *testing.T) {
	p := start(t, envserve.Config{Envs: environments(t, 1)}, "[]")
	if status, text := p.call(envserve.Step, 0); status != 1 || !strings.Contains(text, "call reset first") {
		t.Errorf("a step before the first reset: %d, %s", status, text)
	}
	if got := p.done(envserve.Save, 0); got != "[]" {
		t.Errorf("saved before the first reset: %s", got)
	}
	p.end()
	for text, want := range map[string]string{
		"":                                "unexpected end of JSON",
		"[{}, {}]":                        "2 were saved, want the 1 that are served",
		`[{"seed":1,"steps":"gA=="}]`:     "cut short",
		`[{"seed":1,"steps":"AQ=="}]`:     "cut short",
		`[{"seed":1,"steps":"AQkB"}]`:     "an agent that there is not",
		`[{"seed":1,"steps":"AQD//38="}]`: "want", // a number beyond the list
		`[{"seed":0,"steps":"AAAA"}]`:     "beyond the episode",
	} {
		s := must.Get(envserve.New(envserve.Config{Envs: environments(t, 1)}))(t)
		must.Do(t, s.Attach(make([]byte, s.Size())))
		if err := s.Restore([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "restore environment") {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
