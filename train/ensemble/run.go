package ensemble

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/atomicfile"
)

// Names of files in the folder of a run.
const (
	MetricsName = "metrics.jsonl"
	ONNXName    = "network.onnx" // the network as an ONNX model
	CardName    = "README.md"    // what describes the network
	storeName   = "checkpoints"
)

// Options say where a fit is stored. They do not affect its result.
type Options struct {
	Dir      string         // folder of the run
	Resume   bool           // go on from the newest checkpoint; without it Dir must not contain a run
	Progress func(*Metrics) // called after each epoch, and for the earlier ones of a resumed run; may be nil
}

// state is the metadata of a checkpoint.
type state struct {
	Metrics []Metrics `json:"metrics"`
	Done    int       `json:"done"` // members
	Epoch   int       `json:"epoch"`
	Since   int       `json:"since"`
	Loss    float64   `json:"loss"`
	Steps   int64     `json:"adam_steps"`
}

// Run makes the epochs that are left, and stores a checkpoint after each. If ctx ends first, Run returns its error, and the
// epochs before that can be resumed.
func (f *Fit[M]) Run(ctx context.Context, opt Options) error {
	store, err := checkpoints.OpenStore(filepath.Join(opt.Dir, storeName), checkpoints.StoreOptions{Keep: 2})
	if err != nil {
		return err
	}
	var all []Metrics
	if opt.Resume {
		c, skipped, err := store.Latest()
		if len(skipped) > 0 {
			return fmt.Errorf("resume %s: remove the damaged checkpoints to go on from an older one:%s", opt.Dir,
				checkpoints.Reasons(skipped))
		}
		if err == nil {
			all, err = f.load(c)
		} else if errors.Is(err, checkpoints.ErrNone) { // killed before the first
			err = nil
		}
		if err != nil {
			return fmt.Errorf("resume %s: %w", opt.Dir, err)
		}
	}
	tell := func(m *Metrics) {
		if opt.Progress != nil {
			opt.Progress(m)
		}
	}
	for i := range all {
		tell(&all[i])
	}
	for !f.Finished() {
		m, err := f.Next(ctx)
		if err != nil {
			return err
		}
		all = append(all, *m)
		st := state{all, len(f.Done), f.epoch, f.since, f.loss, f.adam.Steps}
		if err := store.Save(len(all), st, f.tensors()); err != nil {
			return err
		}
		if err := writeMetrics(opt.Dir, all); err != nil {
			return err
		}
		tell(m)
	}
	return writeMetrics(opt.Dir, all)
}

// writeMetrics writes one line for each epoch.
func writeMetrics(dir string, all []Metrics) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range all {
		if err := enc.Encode(&all[i]); err != nil {
			return fmt.Errorf("write metrics: %w", err)
		}
	}
	return atomicfile.WriteBytes(filepath.Join(dir, MetricsName), 0o666, b.Bytes())
}

// Write writes a network, which writes itself, into the folder of a run, with its ONNX model and the card that describes it.
func Write(dir string, net interface{ Write(dir string) error }, model, card []byte) error {
	if err := net.Write(dir); err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, ONNXName), 0o666, model); err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, CardName), 0o666, card)
}

// tensors returns the state of the fit, apart from its metadata.
func (f *Fit[M]) tensors() []checkpoints.Tensor {
	all := append(f.member.Tensors("now"), f.best.Tensors("best")...)
	for i, m := range f.Done {
		all = append(all, m.Tensors(strconv.Itoa(i))...)
	}
	return append(all, f.adam.Tensors()...)
}

// load restores the state of a fit from a checkpoint.
func (f *Fit[M]) load(c checkpoints.Checkpoint) ([]Metrics, error) {
	var st state
	err := json.Unmarshal(c.Meta, &st)
	if err == nil && (st.Done < 0 || st.Done > f.Settings.Members) {
		err = fmt.Errorf("%d members are done, want at most %d", st.Done, f.Settings.Members)
	}
	read := func(m *M, prefix string) {
		if err == nil {
			*m, err = f.Read(c.Tensors, prefix)
		}
	}
	f.Done = make([]M, min(max(st.Done, 0), f.Settings.Members))
	for i := range f.Done {
		read(&f.Done[i], strconv.Itoa(i))
	}
	read(&f.member, "now")
	read(&f.best, "best")
	if err == nil {
		err = f.adam.Load(c.Tensors, st.Steps)
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint %d: %w", c.Step, err)
	}
	f.epoch, f.since, f.loss = st.Epoch, st.Since, st.Loss
	return st.Metrics, nil
}
