package tbevent_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/tbevent"
	"github.com/clustergym/clustergym/internal/tbevent/tbeventtest"
)

var then = time.Unix(1_500_000_000, 0)

// TestKnownBytes compares with bytes computed by hand from the descriptions of the formats, including the checksums.
func TestKnownBytes(t *testing.T) {
	const versionRecord = "1800000000000000 a37f4b22 09 000000c00b5ad641 1a0d 627261696e2e4576656e743a32 4ca9a464"
	for _, c := range []struct {
		name  string
		write func(*tbevent.Writer) error
		want  string
	}{
		{"the version", func(*tbevent.Writer) error { return nil }, ""},
		{"a start", func(w *tbevent.Writer) error { return w.Start(7, then) },
			"0f00000000000000 6d532b09 09 000000c00b5ad641 1007 3a02 0801 cb7de1a6"},
		{"a scalar, first with what it is", func(w *tbevent.Writer) error {
			w.Scalar("a", 0.25)
			if err := w.Append(7, then); err != nil {
				return err
			}
			w.Scalar("a", 0.25)
			return w.Append(7, then)
		}, "2600000000000000 734fe300 09 000000c00b5ad641 1007 2a19 0a17 0a0161 150000803e" +
			"4a0d 0a09 0a07 7363616c617273 2001 efa74750" +
			"1700000000000000 e7cef81e 09 000000c00b5ad641 1007 2a0a 0a08 0a0161 150000803e cf133c45"},
		{"nothing told", func(w *tbevent.Writer) error { return w.Append(1, then) }, ""},
	} {
		var b bytes.Buffer
		w, err := tbevent.New(&b, then)
		if err == nil {
			err = c.write(w)
		}
		must.Do(t, err)
		want := strings.ReplaceAll(versionRecord+c.want, " ", "")
		if got := hex.EncodeToString(b.Bytes()); got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
	}
}

func number(x float64) *tbeventtest.Number {
	n := tbeventtest.Number(x)
	return &n
}

// example writes a file with every kind of content, and returns its path and the events in it.
func example(t *testing.T) (string, []tbeventtest.Event) {
	t.Helper()
	dir := t.TempDir()
	w := must.Get(tbevent.Create(dir, then))(t)
	w.Describe("loss", "how far off, in °C")
	errs := []error{w.Start(3, then.Add(time.Second))}
	w.Scalar("loss", 0.5)
	w.Scalar("zero", 0)
	w.Histogram("weights/a", slices.Values([]float64{1, 1, 3}))
	errs = append(errs, w.Append(3, then.Add(1500*time.Millisecond)))
	w.Scalar("loss", math.NaN())
	w.Scalar("far", math.Inf(-1))
	w.Scalar("beyond float32", 1e300)
	w.Histogram("weights/a", slices.Values([]float64{math.NaN(), 2, math.Inf(1), math.Inf(-1)}))
	w.Histogram("of nothing", slices.Values([]float64{math.NaN()}))
	errs = append(errs, w.Append(1<<40, then.Add(2*time.Second)))
	w.Scalar("loss", 1)
	errs = append(errs, w.Append(-1, then), w.Close())
	must.Do(t, errors.Join(errs...))
	about := func(plugin, text string, class int) *tbeventtest.Metadata {
		m := &tbeventtest.Metadata{Description: text, DataClass: class}
		m.Plugin.Name = plugin
		return m
	}
	spread := spreadOf(t, []float64{1, 1, 3})
	two := spreadOf(t, []float64{2})
	return filepath.Join(dir, "events.out.tfevents.1500000000.clustergym"), []tbeventtest.Event{
		{Wall: 1.5e9, Version: "brain.Event:2"},
		{Wall: 1.5e9 + 1, Step: 3, Session: &tbeventtest.Session{Status: 1}},
		{Wall: 1.5e9 + 1.5, Step: 3, Summary: &tbeventtest.Summary{Values: []tbeventtest.Value{
			{Tag: "loss", Scalar: number(0.5), Metadata: about("scalars", "how far off, in °C", 1)},
			{Tag: "zero", Scalar: number(0), Metadata: about("scalars", "", 1)},
			{Tag: "weights/a", Histogram: spread, Metadata: about("histograms", "", 2)},
		}}},
		{Wall: 1.5e9 + 2, Step: 1 << 40, Summary: &tbeventtest.Summary{Values: []tbeventtest.Value{
			{Tag: "loss", Scalar: number(math.NaN())},
			{Tag: "far", Scalar: number(math.Inf(-1)), Metadata: about("scalars", "", 1)},
			{Tag: "beyond float32", Scalar: number(math.Inf(1)), Metadata: about("scalars", "", 1)},
			{Tag: "weights/a", Histogram: two},
		}}},
		{Wall: 1.5e9, Step: -1, Summary: &tbeventtest.Summary{Values: []tbeventtest.Value{{Tag: "loss", Scalar: number(1)}}}},
	}
}

func TestReadBack(t *testing.T) {
	path, want := example(t)
	got := must.Get(tbeventtest.Read(t, path))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("written and read back differ (-written +read):\n%s", diff)
	}
}

// TestReaderNoticesDamage checks that the test's reader notices any changed byte, and reports a file as torn unless it is cut
// between records.
func TestReaderNoticesDamage(t *testing.T) {
	path, want := example(t)
	whole := must.Get(os.ReadFile(path))(t)
	first := 24 + 16 // bytes of the version's record
	for _, at := range []int{0, 3, 8, 11, 12, 21, first - 5, first - 4, first - 1, first, first + 20, len(whole) / 2, len(whole) - 1} {
		harmed := slices.Clone(whole)
		harmed[at] ^= 0x10
		events, err := read(t, harmed)
		if err == nil || errors.Is(err, tbeventtest.ErrTorn) || !strings.Contains(err.Error(), "checksum of ") {
			t.Errorf("byte %d flipped: error %v, want one of a checksum", at, err)
		}
		if at < first && len(events) != 0 || at >= first && len(events) == 0 {
			t.Errorf("byte %d flipped: %d events before the fault", at, len(events))
		}
	}
	for _, n := range []int{1, 8, 12, first - 1, first + 1, len(whole) / 2, len(whole) - 1} {
		if events, err := read(t, whole[:n]); !errors.Is(err, tbeventtest.ErrTorn) || len(events) >= len(want) {
			t.Errorf("cut after %d bytes: %d events, error %v, want %v", n, len(events), err, tbeventtest.ErrTorn)
		}
	}
	if events, err := read(t, whole[:first]); err != nil || len(events) != 1 {
		t.Errorf("cut after the first record: %d events, error %v", len(events), err)
	}
}

func read(t *testing.T, content []byte) ([]tbeventtest.Event, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events")
	must.Do(t, os.WriteFile(path, content, 0o666))
	return tbeventtest.Read(t, path)
}

// TestNamesAscend checks that a file created later has a later name, whatever the clock says, because readers sort by name.
func TestNamesAscend(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"events.out.tfevents.1500000007.host.123.0", "events.out.tfevents.x", "events.out.tfevents.9999999999999999999", "metrics.jsonl",
		"events.out.tfevents.99999999999.y",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	for _, c := range []struct {
		name string
		now  time.Time
		want string
	}{
		{"in the second of a file", then.Add(7 * time.Second), "events.out.tfevents.1500000008.clustergym"},
		{"in the same second again", then.Add(8 * time.Second), "events.out.tfevents.1500000009.clustergym"},
		{"later", then.Add(time.Hour), "events.out.tfevents.1500003600.clustergym"},
		{"when the clock was set back", then, "events.out.tfevents.1500003601.clustergym"},
		{"without a clock", time.Time{}, "events.out.tfevents.1500003602.clustergym"},
	} {
		w, err := tbevent.Create(dir, c.now)
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, c.want)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := tbevent.Create(filepath.Join(dir, "absent"), then); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: error %v", err)
	}
}

// full is a writer that fails after the given number of bytes.
type full int

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, os.ErrClosed
	}
	return len(b), nil
}

func TestWriteErrors(t *testing.T) {
	none, some := full(0), full(50)
	if _, err := tbevent.New(&none, then); !errors.Is(err, os.ErrClosed) {
		t.Errorf("no room for the version: error %v", err)
	}
	w := must.Get(tbevent.New(&some, then))(t)
	w.Scalar("a", 1)
	if err := w.Append(1, then); !errors.Is(err, os.ErrClosed) || !strings.HasPrefix(err.Error(), "write event: ") {
		t.Errorf("no room for a scalar: error %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("nothing to close: error %v", err)
	}
}
