// Package tbevent writes event files, which TensorBoard and the tools that import from it read: scalars and histograms over
// steps. It writes nothing else of their format and reads none of it.
package tbevent

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Prefix begins the names of event files; the seconds since 1970 follow.
const Prefix = "events.out.tfevents."

// suffix ends the names of the files made here.
const suffix = ".clustergym"

// version is that of the format. From 2 on a Start purges.
const version = "brain.Event:2"

// Writer writes events. What Scalar and Histogram are told is one event after Append. Equal calls write equal bytes. It is
// not safe for concurrent use.
type Writer struct {
	w       io.Writer
	limits  []float64
	summary []byte            // the values of the next event
	about   map[string]string // descriptions, by tag
	told    map[string]bool   // tags whose first value is written
}

// newWriter returns a writer of events to w, after the format's version, and gives each event to w in a single Write.
func newWriter(w io.Writer, now time.Time) (*Writer, error) {
	e := &Writer{w: w, limits: limits(), about: map[string]string{}, told: map[string]bool{}}
	return e, e.write(appendText(header(now, 0), 3, version))
}

// Create makes the next event file of the folder dir, which must exist. Readers go through the files of a folder by name; so
// the seconds in the name are those of now, or more where that is needed to come after all files that dir has.
func Create(dir string, now time.Time) (*Writer, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("create event file: %w", err)
	}
	seconds := max(now.Unix(), 0)
	for _, f := range files {
		if rest, ok := strings.CutPrefix(f.Name(), Prefix); ok {
			digits, _, _ := strings.Cut(rest, ".")
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n < math.MaxInt32 {
				seconds = max(seconds, n+1)
			}
		}
	}
	path := filepath.Join(dir, fmt.Sprintf("%s%010d%s", Prefix, seconds, suffix))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("create event file: %w", err)
	}
	w, err := newWriter(f, now)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// Close closes the file of Create, and any other io.Closer that is written to. Values not yet appended are dropped.
func (w *Writer) Close() error {
	if c, ok := w.w.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Start says that what follows goes on from step: TensorBoard then forgets what earlier files told of this step and later
// ones.
func (w *Writer) Start(step int64, now time.Time) error {
	const sessionLog, status, start = 7, 1, 1
	return w.write(appendText(header(now, step), sessionLog, appendInt(nil, status, start)))
}

// Describe gives what TensorBoard says of a tag beside its chart. It goes with the first value of the tag and comes too late
// after that.
func (w *Writer) Describe(tag, text string) { w.about[tag] = text }

// Scalar tells a number, which is rounded to a float32. One that is not finite is written as it is; TensorBoard marks it.
func (w *Writer) Scalar(tag string, value float64) {
	const simpleValue, dataClass = 2, 1
	w.value(tag, appendFloat(nil, simpleValue, float32(value)), "scalars", dataClass)
}

// Histogram tells how numbers are spread. Those that are not finite are left out: the histogram's num is how many are in. One
// without any number is not written.
func (w *Writer) Histogram(tag string, values iter.Seq[float64]) {
	const histo, dataClass = 5, 2
	if h := count(w.limits, values); h.num > 0 {
		w.value(tag, appendText(nil, histo, h.encode()), "histograms", dataClass)
	}
}

// value adds a Summary.Value to the next event.
func (w *Writer) value(tag string, content []byte, plugin string, dataClass uint64) {
	const value, name, metadata = 1, 1, 9
	b := append(appendText(nil, name, tag), content...)
	if !w.told[tag] {
		w.told[tag] = true
		const pluginData, pluginName, description, class = 1, 1, 3, 4
		m := appendText(nil, pluginData, appendText(nil, pluginName, plugin))
		if text := w.about[tag]; text != "" {
			m = appendText(m, description, text)
		}
		// With a data class readers take the rest as it is; without, some drop the description.
		b = appendText(b, metadata, appendInt(m, class, dataClass))
	}
	w.summary = appendText(w.summary, value, b)
}

// Append writes an event with what was told since the last one, if anything was. An error leaves a file that ends there.
func (w *Writer) Append(step int64, now time.Time) error {
	if len(w.summary) == 0 {
		return nil
	}
	const summary = 5
	event := appendText(header(now, step), summary, w.summary)
	w.summary = w.summary[:0]
	return w.write(event)
}

func (w *Writer) write(event []byte) error {
	if _, err := w.w.Write(frame(event)); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}
