package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/train/recipe"
)

// runFiles gives access to the files of a run.
type runFiles struct {
	dir       string
	store     *checkpoints.Store
	recipe    Recipe
	scenarios []*scenario.Scenario
}

const (
	metricsName = "metrics.jsonl"
	timingName  = "timing.jsonl"
	storeName   = "checkpoints"
)

// openRunFiles creates the files of a new run, or checks that a resumed run has the same recipe. The folder must be locked.
func openRunFiles(
	cfg *Config, prior string, from *Beginning, opt Options, sources []*scenario.Source, digests []string, stages []recipe.Workload,
) (*runFiles, error) {
	r := Recipe{Train: *cfg, Prior: prior, From: from, Stages: stages}
	var scenarios []*scenario.Scenario
	for i, src := range sources {
		r.Workloads = append(r.Workloads, recipe.Of(src, digests[i]))
		scenarios = append(scenarios, src.Scenario())
	}
	if err := recipe.Put(opt.Dir, r, scenarios, opt.Resume); err != nil {
		return nil, err
	}
	store, err := checkpoints.OpenStore(filepath.Join(opt.Dir, storeName), checkpoints.StoreOptions{Keep: cfg.Keep})
	if err != nil {
		return nil, err
	}
	return &runFiles{opt.Dir, store, r, scenarios}, nil
}

// replan replaces the settings in the recipe of the run.
func (r *runFiles) replan(cfg *Config) error {
	r.recipe.Train = *cfg
	return recipe.Replace(r.dir, r.recipe, r.scenarios)
}

// state is the metadata of a checkpoint, stored with its tensors.
type state struct {
	Update    int          `json:"update"`
	Steps     int64        `json:"adam_steps"`
	Best      *float64     `json:"best_validation,omitempty"`
	Margin    float64      `json:"best_margin,omitempty"` // margin of the best policy
	After     int          `json:"best_update,omitempty"` // update of the best policy; only with Config.Patience
	Start     *float64     `json:"start_validation,omitempty"`
	StartKept bool         `json:"start_kept,omitempty"`
	Critic    *criticState `json:"critic,omitempty"` // nil without a learned critic
}

// save stores a checkpoint of the run.
func (r *run) save() error {
	st := state{Update: r.update, Steps: r.learner.adam.Steps, Start: r.startJCT, StartKept: r.startKept}
	tensors := append(r.policy.Params.Tensors(), r.learner.adam.Tensors()...)
	tensors = append(tensors, r.policy.Range.Tensors()...)
	var own []checkpoints.Tensor
	st.Critic, own = r.central.state()
	tensors = append(tensors, own...)
	if !math.IsInf(r.topJCT, 1) {
		st.Best, st.Margin = &r.topJCT, r.topMargin
		if r.cfg.Patience > 0 {
			st.After = r.topUpdate
		}
		for _, t := range r.top.Tensors() {
			t.Name = bestPrefix + t.Name
			tensors = append(tensors, t)
		}
	}
	return r.files.store.Save(r.update, st, tensors)
}

const bestPrefix = "best."

// restore loads the newest usable checkpoint and removes metrics of later updates. found is false for a run that was killed
// before its first checkpoint.
func (r *run) restore() (found bool, err error) {
	c, found, err := newest(r.files.store, r.opt.Older)
	if !found && errors.Is(err, checkpoints.ErrNone) {
		_, err := r.files.rewind(0)
		return false, err
	}
	if err == nil {
		err = r.load(c)
	}
	if err != nil {
		return true, fmt.Errorf("resume %s: %w", r.files.dir, err)
	}
	r.resumed = true
	last, err := r.files.rewind(r.update)
	if err == nil && last != nil && r.opt.Progress != nil {
		r.opt.Progress(last)
	}
	return true, err
}

// load restores the run's state from a checkpoint.
func (r *run) load(c checkpoints.Checkpoint) error {
	st, params, top, err := unpack(r.policy.Shape, c)
	if err != nil {
		return err
	}
	for i := range params {
		copy(r.policy.Params[i].Data, params[i].Data)
	}
	if r.policy.Range, err = agents.RangeFrom(r.policy.Shape, c.Tensors); err != nil {
		return err
	}
	r.update, r.startJCT, r.startKept = st.Update, st.Start, st.StartKept
	if top != nil {
		r.top, r.topJCT, r.topMargin, r.topUpdate = top, *st.Best, st.Margin, st.After
	}
	if err := r.central.load(st.Critic, c.Tensors); err != nil {
		return err
	}
	return r.learner.adam.Load(c.Tensors, st.Steps)
}

// unpack reads the weights of a checkpoint. top is nil if there was no validation.
func unpack(s agents.Shape, c checkpoints.Checkpoint) (st state, params, top agents.Params, err error) {
	if err = json.Unmarshal(c.Meta, &st); err != nil {
		return st, nil, nil, fmt.Errorf("checkpoint %d: %w", c.Step, err)
	}
	if params, err = agents.FromTensors(s, c.Tensors); err != nil || st.Best == nil {
		return st, params, nil, err
	}
	var best []checkpoints.Tensor
	for _, t := range c.Tensors {
		if name, ok := strings.CutPrefix(t.Name, bestPrefix); ok {
			t.Name = name
			best = append(best, t)
		}
	}
	top, err = agents.FromTensors(s, best)
	return st, params, top, err
}

// record appends the update's metrics and, with a clock, its time and its events. It stores a checkpoint if one is due.
func (r *run) record(m *Metrics) error {
	if err := r.files.append(metricsName, m); err != nil {
		return err
	}
	due := r.cfg.due(m.Update)
	if r.opt.Clock != nil {
		now := r.opt.Clock()
		line := struct {
			Update  int     `json:"update"`
			Seconds float64 `json:"wall_s"` // since the run began or was resumed
			Resumed bool    `json:"resumed,omitempty"`
		}{m.Update, now.Sub(r.began).Seconds(), r.resumed}
		r.resumed = false
		if err := r.files.append(timingName, line); err != nil {
			return err
		}
		if due {
			r.watch.weights(r.policy.Params)
		}
		if err := r.watch.record(m, now); err != nil {
			return err
		}
	}
	if !due {
		return nil
	}
	return r.save()
}

func (r *runFiles) append(name string, line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	// Sync, because a checkpoint that survives a power failure needs the lines before it.
	return errors.Join(err, f.Sync(), f.Close())
}

// rewind reduces metrics.jsonl to the first n updates, with one line for each, in order, and returns the last of them. If an
// update has several lines, rewind keeps the last: the resumed run wrote it.
func (r *runFiles) rewind(n int) (last *Metrics, err error) {
	path := filepath.Join(r.dir, metricsName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rewind metrics: %w", err)
	}
	kept := make([][]byte, n)
	for line := range bytes.Lines(text) {
		var m Metrics
		whole := line[len(line)-1] == '\n' && json.Unmarshal(line, &m) == nil
		if !whole || m.Update < 1 || m.Update > n {
			continue
		}
		kept[m.Update-1] = line
		if m.Update == n {
			last = &m
		}
	}
	for i, line := range kept {
		if line == nil {
			return nil, fmt.Errorf("rewind %s: no line of update %d, want those of the %d updates before the checkpoint", path, i+1, n)
		}
	}
	return last, atomicfile.WriteBytes(path, 0o666, bytes.Join(kept, nil))
}
