// Package tbevent writes event files for TensorBoard and tools that import from it: scalars and histograms over steps. It
// supports no other part of the format, and cannot read event files.
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

	"google.golang.org/protobuf/encoding/protowire"
)

// Prefix is the start of the names of event files. The seconds since 1970 follow it.
const Prefix = "events.out.tfevents."

// suffix is the end of the names of the files that this package creates.
const suffix = ".clustergym"

// version is the version of the format. From version 2 on, Start makes readers discard older data.
const version = "brain.Event:2"

// Writer writes events. Scalar and Histogram collect values, and Append writes the collected values as one event. Equal calls
// write equal bytes. A Writer is not safe for concurrent use.
type Writer struct {
	w       io.Writer
	limits  []float64
	summary []byte            // the values of the next event
	about   map[string]string // descriptions, by tag
	told    map[string]bool   // tags whose first value was added
}

// newWriter writes the format's version to w and returns a Writer that writes each event to w in a single call of Write.
func newWriter(w io.Writer, now time.Time) (*Writer, error) {
	e := &Writer{w: w, limits: limits(), about: map[string]string{}, told: map[string]bool{}}
	return e, e.write(appendText(header(now, 0), 3, version))
}

// Create creates the next event file in the folder dir, which must exist. Readers read the files of a folder in the order of
// their names. So the seconds in the name are those of now, or larger if needed, so that the new file comes after all existing
// ones.
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

// Close closes the underlying writer if it is an io.Closer, such as the file of Create. It drops values that were not appended.
func (w *Writer) Close() error {
	if c, ok := w.w.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Start writes that the following events continue from step: TensorBoard then discards the values of earlier files for this step
// and later ones.
func (w *Writer) Start(step int64, now time.Time) error {
	const sessionLog, status, start = 7, 1, 1
	return w.write(appendText(header(now, step), sessionLog, appendInt(nil, status, start)))
}

// Describe sets the text that TensorBoard shows beside the chart of a tag. It must come before the tag's first value; later it
// has no effect.
func (w *Writer) Describe(tag, text string) { w.about[tag] = text }

// Scalar adds a number to the next event, rounded to a float32. It writes NaN and infinities as they are; TensorBoard marks them.
func (w *Writer) Scalar(tag string, value float64) {
	const simpleValue, dataClass = 2, 1
	number := protowire.AppendTag(nil, simpleValue, protowire.Fixed32Type) // also of a zero: the field is one of a oneof
	w.value(tag, protowire.AppendFixed32(number, math.Float32bits(float32(value))), "scalars", dataClass)
}

// Histogram adds the distribution of numbers to the next event. It leaves out NaN and infinities: the histogram's num counts only
// finite numbers. Without any finite number it adds nothing.
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
		// If there is a data class, readers keep the metadata unchanged; without it some drop the description.
		b = appendText(b, metadata, appendInt(m, class, dataClass))
	}
	w.summary = appendText(w.summary, value, b)
}

// Append writes the values collected since the last Append as one event. It writes nothing if there are none. After an error the
// file may end with an incomplete event.
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
