package checkpoints

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/internal/atomicfile"
)

const (
	checkpointKind   = "clustergym-checkpoint"
	checkpointSchema = 1
	manifestName     = "manifest.json"
	metaName         = "meta.json"
	tensorsName      = "tensors.safetensors"
	stepPrefix       = "step-"
)

// StoreOptions configure a Store. The zero value keeps every checkpoint.
type StoreOptions struct {
	Keep   int    // number of good checkpoints to keep, the newest ones; 0 keeps all
	Limits Limits // limits for reading
}

// Store is a folder of training checkpoints, each in a folder such as step-000123. A checkpoint is either complete or absent,
// even after a kill at any time. Only one process may write to a store at a time; any number may read.
type Store struct {
	dir    string
	keep   int
	limits Limits
}

// Checkpoint is the state of a training run after a step.
type Checkpoint struct {
	Step    int
	Meta    json.RawMessage // JSON of the meta given to Save
	Tensors []Tensor        // in the order given to Save; owned by the caller
}

// Skipped is a checkpoint that could not be used, with the reason.
type Skipped struct {
	Step int
	Err  error // the error contains the step
}

// stepManifest lists the files of a checkpoint's folder.
type stepManifest struct {
	envelope
	Step  int          `json:"step"`
	Files []fileDigest `json:"files"`
}

type fileDigest struct {
	Name   string `json:"name"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
}

// OpenStore opens the store in the folder dir and creates the folder if necessary. It removes incomplete checkpoints of killed
// writers.
func OpenStore(dir string, opts StoreOptions) (*Store, error) {
	if opts.Keep < 0 {
		return nil, fmt.Errorf("open checkpoints %s: keep %d, want 0 for all or more", dir, opts.Keep)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("open checkpoints: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open checkpoints: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && atomicfile.IsTemp(e.Name()) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return nil, fmt.Errorf("remove half-written checkpoint: %w", err)
			}
		}
	}
	return &Store{dir, opts.Keep, opts.Limits.withDefaults()}, nil
}

// ViewStore opens the store in dir for reading only, even while a run writes to it. It removes nothing.
func ViewStore(dir string, limits Limits) (*Store, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open checkpoints: %w", err)
	}
	return &Store{dir: dir, limits: limits.withDefaults()}, nil
}

// Save writes the checkpoint of a step, replaces an existing one of the same step, and then removes old checkpoints. meta must be
// encodable as JSON. Equal arguments give equal bytes.
func (s *Store) Save(step int, meta any, tensors []Tensor) error {
	if step < 0 {
		return fmt.Errorf("save checkpoint: step %d is negative", step)
	}
	metaJSON, err := json.Marshal(meta)
	if err != nil {
		return fmt.Errorf("save checkpoint %d: meta: %w", step, err)
	}
	err = atomicfile.WriteDir(s.path(step), func(dir string) error {
		m := stepManifest{Step: step}
		if err := m.add(dir, metaName, func(w io.Writer) error { _, err := w.Write(metaJSON); return err }); err != nil {
			return err
		}
		if err := m.add(dir, tensorsName, func(w io.Writer) error { return WriteTensors(w, tensors, nil) }); err != nil {
			return err
		}
		b, err := encodeManifest(&m, checkpointKind, checkpointSchema)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, manifestName), b, 0o666)
	})
	if err != nil {
		return fmt.Errorf("save checkpoint %d: %w", step, err)
	}
	return s.prune(step)
}

// add writes a file to dir and appends its digest to the manifest.
func (m *stepManifest) add(dir, name string, write func(io.Writer) error) error {
	size, sum, err := writeHashed(filepath.Join(dir, name), write)
	m.Files = append(m.Files, fileDigest{name, size, sum})
	return err
}

// steps lists the steps that have a folder, in ascending order, whether good or damaged.
func (s *Store) steps() ([]int, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	var steps []int
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), stepPrefix)
		step, err := strconv.Atoi(digits)
		if ok && err == nil && step >= 0 && e.IsDir() && filepath.Base(s.path(step)) == e.Name() {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	return steps, nil
}

// Latest returns the newest good checkpoint and the newer ones that it skipped, with reasons. If there is no good checkpoint, the
// error wraps ErrNone and lists the skipped ones.
func (s *Store) Latest() (Checkpoint, []Skipped, error) {
	steps, err := s.steps()
	if err != nil {
		return Checkpoint{}, nil, err
	}
	var skipped []Skipped
	for _, step := range slices.Backward(steps) {
		c, err := s.Load(step)
		if err == nil {
			return c, skipped, nil
		}
		skipped = append(skipped, Skipped{step, err})
	}
	return Checkpoint{}, skipped, fmt.Errorf("find latest checkpoint in %s: %w%s", s.dir, ErrNone, Reasons(skipped))
}

// Reasons returns the errors of the skipped checkpoints, one per line.
func Reasons(skipped []Skipped) string {
	var b strings.Builder
	for _, s := range skipped {
		fmt.Fprintf(&b, "\n  %v", s.Err)
	}
	return b.String()
}

// Load verifies every byte of a step's checkpoint and returns the checkpoint.
func (s *Store) Load(step int) (Checkpoint, error) {
	c, err := s.load(step)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("load checkpoint %d: %w", step, err)
	}
	return c, nil
}

func (s *Store) load(step int) (Checkpoint, error) {
	if _, err := os.Stat(s.path(step)); err != nil {
		return Checkpoint{}, err
	}
	files, err := s.verify(step)
	if err != nil {
		return Checkpoint{}, err
	}
	tensors, _, err := ReadTensors(files[tensorsName], s.limits)
	if err != nil {
		return Checkpoint{}, err
	}
	return Checkpoint{Step: step, Meta: files[metaName], Tensors: tensors}, nil
}

// verify reads the files of a step, checks them against its manifest and returns their contents by name.
func (s *Store) verify(step int) (map[string][]byte, error) {
	fsys := os.DirFS(s.path(step))
	b, err := readFile(fsys, manifestName, int64(s.limits.Header))
	if err != nil {
		return nil, missingIsDamage(err)
	}
	var m stepManifest
	if err := decodeManifest(b, &m, checkpointKind, checkpointSchema); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	if m.Step != step || len(m.Files) != 2 || m.Files[0].Name != metaName || m.Files[1].Name != tensorsName {
		return nil, fmt.Errorf("%s: describes step %d with %d files: %w", manifestName, m.Step, len(m.Files), ErrDamaged)
	}
	files := map[string][]byte{}
	for _, f := range m.Files {
		b, err := readFile(fsys, f.Name, s.limits.Bytes)
		if err != nil {
			return nil, missingIsDamage(err)
		}
		if sum := hash(b); len(b) != f.Size || sum != f.SHA256 {
			return nil, fmt.Errorf("%s: %d bytes with SHA-256 %s, want %d with %s: %w",
				f.Name, len(b), sum, f.Size, f.SHA256, ErrDamaged)
		}
		files[f.Name] = b
	}
	return files, nil
}

// prune removes checkpoints older than the newest s.keep good ones. Damaged checkpoints do not count; they stay while they are
// newer than a kept one, so a good checkpoint is never removed in favour of a damaged one. The step just saved always stays.
func (s *Store) prune(saved int) error {
	if s.keep == 0 {
		return nil
	}
	steps, err := s.steps()
	if err != nil {
		return err
	}
	good := 0
	for _, step := range slices.Backward(steps) {
		if good >= s.keep {
			if step == saved {
				continue
			}
			if err := s.remove(step); err != nil {
				return fmt.Errorf("prune checkpoint %d: %w", step, err)
			}
			continue
		}
		if _, err := s.verify(step); err == nil {
			good++
		}
	}
	return nil
}

// remove first renames a checkpoint to a temporary name, so that a kill leaves nothing that looks like a checkpoint.
func (s *Store) remove(step int) error {
	doomed := atomicfile.TempName(s.path(step))
	if err := os.Rename(s.path(step), doomed); err != nil {
		return err
	}
	return os.RemoveAll(doomed)
}

func (s *Store) path(step int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s%06d", stepPrefix, step))
}

// missingIsDamage wraps the error of a missing file with ErrDamaged.
func missingIsDamage(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
