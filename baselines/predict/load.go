package predict

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/baselines/forest"
	"github.com/clustergym/clustergym/env/cluster"
)

// ErrFormat is wrapped by the errors of load about a file that Save did not write, or that is damaged, of another version, or
// beyond a limit.
var ErrFormat = errors.New("not a predictor that can be read")

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
	d := &decoder{b: body[len(magic):]}
	p := d.predictor(true)
	if d.err == nil && len(d.b) > 0 {
		d.fail("%d bytes after its end", len(d.b))
	}
	if d.err != nil {
		return nil, d.err
	}
	p.Reset(0)
	return p, nil
}

// decoder reads from b. After the first error it returns zero values.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
		d.b = nil
	}
}

func (d *decoder) predictor(noise bool) Predictor {
	kind := d.text("kind")
	switch kind {
	case kindGranted, kindMean, kindMedian:
		p, _ := New(kind)
		g := p.(*grouped)
		g.loaded = d.history()
		return g
	case kindForest:
		return d.forest()
	case kindNoisy:
		if sigma := d.float("sigma", 0, maxSigma); noise {
			if inner := d.predictor(false); d.err == nil {
				return newNoisy(inner, sigma)
			}
			return nil
		}
	}
	kinds := []string{kindGranted, kindMean, kindMedian, kindForest, kindNoisy}
	d.fail("kind %q, want one of %s, noise only once", kind, strings.Join(kinds, ", "))
	return nil
}

func (d *decoder) forest() *forestPredictor {
	var c ForestConfig
	for _, field := range []*int{
		&c.Forest.Trees, &c.Forest.Depth, &c.Forest.MinLeaf, &c.Forest.Features, &c.Forest.Bins,
		&c.First, &c.Every, &c.Window, &c.Runs, &c.Trials,
	} {
		*field = int(d.whole("setting", 0, math.MaxInt32))
	}
	c.Forest.Median = d.whole("setting", 0, 1) == 1
	c.Decay = d.float("decay", 0, 1)
	if err := c.validate(); d.err == nil && err != nil {
		d.fail("%w", err)
	}
	s := &forestState{past: d.history(), levels: map[levelKey]*level{}, contest: map[Key]contest{}}
	d.levels(s, c.Runs)
	d.contest(s)
	d.observations(s, c.Window)
	s.seen = int(d.whole("observations", int64(len(s.targets)), mostCount))
	s.fresh = int(d.whole("observations since training", 0, int64(s.seen)))
	if grown := d.text("forest"); grown != "" {
		f, err := forest.Read(strings.NewReader(grown))
		switch {
		case err != nil:
			d.fail("%w", err)
		case f.Features() != features:
			d.fail("its forest has %d features, want %d", f.Features(), features)
		}
		s.forest = f
	}
	return &forestPredictor{config: c, loaded: s}
}

// mostLog is the largest absolute logarithm of iterations or seconds.
const mostLog = 1000

func (d *decoder) levels(s *forestState, most int) {
	last := levelKey{}
	for i := range d.size("sets of jobs", 8) {
		k := levelKey{level: uint8(d.whole("level", 0, levels-1)), key: d.key(), user: d.text("user"), name: d.text("name")}
		k.size = d.whole("size", math.MinInt64, math.MaxInt64)
		l := &level{runs: d.runs("log", most, -mostLog, mostLog)}
		l.count = int(d.whole("jobs", int64(max(1, len(l.latest))), mostCount))
		if d.err != nil {
			return
		}
		if i > 0 && last.compare(k) >= 0 || len(l.latest) == 0 {
			d.fail("set %d of jobs is out of order or empty", i)
			return
		}
		s.levels[k], last = l, k
	}
}

func (d *decoder) contest(s *forestState) {
	last := Key{}
	for i := range d.size("recurring jobs", 8) {
		k := d.key()
		c := contest{
			trials: int(d.whole("trials", 0, mostCount)), forest: d.float("error", 0, 2*mostLog), median: d.float("error", 0, 2*mostLog),
		}
		if d.err != nil {
			return
		}
		if i > 0 && last.compare(k) >= 0 {
			d.fail("recurring job %d is out of order", i)
			return
		}
		s.contest[k], last = c, k
	}
}

func (d *decoder) observations(s *forestState, most int) {
	n := d.size("observations", 8+4*features)
	if n > most {
		d.fail("%d observations, want at most %d", n, most)
		return
	}
	for range n {
		s.targets = append(s.targets, d.float("target", -mostLog, mostLog))
	}
	for range n * features {
		b := d.take(4)
		if b == nil {
			return
		}
		x := math.Float32frombits(binary.LittleEndian.Uint32(b))
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			d.fail("feature %v, want a finite number", x)
			return
		}
		s.rows = append(s.rows, x)
	}
}

func (d *decoder) history() *history {
	h := newHistory()
	last := Key{}
	for i := range d.size("recurring jobs", 8) {
		k := d.key()
		r := d.runs("iterations", runsKept, 1, mostIterations)
		if d.err != nil {
			return h
		}
		if last.compare(k) >= 0 || len(r.latest) == 0 { // the zero key has no runs
			d.fail("recurring job %d is out of order or empty", i)
			return h
		}
		h.alike[k], last = &r, k
	}
	before := int64(0)
	for i := range d.size("sizes", 8) {
		k := d.whole("size", math.MinInt64, math.MaxInt64)
		r := d.runs("seconds", typicalOf, 0, mostSeconds)
		if d.err != nil {
			return h
		}
		if i > 0 && before >= k || len(r.latest) == 0 {
			d.fail("size %d is out of order or empty", i)
			return h
		}
		h.sizes[k], before = &r, k
	}
	h.all = d.runs("seconds", typicalOf, 0, mostSeconds)
	return h
}

// mostSeconds is the largest run time.
const mostSeconds = 1e30

// runs reads at most the parameter most numbers, each between from and to.
func (d *decoder) runs(what string, most int, from, to float64) runs {
	var r runs
	n := d.size(what, 8)
	r.next = int(d.uint32())
	if n > most || r.next >= max(n, 1) || r.next > 0 && n < most {
		d.fail("%d %s from the %d-th on, want at most %d", n, what, r.next, most)
		return runs{}
	}
	for range n {
		r.latest = append(r.latest, d.float(what, from, to))
	}
	r.sorted = slices.Sorted(slices.Values(r.latest))
	return r
}

func (d *decoder) key() Key {
	k := Key{group: d.text("group"), user: d.text("user"), model: d.text("model")}
	n := k.numbers()
	for i := range n {
		n[i] = int32(d.whole("number", math.MinInt32, math.MaxInt32))
	}
	k.workers, k.stages, k.tensor = n[0], n[1], n[2]
	k.request = cluster.Amount{GPUMilli: n[3], CPUMilli: n[4], MemMiB: n[5], GPUMemMiB: n[6]}
	return k
}

// take returns the next n bytes, nil if there are fewer.
func (d *decoder) take(n int) []byte {
	if d.err != nil || len(d.b) < n {
		d.fail("it ends too early")
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// size reads the length of a list whose elements take at least the parameter each bytes.
func (d *decoder) size(what string, each int) int {
	n := int64(d.uint32())
	if n*int64(each) > int64(len(d.b)) {
		d.fail("%d %s in %d bytes", n, what, len(d.b))
		return 0
	}
	return int(n)
}

func (d *decoder) text(what string) string { return string(d.take(d.size(what, 1))) }

func (d *decoder) whole(what string, from, to int64) int64 {
	n := int64(d.uint64())
	if d.err == nil && (n < from || n > to) {
		d.fail("%s %d, want %d to %d", what, n, from, to)
	}
	return n
}

func (d *decoder) float(what string, from, to float64) float64 {
	x := math.Float64frombits(d.uint64())
	if d.err == nil && !(x >= from && x <= to) {
		d.fail("%s %v, want %v to %v", what, x, from, to)
	}
	return x
}
