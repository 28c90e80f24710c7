// Package progress shows the progress of a long run: a bar on a terminal, a line every few seconds elsewhere, and nothing when
// quiet. It never affects the run: errors of the display do not reach the caller. It uses no colour, and so respects NO_COLOR.
//
// The package reads the wall clock, because rates and estimates of the remaining time need it. Results never depend on it.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// defaultInterval is the time between plain lines if Options sets none.
const defaultInterval = 10 * time.Second

// barInterval is the least time between two redraws of the bar on a terminal.
const barInterval = 100 * time.Millisecond

// Options configure a display. The zero value shows a count without a total.
type Options struct {
	Quiet    bool             // show nothing
	Total    int64            // expected number of steps; 0 if unknown
	Label    string           // name of the run, for example "train"
	Unit     string           // name of a step, for example "it"
	Interval time.Duration    // between plain lines; 0 means 10 s
	Now      func() time.Time // the clock; nil means time.Now
	Terminal *bool            // whether w is a terminal; nil to find out
	Timed    bool             // the caller sets the remaining time with Left: the bar does not estimate it
}

// Bar is one display. Its methods are safe for concurrent use and do nothing when quiet.
type Bar struct {
	mu      sync.Mutex
	w       io.Writer
	opts    Options
	bar     *progressbar.ProgressBar // nil unless on a terminal
	count   int64
	skipped int64 // steps done before New; they do not count in the rate
	note    string
	left    time.Duration // remaining time as set by Left; 0 if not set
	started time.Time
	printed time.Time // when the last plain line was printed
	done    bool
}

// New starts a display on w, usually standard error. The caller must call Finish at the end.
func New(w io.Writer, opts Options) *Bar {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Interval <= 0 {
		opts.Interval = defaultInterval
	}
	b := &Bar{w: w, opts: opts, done: opts.Quiet}
	if opts.Quiet {
		return b
	}
	b.started = opts.Now()
	b.printed = b.started
	if onTerminal(w, opts.Terminal) {
		b.bar = newTerminalBar(w, opts)
	}
	return b
}

// Add adds n to the number of finished steps.
func (b *Bar) Add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(b.count + n)
}

// Set sets the number of finished steps.
func (b *Bar) Set(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(n)
}

// Skip sets the number of steps that were finished before the display began.
func (b *Bar) Skip(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.skipped = n
	b.set(n)
}

// Left sets the remaining time, for steps that take different times: see Options.Timed.
func (b *Bar) Left(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = d
	if b.bar != nil && !b.done {
		b.describe()
	}
}

// Note replaces the text shown beside the count, for example "return -812 kl 0.011". Line ends become spaces.
func (b *Bar) Note(msg string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	b.note = strings.Join(strings.Fields(msg), " ")
	if b.bar != nil {
		b.describe()
		return
	}
	b.tick()
}

// Clear removes the bar from the terminal, so that the caller can print a line. The next step or note draws the bar again.
func (b *Bar) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil && !b.done {
		_ = b.bar.Clear()
	}
}

// Finish ends the display with the current count, even if the count is below the total. Later calls do nothing.
func (b *Bar) Finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	b.done = true
	if b.bar == nil {
		b.line(b.opts.Now())
		return
	}
	_ = b.bar.Exit()
	_, _ = fmt.Fprintln(b.w)
}

func (b *Bar) describe() {
	text := join(b.opts.Label, b.note)
	if b.left > 0 {
		text = join(text, "eta "+b.left.Round(time.Second).String())
	}
	b.bar.Describe(text)
}

func (b *Bar) set(n int64) {
	if b.done {
		return
	}
	b.count = n
	if b.bar == nil {
		b.tick()
		return
	}
	if b.opts.Total > 0 {
		n = min(n, b.opts.Total) // the bar returns an error if n exceeds its total
	}
	_ = b.bar.Set64(n)
}

// tick prints a line if one is due.
func (b *Bar) tick() {
	if now := b.opts.Now(); now.Sub(b.printed) >= b.opts.Interval {
		b.line(now)
	}
}

func (b *Bar) line(now time.Time) {
	b.printed = now
	elapsed := now.Sub(b.started)
	rate := 0.0
	if elapsed > 0 {
		rate = float64(b.count-b.skipped) / elapsed.Seconds()
	}
	count := fmt.Sprintf("%d", b.count)
	var share, left string
	if total := b.opts.Total; total > 0 {
		count = fmt.Sprintf("%d/%d", b.count, total)
		share = fmt.Sprintf("%.0f%%", 100*float64(b.count)/float64(total))
		eta := b.left
		if !b.opts.Timed && rate > 0 && b.count < total {
			eta = time.Duration(float64(total-b.count) / rate * float64(time.Second))
		}
		if eta > 0 {
			left = "eta " + eta.Round(time.Second).String()
		}
	}
	if b.opts.Unit != "" {
		count += " " + b.opts.Unit
	}
	speed := strings.TrimSpace(fmt.Sprintf("%.3g %s", rate, b.opts.Unit)) + "/s"
	_, _ = fmt.Fprintln(b.w, join(b.opts.Label, count, share, speed, elapsed.Round(time.Second).String(), left, b.note))
}

// join joins the parts that are not empty, with two spaces between them.
func join(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, "  ")
}

func newTerminalBar(w io.Writer, opts Options) *progressbar.ProgressBar {
	total := opts.Total
	if total <= 0 {
		total = -1
	}
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(opts.Label),
		progressbar.OptionSetItsString(opts.Unit),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionShowElapsedTimeOnFinish(),
		progressbar.OptionSetPredictTime(!opts.Timed),
		progressbar.OptionThrottle(barInterval),
		progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine: the spinner turns when steps are counted
		progressbar.OptionSetRenderBlankState(true),
	)
}

// onTerminal reports whether w is a terminal that supports carriage returns. The parameter forced overrides that if it is not
// nil.
func onTerminal(w io.Writer, forced *bool) bool {
	if forced != nil {
		return *forced
	}
	f, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}
