package predict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clustergym/clustergym/baselines/forest"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// maxBytes is the largest size of a file to write or read.
const maxBytes = 128 << 20

// The largest absolute logarithm of iterations or seconds, and the largest run time.
const (
	mostLog     = 1000
	mostSeconds = 1e30
)

// ErrFormat is wrapped by the errors of load about a file that Save did not write, or that is of another version, or beyond a
// limit.
var ErrFormat = errors.New("not a predictor that can be read")

// fileText is the text of a file: the kind of a predictor, and what it has learned.
type fileText struct {
	Format  uint8       `predictor:"format,need,format"`
	Version int         `predictor:"version,need,2..2"`
	Noise   *float64    `predictor:"noise,0..10"` // sigma of a noisy predictor of the kind
	Kind    string      `predictor:"kind,need,kind"`
	History historyText `predictor:"history,need,line"`
	Forest  *forestText `predictor:"forest,line"`
}

type historyText struct {
	Alike []entry[Key, runs]  `predictor:"alike,most=mostEntries,lines"`
	Sizes []entry[size, runs] `predictor:"sizes,most=mostEntries,lines"`
	All   runs                `predictor:"all,need,line"`
}

type forestText struct {
	Settings ForestConfig             `predictor:"settings,need"`
	Levels   []entry[levelKey, level] `predictor:"levels,most=mostEntries,lines"`
	Contests []entry[Key, contest]    `predictor:"contests,most=mostEntries,lines"`
	Rows     []float32                `predictor:"rows,most=mostEntries"`
	Targets  []float64                `predictor:"targets,-1000..1000,most=maxWindow"`
	Seen     int                      `predictor:"observations,need,0..mostCount"`
	Fresh    int                      `predictor:"since_training,need,0..mostCount"`
	Grown    *forest.Text             `predictor:"grown,line"`
}

// entry is an entry of a map.
type entry[K, V any] struct {
	Key   K `predictor:"of"`
	Value V `predictor:",inline"`
}

var files = strictjson.Format{
	Key:    "predictor",
	Limits: map[string]int64{"typicalOf": typicalOf, "mostCount": mostCount, "maxWindow": maxWindow, "mostEntries": maxBytes},
	Kinds: map[string]strictjson.Kind{
		"format": strictjson.Words[uint8]("clustergym-predictor"),
		"text":   strictjson.Texts(maxBytes, utf8.ValidString, "UTF-8"),
		"kind": strictjson.As(func(r *strictjson.Reader, to *string) {
			all := []string{kindGranted, kindMean, kindMedian, kindForest}
			*to = all[r.OneOf(all...)]
		}),
	},
}

// Save writes a predictor with everything that it has learned, for load. It leaves out jobs that were predicted and not yet
// observed; such jobs should have ended. It returns an error for a predictor of another package. Equal predictors give equal
// bytes.
func Save(w io.Writer, p Predictor) error {
	t := fileText{Version: 2}
	if n, ok := p.(*noisy); ok {
		t.Noise, p = &n.sigma, n.Predictor
	}
	switch p := p.(type) {
	case *grouped:
		t.Kind, t.History = p.kind, p.past.text()
	case *forestPredictor:
		t.Kind, t.History, t.Forest = kindForest, p.past.text(), &forestText{
			p.config, entries(p.levels), entries(p.contest), p.rows, p.targets, p.seen, p.fresh, nil,
		}
		if p.forest != nil {
			t.Forest.Grown = p.forest.Text()
		}
	default:
		return fmt.Errorf("save predictor: %s is a %T, want one of this package's", p.Name(), p)
	}
	b := append(files.Append(nil, &t), '\n')
	if len(b) > maxBytes {
		return fmt.Errorf("save predictor: %d bytes, want at most %d", len(b), maxBytes)
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("save predictor: %w", err)
	}
	return nil
}

func (h *history) text() historyText { return historyText{entries(h.alike), entries(h.sizes), h.all} }

// entries returns the entries of a map in the order of the texts of their keys.
func entries[K comparable, V any](m map[K]*V) []entry[K, V] {
	all, texts := make([]entry[K, V], 0, len(m)), map[K]string{}
	for k, v := range m {
		all = append(all, entry[K, V]{k, *v})
		texts[k] = string(files.Append(nil, &k))
	}
	slices.SortFunc(all, func(a, b entry[K, V]) int { return strings.Compare(texts[a.Key], texts[b.Key]) })
	return all
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
	case len(b) > maxBytes:
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	case bytes.HasPrefix(b, []byte("clustergym predictor 1\n")):
		return nil, errors.New("it is of version 1, want 2: fit it again")
	}
	var t fileText
	if err := files.Parse(b, nil, &t); err != nil {
		return nil, err
	}
	p, err := t.predictor()
	if err != nil {
		return nil, err
	}
	if t.Noise != nil {
		p = newNoisy(p, *t.Noise)
	}
	p.Reset(0)
	return p, nil
}

func (t *fileText) predictor() (Predictor, error) {
	h, err := t.History.history()
	switch {
	case err != nil:
		return nil, err
	case (t.Kind == kindForest) != (t.Forest != nil):
		return nil, fmt.Errorf("forest: want one for the kind %s alone", kindForest)
	case t.Forest != nil:
		state, err := t.Forest.state(h)
		return &forestPredictor{config: t.Forest.Settings, loaded: state}, err
	}
	p, err := New(t.Kind)
	if err == nil {
		p.(*grouped).loaded = h
	}
	return p, err
}

func (t *historyText) history() (*history, error) {
	h := &history{all: t.All}
	var err error
	if h.alike, err = byKey("history.alike", t.Alike, func(k *Key, r *runs) error {
		if *k == (Key{}) {
			return errors.New("no key") // such a job has no runs
		}
		return r.check(runsKept, 1, mostIterations)
	}); err != nil {
		return nil, err
	}
	seconds := func(_ *size, r *runs) error { return r.check(typicalOf, 0, mostSeconds) }
	if h.sizes, err = byKey("history.sizes", t.Sizes, seconds); err != nil {
		return nil, err
	}
	if len(h.all.Latest) > 0 {
		err = h.all.check(typicalOf, 0, mostSeconds)
	}
	return h, err
}

func (t *forestText) state(past *history) (s *forestState, err error) {
	if err := t.Settings.validate(); err != nil {
		return nil, err
	}
	s = &forestState{past: past, rows: t.Rows, targets: t.Targets, seen: t.Seen, fresh: t.Fresh}
	if s.levels, err = byKey("forest.levels", t.Levels, func(_ *levelKey, l *level) error {
		if l.Jobs < len(l.Latest) {
			return fmt.Errorf("%d jobs, want at least %d", l.Jobs, len(l.Latest))
		}
		return l.check(t.Settings.Runs, -mostLog, mostLog)
	}); err != nil {
		return nil, err
	}
	if s.contest, err = byKey("forest.contests", t.Contests, func(*Key, *contest) error { return nil }); err != nil {
		return nil, err
	}
	switch n := len(s.targets); {
	case n > t.Settings.Window || n > s.seen || s.fresh > s.seen:
		return nil, fmt.Errorf("forest: %d targets of %d observations, %d since training, want at most %d targets", n, s.seen, s.fresh,
			t.Settings.Window)
	case len(s.rows) != n*features:
		return nil, fmt.Errorf("forest: rows of %d numbers for %d targets, want %d each", len(s.rows), n, features)
	case t.Grown == nil:
		return s, nil
	}
	if s.forest, err = t.Grown.Forest(); err == nil && s.forest.Features() != features {
		err = fmt.Errorf("%d features, want %d", s.forest.Features(), features)
	}
	if err != nil {
		return nil, fmt.Errorf("forest.grown: %w", err)
	}
	return s, nil
}

// byKey returns the map of some entries, each of which must satisfy check.
func byKey[K comparable, V any](what string, all []entry[K, V], check func(*K, *V) error) (map[K]*V, error) {
	m := make(map[K]*V, len(all))
	for i := range all {
		e := &all[i]
		if err := check(&e.Key, &e.Value); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", what, i, err)
		}
		if m[e.Key] != nil {
			return nil, fmt.Errorf("%s[%d]: twice", what, i)
		}
		m[e.Key] = &e.Value
	}
	return m, nil
}

// check returns an error unless the runs are at least one and at most the parameter most numbers, each between from and to. It
// sorts them.
func (r *runs) check(most int, from, to float64) error {
	n := len(r.Latest)
	if n == 0 || n > most || r.Next >= n || r.Next > 0 && n < most {
		return fmt.Errorf("%d numbers from the %d-th on, want 1 to %d", n, r.Next, most)
	}
	for _, x := range r.Latest {
		if !(x >= from && x <= to) {
			return fmt.Errorf("%v, want a number from %v to %v", x, from, to)
		}
	}
	r.sorted = slices.Sorted(slices.Values(r.Latest))
	return nil
}
