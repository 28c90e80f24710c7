package train

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
)

// TestLabelsAlongATeamAddUp checks that what a team's choices save by their labels, discounted to the beginning of the episode,
// is what the team saves over its prior in the whole episode (Kakade and Langford, ICML 2002, lemma 6.1), and that unseen finds the
// same choices.
func TestLabelsAlongATeamAddUp(t *testing.T) {
	const memory = 2 * time.Hour
	for _, x := range exacts() {
		for seed := range x.seeds {
			p, draw := untrained(t, x.prior, 12), rand.New(rand.NewPCG(seed, 9))
			p.Margin = 1e-3
			for _, w := range p.Params {
				for i := range w.Data {
					w.Data[i] += float32(draw.NormFloat64()) / 4
				}
			}
			episode := sim.Episode{Config: x.rules, Jobs: x.jobs(60, seed)}
			g := must.Get(newPlayer(p, episode, flow(memory), 1, draw))(t)
			g.team.Explore(nil, 1)
			must.Do(t, playAll(t.Context(), []*player{g}, 1, func(int, *rollout) error { return nil }))
			c := must.Get(flow(memory).follow(agents.NewPrior(&p.Setting), episode))(t)
			saved, once, departed := 0.0, 0.0, 0
			for i, s := range g.out.samples {
				usual := s.Usual()
				saved += fade(g.out.steps[i].at, memory) * (s.Saved[s.Action] - s.Saved[usual])
				once += s.Saved[s.Action] - s.Saved[usual]
				if s.Action != usual {
					departed++
				}
			}
			want := c.from(0) - g.out.curve.from(0)
			if departed < 10 || math.Abs(saved-want) > 1e-6*c.from(0) {
				t.Errorf("%s: %d choices save %.9f job-hours by their labels, want %.9f", x.prior, departed, saved, want)
			}
			once /= float64(len(g.out.samples))
			if got := unseen(p, g.out.samples, p.Margin); math.Abs(got-once) > 1e-9 {
				t.Errorf("%s: by its bids the team saves %v job-hours a decision, by its choices %v", x.prior, got, once)
			}
		}
	}
}

// TestLabelsAlongATeam checks that a run along the team takes every second window of a scenario from the labels of the prior,
// which it shares, and plays the others by the policy that it began with; that it needs one; and that it resumes exactly.
func TestLabelsAlongATeam(t *testing.T) {
	from, cfg, opt := taught(t)
	cfg.Updates, cfg.Expert, cfg.Windows = 4, 4, 2
	plainRun := fresh(t, opt)
	plainRun.Labels = filepath.Join(t.TempDir(), "labels")
	mustRun(t, cfg, plainRun)
	before := files(t, plainRun.Labels)

	cfg.Along = alongTeam
	without := fresh(t, opt)
	without.From = nil
	if _, _, err := Run(t.Context(), cfg, without); err == nil || !strings.Contains(err.Error(), "train.along") {
		t.Errorf("without a policy to begin with: error %v", err)
	}
	whole := fresh(t, opt)
	whole.Labels = plainRun.Labels
	mustRun(t, cfg, whole)
	after := files(t, whole.Labels)
	own := 0
	for name, text := range after {
		if old, ok := before[name]; ok {
			if old != text {
				t.Errorf("%s changed", name)
			}
			continue
		}
		own++
		if n := filepath.Base(name); n[5]%2 != 1 {
			t.Errorf("the team played window %s, want only the odd ones", n)
		}
	}
	if own != 4 {
		t.Errorf("the team played %d windows, want 4 of 8", own)
	}

	stopped := halted(t, cfg, fresh(t, opt), 2)
	stopped.From = nil
	mustRun(t, cfg, stopped)
	want, got := results(t, whole.Dir), results(t, stopped.Dir)
	for name := range want {
		if !strings.HasPrefix(name, labelsName) && string(got[name]) != string(want[name]) {
			t.Errorf("%s differs after the run was resumed", name)
		}
	}
	if p, _, err := Open(whole.Dir, cfg.Table, nil); err != nil || p.Shape != from.Policy.Shape {
		t.Errorf("open: %v", err)
	}
}

// TestTheTeamActsGreedilyAlongItself checks that the windows along the team are those that the policy plays when it decides.
func TestTheTeamActsGreedilyAlongItself(t *testing.T) {
	from, cfg, opt := taught(t)
	cfg.Along, cfg.Label, cfg.LabelSeed = alongTeam, 0.01, 5
	r := must.Get(start(t.Context(), cfg, opt))(t)
	defer r.close()
	for _, n := range []int{1, 3} {
		g := must.Get(r.labels.player(n))(t)
		must.Do(t, playAll(t.Context(), []*player{g}, 1, func(int, *rollout) error { return nil }))
		name := r.labels.name(n)
		draw := rng.Stream(cfg.LabelSeed, "train", "labels", name)
		e, err := r.sources[0].Episode(scenario.Train, draw.IntN(r.sources[0].Count(scenario.Train)),
			rng.Derive(cfg.LabelSeed, "train", "labels", name))
		must.Do(t, err)
		want := must.Get(r.goal.follow(agents.NewTeam(from.Policy), e.Episode))(t)
		if got := g.out.curve.total; got != want.total {
			t.Errorf("window %d costs %v job-hours while it is labelled, want %v", n, got, want.total)
		}
	}
}

// files reads all files of a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	names := must.Get(filepath.Glob(filepath.Join(dir, "*", "*.safetensors")))(t)
	for _, name := range names {
		text := must.Get(os.ReadFile(name))(t)
		all[name] = string(text)
	}
	return all
}
