// Package compare compares training runs by what their folders tell: settings, metrics and times. The runs may be in progress.
// All figures are of validation windows, by which each run chose its weights; package eval compares policies on test windows.
package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/train"
)

// Run is a training run with what its folder tells.
type Run struct {
	*train.Folder
	Dir     string
	Seconds *float64 // wall-clock time that the run took so far; nil if the folder does not say
}

// Read reads the folder of a run, which may be in progress. The error wraps checkpoints.ErrNone if dir contains no run.
func Read(dir string) (*Run, error) {
	folder, err := train.ReadFolder(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Folder: folder, Dir: dir}
	r.Seconds, err = seconds(dir)
	return r, err
}

// settings returns the settings of the run as text, in the order of train.Config.
func (r *Run) settings() ([]setting, error) {
	holder := struct {
		Train train.Config `yaml:"train"`
	}{r.Recipe.Train}
	list, err := config.Read(strings.NewReader(""), "", &holder, config.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Dir, err)
	}
	var all []setting
	for _, s := range list {
		all = append(all, setting{strings.TrimPrefix(s.Key, "train."), fmt.Sprint(s.Value)})
	}
	began := "untrained"
	if b := r.Recipe.From; b != nil {
		began = fmt.Sprintf("%s %.12s", b.Policy, b.Digest)
	}
	return append(all, setting{"chosen prior", r.Recipe.Prior}, setting{"from", began}), nil
}

// setting is a setting of a run, without the prefix "train.".
type setting struct{ key, value string }

// timingName is the file in which a run records the time of its updates.
const timingName = "timing.jsonl"

// seconds returns the sum of the times of all sessions of the run: a session begins when the run begins or is resumed.
func seconds(dir string) (*float64, error) {
	text, err := os.ReadFile(filepath.Join(dir, timingName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read times: %w", err)
	}
	type entry struct {
		Update  int     `json:"update"`
		Seconds float64 `json:"wall_s"`
		Resumed bool    `json:"resumed"`
	}
	var sum float64
	var last entry
	for line := range bytes.Lines(text) {
		var e entry
		if json.Unmarshal(line, &e) != nil {
			continue // a killed run leaves an incomplete line
		}
		if e.Resumed || e.Update <= last.Update || e.Seconds < last.Seconds {
			sum += last.Seconds
		}
		last = e
	}
	sum += last.Seconds
	return &sum, nil
}
