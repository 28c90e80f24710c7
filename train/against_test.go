package train

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
)

// opposed returns the settings of a tiny run against several baselines, one of them its prior and one fitted on training splits.
func opposed(tb testing.TB) (Config, Options) {
	tb.Helper()
	cfg, opt := tiny(tb)
	cfg.Against, opt.Given = "las,a-srpt:predictor=fitted,prior,sjfskip,srsf+know:seen=training", eval.Given
	return cfg, opt
}

// jct returns a baseline's sum of completion times on a window, in hours, as eval reports it.
func (r *run) jct(t *testing.T, src *scenario.Source, e *scenario.Episode, name string) float64 {
	t.Helper()
	if name == ownPrior {
		name = r.policy.Prior
	}
	s := must.Get(r.baseline(src, name))(t)
	run := must.Get(e.New())(t)
	must.Do(t, run.Run(t.Context(), s, 0))
	return eval.Measure(run.Log()).SumJCT / 3600
}

// TestAgainstIsWhatRivalsCost checks what updates by PPO and validations report about rivals against episodes that the rivals play.
func TestAgainstIsWhatRivalsCost(t *testing.T) {
	cfg, opt := opposed(t)
	cfg.Windows, cfg.Expert, opt.Dir = 1, 0, t.TempDir()
	r := must.Get(start(t.Context(), cfg, opt))(t)
	defer r.close()
	names := strings.Split(cfg.Against, ",")
	check := func(what string, got map[string]float64, best, team float64, costs []float64) {
		t.Helper()
		for i, name := range names {
			if want := team / costs[i]; math.Abs(got[name]-want) > 1e-9 {
				t.Errorf("%s: %v against %s, want %v", what, got[name], name, want)
			}
		}
		if want := team / slices.Min(costs); len(got) != len(names) || math.Abs(best-want) > 1e-9 {
			t.Errorf("%s: %v against the best, want %v; %v", what, best, want, got)
		}
	}
	leaders := map[string]bool{}
	for update := 1; update <= 4; update++ {
		m := &Metrics{Update: update}
		must.Get(r.gather(t.Context(), m))(t)
		src := r.sources[(update-1)%2]
		pick := rng.Stream(cfg.Seed, "train", "windows", strconv.Itoa(update))
		e, err := src.Episode(scenario.Train, pick.IntN(src.Count(scenario.Train)),
			rng.Derive(cfg.Seed, "train", "episode", strconv.Itoa(update), "0"))
		must.Do(t, err)
		var costs []float64
		for _, name := range names {
			costs = append(costs, r.jct(t, src, &e, name))
		}
		leaders[names[slices.Index(costs, slices.Min(costs))]] = true
		check("update "+strconv.Itoa(update), m.Against, m.Best, -m.Return, costs)
		if m.Against[ownPrior] != *m.Relative || m.Against["sjfskip"] != *m.Relative {
			t.Errorf("update %d: %v against the prior, want %v", update, m.Against, *m.Relative)
		}
	}
	if len(leaders) < 2 {
		t.Errorf("only %v were the best of a window: the test says little", leaders)
	}
	m := &Metrics{}
	must.Do(t, r.validate(t.Context(), m))
	for i, name := range names { // the untrained team decides as its prior
		prior, rival := map[*scenario.Source]float64{}, map[*scenario.Source]float64{}
		for k := range r.windows {
			x := &r.windows[k]
			e := must.Get(x.source.Episode(scenario.Validation, x.window, cfg.Seed))(t)
			prior[x.source] += r.jct(t, x.source, &e, ownPrior)
			rival[x.source] += r.jct(t, x.source, &e, name)
		}
		want := 0.0 // both scenarios have as many windows
		for src, sum := range rival {
			want += sum / prior[src]
		}
		want = float64(len(rival)) / want
		if got := m.ValidationAgainst[name]; math.Abs(got-want) > 1e-9 || m.ValidationBest < got {
			t.Errorf("validation %d: %v against %s, want %v and at most %v", i, got, name, want, m.ValidationBest)
		}
	}
	if m.ValidationAgainst[ownPrior] != *m.Validation {
		t.Errorf("validation: %v against the prior, want %v", m.ValidationAgainst, *m.Validation)
	}
}

// TestAgainstDividesAdvantages checks that the advantages of a scenario are divided by its best rivals' mean cost over windows, and
// only then.
func TestAgainstDividesAdvantages(t *testing.T) {
	of := func(figure float64) *curve { return &curve{total: figure, figure: figure} }
	rich, poor, idle := new(scenario.Source), new(scenario.Source), new(scenario.Source)
	of1 := func(src *scenario.Source, rivals ...*curve) window {
		group := []*rollout{{samples: []learn.Sample{{Gain: 12}, {Gain: -24}}}}
		return window{source: src, bars: bars{of(2), rivals}, group: group}
	}
	windows := []window{
		of1(rich, of(6), of(2)), of1(rich, of(4), of(9)), of1(poor, of(0.5)), of1(rich, of(0), of(9)), of1(poor, of(0)), of1(idle, of(0)),
	}
	relate(windows)
	for i, want := range []float64{6, 6, 48, 6, 48, 12} {
		if s := windows[i].group[0].samples; s[0].Gain != want || s[1].Gain != -2*want {
			t.Errorf("window %d: %v and %v, want %v", i, s[0].Gain, s[1].Gain, want)
		}
	}
	alone := []window{of1(rich), of1(poor)}
	if relate(alone); alone[0].group[0].samples[0].Gain != 12 {
		t.Errorf("without rivals: %v", alone[0].group[0].samples)
	}
	cfg, opt := opposed(t)
	cfg.Expert, cfg.Updates = 0, 1
	relative := mustRun(t, cfg, opt)
	opt.Dir, cfg.Against = filepath.Join(t.TempDir(), "run"), ""
	if plain := mustRun(t, cfg, opt); slices.Equal(plain.Params[0].Data, relative.Params[0].Data) {
		t.Error("relative advantages teach the same weights")
	}
}

// TestAgainstResumes checks that a run against baselines that is resumed equals one that is not, with all its files, that the
// event files have its metrics, and that a run without them writes nothing about them.
func TestAgainstResumes(t *testing.T) {
	cfg, opt := opposed(t)
	cfg.Candidates, cfg.Rivals = 8, "fifo,las"
	policy := mustRun(t, cfg, opt)
	other := fresh(t, opt)
	other.Workers, other.Clock = 2, func() time.Time { return time.Unix(1_700_000_000, 0) }
	other = halted(t, cfg, other, 4)
	sameWeights(t, mustRun(t, cfg, other), policy)
	same(t, other.Dir, opt.Dir)
	metrics, points, _, _ := watched(t, other.Dir)
	for i := range metrics {
		m := &metrics[i]
		drawn, valid := m.Update > cfg.Expert, m.Validation != nil
		if (len(m.Against) == 5) != drawn || (m.Best > 0) != drawn || (len(m.Proposed) == 2) != drawn || (len(m.Taken) == 2) != drawn ||
			(len(m.ValidationAgainst) == 5) != valid || (m.ValidationBest > 0) != valid || (len(m.ValidationProposed) == 2) != valid {
			t.Errorf("update %d reports %+v", m.Update, m)
		}
	}
	if v := points[point{"train/against/a-srpt:predictor=fitted", 4}]; v.Scalar == nil ||
		!strings.HasPrefix(v.Metadata.Description, "ratio: the same for each baseline") {
		t.Errorf("the event of a rival is %+v", v)
	}
	opt = fresh(t, opt)
	cfg.Against, cfg.Candidates, cfg.Rivals = "", 0, ""
	mustRun(t, cfg, opt)
	for name, text := range results(t, opt.Dir) {
		for _, word := range []string{"against", "relative_best", "validation_best", "proposed", "taken"} {
			if strings.HasSuffix(name, "json") && strings.Contains(string(text), word) || name == "run.yaml" &&
				strings.Contains(string(text), word+":") {
				t.Errorf("without rivals %s contains %q", name, word)
			}
		}
	}
}

// TestAgainstNeedsItsPast checks that baselines that must be fitted are refused without the training split, and that the error
// names the setting; and that maps are written in one order.
func TestAgainstNeedsItsPast(t *testing.T) {
	cfg, opt := opposed(t)
	opt.Given = nil
	if _, _, err := Run(t.Context(), cfg, opt); !errors.Is(err, baselines.ErrUnfitted) || !strings.Contains(err.Error(), "train.against: ") {
		t.Errorf("without the training split: error %v", err)
	}
	m := Metrics{Against: map[string]float64{"b": 1, "a": 2, "c": 3}}
	text, err := json.Marshal(m)
	if err != nil || !strings.Contains(string(text), `"against":{"a":2,"b":1,"c":3}`) {
		t.Errorf("metrics %s (%v), want names in order: %v", text, err, slices.Sorted(maps.Keys(m.Against)))
	}
}
