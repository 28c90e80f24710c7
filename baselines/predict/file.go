package predict

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/baselines/forest"
)

// magic begins a file and contains its version. After it come the kind of the predictor, what it has learned (tables in
// ascending order of their keys), and the SHA-256 of all that. Numbers are little endian and of fixed size; strings and lists
// begin with their length.
const magic = "clustergym predictor 1\n"

// maxBytes is the largest size of a file to write or read.
const maxBytes = 128 << 20

// The largest absolute logarithm of iterations or seconds, and the largest run time.
const (
	mostLog     = 1000
	mostSeconds = 1e30
)

// ErrFormat is wrapped by the errors of load about a file that Save did not write, or that is damaged, of another version, or
// beyond a limit.
var ErrFormat = errors.New("not a predictor that can be read")

// Save writes a predictor with everything that it has learned, for load. It leaves out jobs that were predicted and not yet
// observed; such jobs should have ended. It returns an error for a predictor of another package. Equal predictors give equal
// bytes.
func Save(w io.Writer, p Predictor) error {
	c := &codec{b: []byte(magic)}
	if c.predictor(p, true); c.err != nil {
		return fmt.Errorf("save predictor: %w", c.err)
	}
	if len(c.b)+sha256.Size > maxBytes {
		return fmt.Errorf("save predictor: %d bytes, want at most %d", len(c.b)+sha256.Size, maxBytes)
	}
	sum := sha256.Sum256(c.b)
	if _, err := w.Write(append(c.b, sum[:]...)); err != nil {
		return fmt.Errorf("save predictor: %w", err)
	}
	return nil
}

// load reads what Save wrote, to the end of r. The predictor is as after Reset(0); every Reset restores the state loaded. The
// file is untrusted: errors wrap ErrFormat and say what is wrong, and load allocates memory only in proportion to the file.
func load(r io.Reader) (Predictor, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("load predictor: %w", err)
	}
	p, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("load predictor: %w: %w", ErrFormat, err)
	}
	return p, nil
}

func parse(b []byte) (Predictor, error) {
	switch {
	case len(b) < len(magic) || string(b[:len(magic)]) != magic:
		return nil, fmt.Errorf("it begins with %q, want %q", b[:min(len(b), len(magic))], magic)
	case len(b) > maxBytes:
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	case len(b) < len(magic)+sha256.Size:
		return nil, fmt.Errorf("it is cut off after %d bytes", len(b))
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !slices.Equal(sum, want[:]) {
		return nil, errors.New("its checksum is wrong: it is damaged")
	}
	c := &codec{b: body[len(magic):], reads: true}
	p := c.predictor(nil, true)
	if c.err == nil && len(c.b) > 0 {
		c.fail("%d bytes after its end", len(c.b))
	}
	if c.err != nil {
		return nil, c.err
	}
	p.Reset(0)
	return p, nil
}

// predictor describes a predictor, which is nil to read one. Only one may be noise.
func (c *codec) predictor(p Predictor, noise bool) Predictor {
	kind := ""
	switch p := p.(type) {
	case nil:
	case *grouped:
		kind = p.kind
	case *forestPredictor:
		kind = kindForest
	case *noisy:
		kind = kindNoisy
	default:
		c.fail("%s is a %T, want one of this package's", p.Name(), p)
		return nil
	}
	switch c.text("kind", &kind); kind {
	case kindGranted, kindMean, kindMedian:
		if c.reads {
			p, _ = New(kind)
			p.(*grouped).loaded = p.(*grouped).past
		}
		c.history(p.(*grouped).past)
		return p
	case kindForest:
		if c.reads {
			s := &forestState{past: newHistory(), levels: map[levelKey]*level{}, contest: map[Key]contest{}}
			p = &forestPredictor{loaded: s}
			c.forest(&p.(*forestPredictor).config, s)
		} else {
			c.forest(&p.(*forestPredictor).config, &p.(*forestPredictor).forestState)
		}
		return p
	case kindNoisy:
		if !noise {
			break
		}
		n, _ := p.(*noisy)
		if n == nil {
			n = &noisy{}
		}
		c.float("sigma", &n.sigma, 0, maxSigma)
		n.Predictor = c.predictor(n.Predictor, false)
		return n
	}
	kinds := []string{kindGranted, kindMean, kindMedian, kindForest, kindNoisy}
	c.fail("kind %q, want one of %s, noise only once", kind, strings.Join(kinds, ", "))
	return nil
}

func (c *codec) forest(f *ForestConfig, s *forestState) {
	for _, field := range []*int{
		&f.Forest.Trees, &f.Forest.Depth, &f.Forest.MinLeaf, &f.Forest.Features, &f.Forest.Bins,
		&f.First, &f.Every, &f.Window, &f.Runs, &f.Trials,
	} {
		c.int("setting", field, 0, math.MaxInt32)
	}
	median := 0
	if f.Forest.Median {
		median = 1
	}
	c.int("setting", &median, 0, 1)
	if c.reads {
		f.Forest.Median = median == 1
	}
	c.float("decay", &f.Decay, 0, 1)
	if err := f.validate(); c.reads && err != nil {
		c.fail("%w", err)
	}
	c.history(s.past)
	table(c, "sets of jobs", "set", s.levels, levelKey.compare, func(k *levelKey) {
		at := int(k.level)
		c.int("level", &at, 0, levels-1)
		k.level = uint8(at)
		c.key(&k.key)
		c.text("user", &k.user)
		c.text("name", &k.name)
		c.int64("size", &k.size, math.MinInt64, math.MaxInt64)
	}, func(l **level) bool {
		if c.reads {
			*l = &level{}
		}
		c.runs("log", &(*l).runs, f.Runs, -mostLog, mostLog)
		c.int("jobs", &(*l).count, int64(max(1, len((*l).latest))), mostCount)
		return len((*l).latest) == 0
	})
	table(c, "recurring jobs", "recurring job", s.contest, Key.compare, c.key, func(x *contest) bool {
		c.int("trials", &x.trials, 0, mostCount)
		c.float("error", &x.forest, 0, 2*mostLog)
		c.float("error", &x.median, 0, 2*mostLog)
		return false
	})
	c.observations(s, f.Window)
	c.int("observations", &s.seen, int64(len(s.targets)), mostCount)
	c.int("observations since training", &s.fresh, 0, int64(s.seen))
	c.grown(s)
}

// observations describes the rows of features and their targets.
func (c *codec) observations(s *forestState, most int) {
	n := c.size("observations", len(s.targets), 8+4*features)
	if c.reads && n > most {
		c.fail("%d observations, want at most %d", n, most)
	}
	if c.reads && c.err == nil {
		s.targets, s.rows = make([]float64, n), make([]float32, n*features)
	}
	for i := range s.targets {
		c.float("target", &s.targets[i], -mostLog, mostLog)
	}
	for i := range s.rows {
		u := math.Float32bits(s.rows[i])
		c.uint32(&u)
		x := math.Float32frombits(u)
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			c.fail("feature %v, want a finite number", x)
		}
		if c.reads {
			s.rows[i] = x
		}
	}
}

// grown describes the forest that was trained last, if there is one: as the text of its own file.
func (c *codec) grown(s *forestState) {
	var file bytes.Buffer
	if !c.reads && s.forest != nil {
		if err := s.forest.Write(&file); err != nil {
			c.fail("%w", err)
		}
	}
	text := file.String()
	if c.text("forest", &text); !c.reads || text == "" {
		return
	}
	f, err := forest.Read(strings.NewReader(text))
	switch {
	case err != nil:
		c.fail("%w", err)
	case f.Features() != features:
		c.fail("its forest has %d features, want %d", f.Features(), features)
	}
	s.forest = f
}

func (c *codec) history(h *history) {
	of := func(what string, most int, from, to float64) func(r **runs) bool {
		return func(r **runs) bool {
			if c.reads {
				*r = &runs{}
			}
			c.runs(what, *r, most, from, to)
			return len((*r).latest) == 0
		}
	}
	table(c, "recurring jobs", "recurring job", h.alike, Key.compare, func(k *Key) {
		if c.key(k); c.reads && *k == (Key{}) {
			c.fail("a recurring job without a key") // has no runs
		}
	}, of("iterations", runsKept, 1, mostIterations))
	table(c, "sizes", "size", h.sizes, cmp.Compare[int64], func(k *int64) {
		c.int64("size", k, math.MinInt64, math.MaxInt64)
	}, of("seconds", typicalOf, 0, mostSeconds))
	c.runs("seconds", &h.all, typicalOf, 0, mostSeconds)
}

// runs describes at most the parameter most numbers, each between from and to.
func (c *codec) runs(what string, r *runs, most int, from, to float64) {
	n, next := c.size(what, len(r.latest), 8), uint32(r.next)
	c.uint32(&next)
	if c.reads {
		if n > most || int(next) >= max(n, 1) || next > 0 && n < most {
			c.fail("%d %s from the %d-th on, want at most %d", n, what, next, most)
			return
		}
		r.latest, r.next = make([]float64, n), int(next)
	}
	for i := range r.latest {
		c.float(what, &r.latest[i], from, to)
	}
	if c.reads {
		r.sorted = slices.Sorted(slices.Values(r.latest))
	}
}

func (c *codec) key(k *Key) {
	c.text("group", &k.group)
	c.text("user", &k.user)
	c.text("model", &k.model)
	for _, n := range k.numbers() {
		x := int64(*n)
		c.int64("number", &x, math.MinInt32, math.MaxInt32)
		*n = int32(x)
	}
}

// numbers returns the numeric fields of a key.
func (k *Key) numbers() []*int32 {
	r := &k.request
	return []*int32{&k.workers, &k.stages, &k.tensor, &r.GPUMilli, &r.CPUMilli, &r.MemMiB, &r.GPUMemMiB}
}

func (k Key) compare(o Key) int {
	by := cmp.Or(strings.Compare(k.group, o.group), strings.Compare(k.user, o.user), strings.Compare(k.model, o.model))
	others := o.numbers()
	for i, n := range k.numbers() {
		by = cmp.Or(by, cmp.Compare(*n, *others[i]))
	}
	return by
}

func (k levelKey) compare(o levelKey) int {
	return cmp.Or(cmp.Compare(k.level, o.level), k.key.compare(o.key), strings.Compare(k.user, o.user),
		strings.Compare(k.name, o.name), cmp.Compare(k.size, o.size))
}
