package report

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/needs"
)

// patience is the time limit for all that one test does in the browser.
const patience = 90 * time.Second

// browser is a page in headless Chromium, with the page's errors and network requests.
type browser struct {
	tb  testing.TB
	ctx context.Context

	mu       sync.Mutex
	problems []string
	requests []string
}

// chromium returns the path of the browser. Without one it skips the test, except in CI, where the test fails.
func chromium(tb testing.TB) string {
	tb.Helper()
	return needs.Program(tb, needs.Chromium, "chromium", "chromium-browser", "google-chrome", "chrome")
}

// step is an action in a browser.
type step = chromedp.Action[chromedp.Void]

// call returns a step that sends a command of the Chrome DevTools protocol.
func call[P, R any](command cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// start opens a browser and records its errors and requests.
func start(tb testing.TB) *browser {
	tb.Helper()
	path := chromium(tb)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.Flag("headless", "new"), chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-color-profile", "srgb"), chromedp.UserDataDir(tb.TempDir()))
	ctx, cancel = chromedp.NewExecAllocator(ctx, flags...)
	tb.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	tb.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			tb.Logf("close the browser: %v", err)
		}
		cancel()
	})
	b := &browser{tb: tb, ctx: ctx}
	must.Do(tb, chromedp.Listen(ctx, b.listen))
	b.do(call(network.Enable, network.EnableParams{}), call(log.Enable, cdp.Empty{}))
	return b
}

// open writes a report to a file and opens it.
func (b *browser) open(r *Report) {
	b.tb.Helper()
	var html bytes.Buffer
	if err := r.Write(&html); err != nil {
		b.tb.Fatal(err)
	}
	file := filepath.Join(b.tb.TempDir(), "report.html")
	if err := os.WriteFile(file, html.Bytes(), 0o666); err != nil {
		b.tb.Fatal(err)
	}
	b.mu.Lock()
	b.requests = nil
	b.mu.Unlock()
	b.do(chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()),
		chromedp.WaitReady(chromedp.CSS(`html[data-ready=true]`)))
	b.settle()
}

// screen sets the size of the window. If phone is true, it also emulates touch and a higher pixel density.
func (b *browser) screen(width, height int64, phone bool) {
	b.tb.Helper()
	if phone {
		b.do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(2), chromedp.EmulateMobile, chromedp.EmulateTouch))
	} else {
		b.do(chromedp.EmulateViewport(width, height))
	}
}

// media sets the colour scheme and the medium; "" is the screen.
func (b *browser) media(scheme, medium string) {
	b.tb.Helper()
	b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
	b.settle()
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "exception: "+exception(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if kind := string(e.Type); kind == "error" || kind == "warning" || kind == "assert" {
			for _, a := range e.Args {
				b.problems = append(b.problems, fmt.Sprintf("console %s: %s %s", e.Type, a.Value, a.Description))
			}
		}
	case *log.EventEntryAdded:
		b.problems = append(b.problems, fmt.Sprintf("log %s: %s", e.Entry.Level, e.Entry.Text))
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

func exception(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

// do takes steps and ends the test if one fails.
func (b *browser) do(steps ...step) {
	b.tb.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.fail(err)
	}
}

func (b *browser) fail(err error) {
	b.tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tb.Fatalf("browser: %v; the page complained of %q", err, b.problems)
}

// clean checks that the page reported no error and requested nothing except itself.
func (b *browser) clean() {
	b.tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		b.tb.Error(p)
	}
	for i, r := range b.requests {
		if i > 0 || !strings.HasPrefix(r, "file:") {
			b.tb.Errorf("the page asked for %.120q", r)
		}
	}
	if len(b.requests) == 0 {
		b.tb.Error("no request seen, not even for the page: the network is not watched")
	}
}

// ask evaluates an expression and returns its value; it awaits a promise.
func ask[T any](b *browser, expression string) T {
	b.tb.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.fail(fmt.Errorf("%s: %w", expression, err))
	}
	return out
}

// settle waits until pending drawing is done.
func (b *browser) settle() {
	b.tb.Helper()
	ask[bool](b, `new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => r(true), 30))))`)
}

// shoot stores a picture of the whole page in $CLUSTERGYM_ARTEFACTS, if that is set.
func (b *browser) shoot(name string) {
	b.tb.Helper()
	b.keep(name, chromedp.FullScreenshot(100))
}

// shootWindow stores a picture of the visible part of the page.
func (b *browser) shootWindow(name string) {
	b.tb.Helper()
	b.keep(name, chromedp.CaptureScreenshot())
}

func (b *browser) keep(name string, picture chromedp.Action[[]byte]) {
	b.tb.Helper()
	dir := os.Getenv("CLUSTERGYM_ARTEFACTS")
	if dir == "" {
		dir = b.tb.TempDir()
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		b.tb.Fatal(err)
	}
	png, err := chromedp.Run(b.ctx, picture)
	if err != nil {
		b.fail(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "report-"+name+".png"), png, 0o666); err != nil {
		b.tb.Fatal(err)
	}
}
