package train

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/rng"
)

// Labels estimate what every candidate of a choice would save. The scout takes them while it plays as the prior, with few random
// departures, so they do not depend on what the team has learned. A run computes the labels of a window once and stores them; all
// updates share them, and so do all runs with the same label settings. The states are those that a team reaches if it seldom
// departs from its prior. Measurements showed that labels of states after many random departures teach the team to repair such
// states, and nothing else.
//
// A trained team departs often, and the states that it reaches differ: what was worth doing has been done. If Config.Along is
// alongTeam, every second window is played by the policy that the run began with, as it was, and the labels still compare each
// candidate with the prior's own, after which the prior plays on (DAgger; Ross et al., AISTATS 2011). The sum of what the team's
// choices then save is exactly what it saves over its prior (Kakade and Langford, ICML 2002).

// labels contains the labelled choices of the windows so far.
type labels struct {
	scout   *agents.Policy // an untrained team that departs from the prior at random
	team    *agents.Policy // plays every second window; nil for none
	cfg     *Config
	goal    goal
	sources [][]*scenario.Source                                  // by stage of the curriculum
	at      func(*scenario.Source, *agents.Policy) *agents.Policy // see run.at
	dirs    [][]string                                            // folder of labels of each source, by stage
	played  [][]string                                            // the same for windows that the team plays
	windows [][]learn.Sample                                      // by window number; nil for windows too old to learn from
	choices int                                                   // number of choices in windows
	ahead   int                                                   // the pool has been given the windows before this one
}

// labelsName is the default folder of a run's labels, within its folder.
const labelsName = "labels"

// newLabels returns the labels of a run. digests are the digests of its sources, by stage; dir is the folder that stores labels.
// beginner returns the policy that the run began with.
func newLabels(
	prior, dir string, r *run, digests [][]string, beginner func() (*agents.Policy, error),
) (*labels, error) {
	cfg := &r.cfg
	design := cfg.design("scout", prior)
	design.Margin = cfg.Explore
	init := rng.Stream(cfg.LabelSeed, "train", "scout")
	scout, err := design.Make(func(s agents.Shape) (agents.Params, error) { return agents.Init(s, init), nil })
	if err != nil {
		return nil, fmt.Errorf("make policy: %w", err)
	}
	l := &labels{scout: scout, cfg: cfg, sources: r.stages, at: r.at}
	if l.goal, err = cfg.goal(); err != nil {
		return nil, err
	}
	by := ""
	if cfg.Along == alongTeam {
		if r.beginning == nil {
			return nil, fmt.Errorf("train.along: %q without a policy to begin with", cfg.Along)
		}
		if l.team, err = beginner(); err != nil {
			return nil, err
		}
		by = r.beginning.Digest
	}
	for i, sources := range l.sources {
		dirs, played := make([]string, len(sources)), make([]string, len(sources))
		for k, src := range sources {
			for _, at := range []struct {
				dirs []string
				by   string
			}{{dirs, ""}, {played, by}} {
				key, err := labelsKey(cfg, prior, digests[i][k], at.by)
				if err != nil {
					return nil, err
				}
				at.dirs[k] = filepath.Join(dir, src.Scenario().Name+"-"+key)
			}
		}
		l.dirs, l.played = append(l.dirs, dirs), append(l.played, played)
	}
	return l, nil
}

// LabelsKey returns a key of the settings that labels depend on. Runs on the same scenarios with equal keys learn from the same
// labels, provided that they take the same prior of those that Prior lists.
func LabelsKey(cfg *Config) (string, error) {
	c := *cfg
	if err := c.Settle(); err != nil {
		return "", err
	}
	return labelsKey(&c, c.Prior, "", "")
}

// labelsKey returns a key for everything that the labels of a scenario depend on, except the program's version. The parameter
// digest identifies the scenario's jobs; by is the digest of the policy that plays, empty for the scout.
func labelsKey(cfg *Config, prior, digest, by string) (string, error) {
	encoder, err := observe.Named(cfg.Encoder, cfg.Window)
	if err != nil {
		return "", err
	}
	all := []any{
		"labels-4", prior, cfg.LabelSeed, cfg.Memory, cfg.Explore, cfg.Label, cfg.Encoder, encoder.Spec(), cfg.Objective,
		cfg.Candidates, cfg.Rivals, digest,
	}
	if cfg.Costs {
		all = append(all, "costs")
	}
	if cfg.Size.Joint {
		all = append(all, "joint", cfg.Pairs)
	}
	if cfg.estimates() {
		all = append(all, cfg.Tail)
	}
	if by != "" {
		all = append(all, "by", by)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("identify labels: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// extend appends windows until there are n. It reads labels from files where they exist and computes the others.
func (l *labels) extend(ctx context.Context, r *run, n int) error {
	from := len(l.windows)
	for len(l.windows) < n {
		more, err := l.further(ctx, r, min(n-len(l.windows), r.cfg.Windows))
		if err != nil {
			l.windows = l.windows[:from]
			return err
		}
		l.windows = append(l.windows, more...)
	}
	for _, w := range l.windows[from:] {
		l.choices += len(w)
	}
	for i := 0; l.choices > l.cfg.Replay && i < len(l.windows)-1; i++ {
		l.choices -= len(l.windows[i])
		l.windows[i] = nil
	}
	return nil
}

// draw returns at most cfg.Choices of the labelled choices, drawn uniformly, as samples to learn from.
func (l *labels) draw(r *rand.Rand) []learn.Sample {
	all := slices.Concat(l.windows...)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(len(all), l.cfg.Choices)]
	for i := range all {
		s := &all[i]
		s.Saved, s.Prior = slices.Clone(s.Saved), slices.Clone(s.Prior)
		usual := s.Usual()
		for k := range s.Prior { // replace the margin of the policy that played by the run's
			if k != usual {
				s.Prior[k] = -float32(l.cfg.Margin)
			}
		}
	}
	return all
}

// further returns the labelled choices of the next n windows. It reads them from files, and has the windows played that have no
// file.
func (l *labels) further(ctx context.Context, r *run, n int) ([][]learn.Sample, error) {
	from, found := len(l.windows), make([][]learn.Sample, n)
	lacking, err := l.stored(ctx, r, from, found)
	if err != nil || len(lacking) == 0 {
		return found, err
	}
	if r.opt.Pool != nil {
		if err := l.elsewhere(ctx, r, lacking, from+n); err != nil {
			return nil, err
		}
		if lacking, err = l.stored(ctx, r, from, found); err == nil && len(lacking) > 0 {
			err = fmt.Errorf("labels of window %d were stored, and are missing or damaged", lacking[0])
		}
		return found, err
	}
	players := make([]*player, len(lacking))
	err = r.each(ctx, len(lacking), func(i int) (err error) {
		players[i], err = l.player(lacking[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, playAll(ctx, players, r.opt.Workers, func(i int, out *rollout) error {
		found[lacking[i]-from] = out.labelled()
		return l.write(l.path(lacking[i]), out.samples)
	})
}

// stored reads the choices of the windows after the first from that are not in found yet. It returns the numbers of the windows
// that have no file, or a damaged one.
func (l *labels) stored(ctx context.Context, r *run, from int, found [][]learn.Sample) (lacking []int, err error) {
	lacks := make([]bool, len(found))
	err = r.each(ctx, len(found), func(i int) (err error) {
		if found[i] != nil {
			return nil
		}
		found[i], err = l.read(l.path(from + i))
		if lacks[i] = errors.Is(err, fs.ErrNotExist) || errors.Is(err, checkpoints.ErrDamaged); err != nil && !lacks[i] {
			return fmt.Errorf("read labels: %w", err)
		}
		return nil
	})
	for i := range lacks {
		if lacks[i] {
			lacking = append(lacking, from+i)
		}
	}
	return lacking, err
}

// labelled returns the labelled choices. It removes the scout's actions, which do not matter and are not stored.
func (r *rollout) labelled() []learn.Sample {
	for k := range r.samples {
		r.samples[k].Action, r.samples[k].LogProb = 0, 0
	}
	return r.samples
}

// path returns the file of the n-th window. Windows take the scenarios in turn.
func (l *labels) path(n int) string {
	dirs := l.dirs[l.stage(n)]
	if l.byTeam(n) {
		dirs = l.played[l.stage(n)]
	}
	return filepath.Join(dirs[n%len(dirs)], l.name(n)+".safetensors")
}

// name returns the number of the n-th window among those of its scenario, as text.
func (l *labels) name(n int) string { return fmt.Sprintf("%06d", n/len(l.sources[0])) }

// stage returns the stage of the curriculum in which the n-th window is labelled.
func (l *labels) stage(n int) int { return l.cfg.stage(n/l.cfg.Windows + 1) }

// byTeam reports whether the team plays the n-th window: every second one of a scenario.
func (l *labels) byTeam(n int) bool { return l.team != nil && n/len(l.sources[0])%2 == 1 }

// player returns the player that labels the n-th window.
func (l *labels) player(n int) (*player, error) {
	sources, name := l.sources[l.stage(n)], l.name(n)
	src := sources[n%len(sources)]
	draw := rng.Stream(l.cfg.LabelSeed, "train", "labels", name)
	seed := rng.Derive(l.cfg.LabelSeed, "train", "labels", name)
	e, err := src.Episode(scenario.Train, draw.IntN(src.Count(scenario.Train)), seed)
	if err != nil {
		return nil, err
	}
	p := l.scout
	if l.byTeam(n) {
		p = l.team
	}
	g, err := newPlayer(l.at(src, p), e.Episode, l.goal, l.cfg.Label, draw)
	if err != nil {
		return nil, err
	}
	if l.byTeam(n) {
		g.team.Explore(nil, 1)
	}
	g.pairs = l.cfg.Pairs
	if l.cfg.estimates() {
		g.ends(l.cfg)
	}
	return g, nil
}

// lasting is the horizon of labels in units of memory: after that time, the discount leaves less than a three-thousandth.
const lasting = 8

// horizon returns how long after a decision its consequences are simulated.
func horizon(memory time.Duration) time.Duration {
	if memory > math.MaxInt64/lasting {
		return math.MaxInt64
	}
	return lasting * memory
}
