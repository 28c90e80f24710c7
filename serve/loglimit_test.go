package serve

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// logged returns a logger whose lines are limited, with what it wrote.
func logged() (*slog.Logger, *limited, *bytes.Buffer) {
	var out bytes.Buffer
	h := limit(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return slog.New(h), h, &out
}

// TestTheLogIsLimited checks that of many warnings a few are written, that the number of the others is told, and that other
// messages and levels are not held up.
func TestTheLogIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, h, out := logged()
		for i := range 1000 {
			log.With("n", i).Warn("request", "status", 400)
			log.Info("request", "status", 200)
		}
		log.Error("request", "status", 500)
		log.Warn("beliefs not saved")
		for part, want := range map[string]int{
			"level=WARN msg=request": mostLines, "level=INFO": 1000, "level=ERROR": 1, "beliefs not saved": 1, "left_out": 0,
		} {
			if got := strings.Count(out.String(), part); got != want {
				t.Errorf("%d lines of %s, want %d", got, part, want)
			}
		}
		out.Reset()
		h.flush(time.Now(), false)
		if out.Len() > 0 {
			t.Errorf("the period is not over: %s", out)
		}
		time.Sleep(logPeriod)
		log.Warn("request", "status", 401)
		log.Warn("request", "status", 402)
		const told = "status=401 left_out=900"
		if text := out.String(); !strings.Contains(text, told) || strings.Count(text, "left_out") != 1 {
			t.Errorf("no %q once in %s", told, text)
		}
	})
}

// TestLeftLinesAreToldWithoutMore checks that the number of lines left out is told though no more come, once.
func TestLeftLinesAreToldWithoutMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, last := range []bool{false, true} {
			log, h, out := logged()
			for range mostLines + 7 {
				log.Warn("request")
			}
			if !last {
				time.Sleep(logPeriod)
			}
			out.Reset()
			for range 2 {
				h.flush(time.Now(), last)
			}
			if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `level=WARN msg="log lines left out" of=request left_out=7`) {
				t.Errorf("last %t: %s", last, text)
			}
		}
	})
}

// TestMessagesThatDifferAreLimited checks that neither the log nor the memory of its limits grows with messages that differ, as
// those of net/http do.
func TestMessagesThatDifferAreLimited(t *testing.T) {
	log, h, out := logged()
	errors := slog.NewLogLogger(oneKind{h}, slog.LevelWarn)
	for i := range 1000 {
		errors.Printf("http: TLS handshake error from 127.0.0.1:%d: EOF", i)
	}
	if got := strings.Count(out.String(), "TLS handshake"); got != mostLines {
		t.Errorf("%d lines of connections, want %d", got, mostLines)
	}
	for i := range 3 * mostKinds {
		log.Warn(fmt.Sprint("message ", i))
	}
	if n := len(h.of.counts); n > mostKinds+1 {
		t.Errorf("%d messages are remembered", n)
	}
	h.flush(time.Now().Add(2*logPeriod), false)
	if n := len(h.of.counts); n != 0 {
		t.Errorf("%d messages are remembered for ever", n)
	}
}
