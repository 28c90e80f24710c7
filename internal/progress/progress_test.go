package progress_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/google/go-cmp/cmp"
)

// clock is a clock that the test advances.
type clock struct{ t time.Time }

func (c *clock) now() time.Time       { return c.t }
func (c *clock) tick(d time.Duration) { c.t = c.t.Add(d) }
func newClock() *clock                { return &clock{time.Unix(1_000_000, 0)} }
func lines(b *bytes.Buffer) []string {
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}
func plain(c *clock) progress.Options { return progress.Options{Now: c.now, Terminal: new(false)} }
func onScreen() progress.Options      { return progress.Options{Terminal: new(true)} }
func controls(b *bytes.Buffer) int {
	return strings.Count(b.String(), "\r") + strings.Count(b.String(), "\x1b")
}
func withTotal(o progress.Options) progress.Options {
	o.Total, o.Label, o.Unit = 400, "train", "it"
	return o
}

func TestPlainLinesComeAtTheInterval(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	b := progress.New(&out, withTotal(plain(c)))
	for i := range 25 { // one step per second, one line per ten
		c.tick(time.Second)
		if i == 14 {
			b.Note("return -812\nkl 0.011")
		}
		b.Add(1)
	}
	b.Finish()
	b.Add(1)
	b.Note("late")
	b.Finish()
	want := []string{
		"train  10/400 it  2%  1 it/s  10s  eta 6m30s",
		"train  20/400 it  5%  1 it/s  20s  eta 6m20s  return -812 kl 0.011",
		"train  25/400 it  6%  1 it/s  25s  eta 6m15s  return -812 kl 0.011",
	}
	if diff := cmp.Diff(want, lines(&out)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if controls(&out) != 0 {
		t.Error("control characters in plain output")
	}
}

// TestTheCallerMaySayWhatIsLeft checks that the display shows the remaining time that the caller sets, for steps of different
// lengths, on a terminal too.
func TestTheCallerMaySayWhatIsLeft(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	opts := withTotal(plain(c))
	opts.Timed = true
	b := progress.New(&out, opts)
	for _, left := range []time.Duration{0, 90 * time.Second} {
		c.tick(10 * time.Second)
		b.Left(left)
		b.Add(1)
	}
	want := []string{"train  1/400 it  0%  0.1 it/s  10s", "train  2/400 it  0%  0.1 it/s  20s  eta 1m30s"}
	if diff := cmp.Diff(want, lines(&out)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	out.Reset()
	opts = withTotal(onScreen())
	opts.Timed = true
	b = progress.New(&out, opts)
	b.Left(90 * time.Second)
	b.Set(400)
	b.Finish()
	if !strings.Contains(out.String(), "eta 1m30s") {
		t.Errorf("%q, want the time left", out.String())
	}
}

// TestClear checks that a line printed while the bar is cleared stands alone.
func TestClear(t *testing.T) {
	var out bytes.Buffer
	b := progress.New(&out, withTotal(onScreen()))
	b.Clear()
	if text := out.String(); !strings.Contains(text, "train") || strings.TrimLeft(text[strings.LastIndexByte(text, '\r'):], "\r") != "" {
		t.Errorf("%q does not end with an empty line", text)
	}
	out.Reset()
	b = progress.New(&out, withTotal(plain(newClock())))
	b.Clear()
	if out.Len() != 0 {
		t.Errorf("%q without a bar", out.String())
	}
}

func TestQuietWritesNothing(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		b := progress.New(&out, progress.Options{Quiet: true, Terminal: new(terminal), Total: 2})
		b.Add(1)
		b.Note("x")
		b.Set(2)
		b.Finish()
		if out.Len() != 0 {
			t.Errorf("terminal %v: quiet wrote %q", terminal, out.String())
		}
	}
}

func TestTerminalShowsABar(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	var out bytes.Buffer
	b := progress.New(&out, withTotal(onScreen()))
	b.Note("kl 0.011")
	b.Set(400)
	b.Set(401) // more than the total must not break the display
	b.Finish()
	got := out.String()
	for _, want := range []string{"\r", "train", "kl 0.011", "400/400", "100%"} {
		if !strings.Contains(got, want) {
			t.Errorf("the bar does not show %q: %q", want, got)
		}
	}
	if !strings.HasSuffix(got, "\n") {
		t.Errorf("the bar does not end its line: %q", got)
	}
	if strings.Contains(got, "\x1b[3") {
		t.Errorf("colour despite NO_COLOR: %q", got)
	}
}

// TestFinishDoesNotFillTheBar checks that the bar of an interrupted run is not filled.
func TestFinishDoesNotFillTheBar(t *testing.T) {
	var out bytes.Buffer
	b := progress.New(&out, withTotal(onScreen()))
	b.Set(100)
	b.Finish()
	if strings.Contains(out.String(), "400/400") {
		t.Errorf("the bar claims to be complete: %q", out.String())
	}
}

func TestTerminalWithoutTotal(t *testing.T) {
	var out bytes.Buffer
	b := progress.New(&out, onScreen())
	for range 300 {
		b.Add(1)
	}
	b.Finish()
	if !strings.HasSuffix(out.String(), "\n") {
		t.Errorf("the spinner does not end its line: %q", out.String())
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	b := progress.New(f, progress.Options{Total: 50})
	for range 50 {
		b.Add(1)
	}
	b.Finish()
	got := must.Get(os.ReadFile(path))(t)
	if n := bytes.Count(got, []byte("\n")); n != 1 || bytes.ContainsAny(got, "\r\x1b") {
		t.Errorf("a log file got %q, want one plain line", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		b := progress.New(&out, progress.Options{Terminal: new(terminal), Total: 400})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 100 {
					b.Add(1)
					b.Note("n")
				}
			})
		}
		wg.Wait()
		b.Finish()
		if !strings.Contains(out.String(), "400/400") {
			t.Errorf("terminal %v: lost steps: %q", terminal, out.String())
		}
	}
}

// TestOnePlainLine checks the line at the end, without a total or steps, and that steps finished before do not count for the rate.
func TestOnePlainLine(t *testing.T) {
	for _, c := range []struct {
		steps, before int64
		total         bool
		after         time.Duration
		want          string
	}{
		{7, 0, false, 2 * time.Second, "7  3.5/s  2s"},
		{0, 0, false, 0, "0  0/s  0s"},
		{95, 90, true, 5 * time.Second, "train  95/400 it  24%  1 it/s  5s  eta 5m5s"},
	} {
		var out bytes.Buffer
		clock := newClock()
		o := plain(clock)
		if c.total {
			o = withTotal(o)
		}
		b := progress.New(&out, o)
		b.Skip(c.before)
		clock.tick(c.after)
		b.Set(c.steps)
		b.Finish()
		if diff := cmp.Diff([]string{c.want}, lines(&out)); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	}
}
