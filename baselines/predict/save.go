package predict

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// magic begins a file and contains its version. After it come the kind of the predictor, what it has learned (tables in
// ascending order of their keys), and the SHA-256 of all that. Numbers are little endian and of fixed size; strings and lists
// begin with their length.
const magic = "clustergym predictor 1\n"

// maxBytes is the largest size of a file to write or read.
const maxBytes = 128 << 20

// Save writes a predictor with everything that it has learned, for load. It leaves out jobs that were predicted and not yet
// observed; such jobs should have ended. It returns an error for a predictor of another package. Equal predictors give equal
// bytes.
func Save(w io.Writer, p Predictor) error {
	e := &encoder{b: []byte(magic)}
	if err := e.predictor(p); err != nil {
		return fmt.Errorf("save predictor: %w", err)
	}
	if len(e.b)+sha256.Size > maxBytes {
		return fmt.Errorf("save predictor: %d bytes, want at most %d", len(e.b)+sha256.Size, maxBytes)
	}
	sum := sha256.Sum256(e.b)
	if _, err := w.Write(append(e.b, sum[:]...)); err != nil {
		return fmt.Errorf("save predictor: %w", err)
	}
	return nil
}

// encoder appends to b.
type encoder struct{ b []byte }

func (e *encoder) predictor(p Predictor) error {
	switch p := p.(type) {
	case *grouped:
		e.text(p.kind)
		e.history(p.past)
	case *noisy:
		e.text(kindNoisy)
		e.float(p.sigma)
		if _, ok := p.Predictor.(*noisy); ok {
			return fmt.Errorf("%s inside %s: want noise once", p.Predictor.Name(), kindNoisy)
		}
		return e.predictor(p.Predictor)
	case *forestPredictor:
		e.text(kindForest)
		return e.forest(p)
	default:
		return fmt.Errorf("%s is a %T, want one of this package's", p.Name(), p)
	}
	return nil
}

func (e *encoder) forest(p *forestPredictor) error {
	c := p.config
	for _, n := range []int{
		c.Forest.Trees, c.Forest.Depth, c.Forest.MinLeaf, c.Forest.Features, c.Forest.Bins,
		c.First, c.Every, c.Window, c.Runs, c.Trials,
	} {
		e.whole(int64(n))
	}
	e.yes(c.Forest.Median)
	e.float(c.Decay)
	e.history(p.past)
	e.size(len(p.levels))
	for _, k := range slices.SortedFunc(maps.Keys(p.levels), levelKey.compare) {
		e.whole(int64(k.level))
		e.key(k.key)
		e.text(k.user)
		e.text(k.name)
		e.whole(k.size)
		e.runs(&p.levels[k].runs)
		e.whole(int64(p.levels[k].count))
	}
	e.size(len(p.contest))
	for _, k := range slices.SortedFunc(maps.Keys(p.contest), Key.compare) {
		e.key(k)
		e.whole(int64(p.contest[k].trials))
		e.float(p.contest[k].forest)
		e.float(p.contest[k].median)
	}
	e.size(len(p.targets))
	for _, y := range p.targets {
		e.float(y)
	}
	for _, x := range p.rows {
		e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(x))
	}
	e.whole(int64(p.seen))
	e.whole(int64(p.fresh))
	var grown bytes.Buffer
	if p.forestState.forest != nil {
		if err := p.forestState.forest.Write(&grown); err != nil {
			return err
		}
	}
	e.text(grown.String())
	return nil
}

func (e *encoder) history(h *history) {
	e.size(len(h.alike))
	for _, k := range slices.SortedFunc(maps.Keys(h.alike), Key.compare) {
		e.key(k)
		e.runs(h.alike[k])
	}
	e.size(len(h.sizes))
	for _, k := range slices.Sorted(maps.Keys(h.sizes)) {
		e.whole(k)
		e.runs(h.sizes[k])
	}
	e.runs(&h.all)
}

func (e *encoder) runs(r *runs) {
	e.size(len(r.latest))
	e.size(r.next)
	for _, x := range r.latest {
		e.float(x)
	}
}

func (e *encoder) key(k Key) {
	e.text(k.group)
	e.text(k.user)
	e.text(k.model)
	for _, n := range k.numbers() {
		e.whole(int64(n))
	}
}

func (e *encoder) text(s string) {
	e.size(len(s))
	e.b = append(e.b, s...)
}

func (e *encoder) size(n int)      { e.b = binary.LittleEndian.AppendUint32(e.b, uint32(n)) }
func (e *encoder) whole(n int64)   { e.b = binary.LittleEndian.AppendUint64(e.b, uint64(n)) }
func (e *encoder) float(x float64) { e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(x)) }

func (e *encoder) yes(b bool) {
	if b {
		e.whole(1)
	} else {
		e.whole(0)
	}
}

// numbers returns the numeric fields of a key.
func (k Key) numbers() []int32 {
	return []int32{k.workers, k.stages, k.tensor, k.request.GPUMilli, k.request.CPUMilli, k.request.MemMiB, k.request.GPUMemMiB}
}

func (k Key) compare(o Key) int {
	return cmp.Or(strings.Compare(k.group, o.group), strings.Compare(k.user, o.user), strings.Compare(k.model, o.model),
		slices.Compare(k.numbers(), o.numbers()))
}

func (k levelKey) compare(o levelKey) int {
	return cmp.Or(cmp.Compare(k.level, o.level), k.key.compare(o.key), strings.Compare(k.user, o.user),
		strings.Compare(k.name, o.name), cmp.Compare(k.size, o.size))
}
