package serve

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	mostLines = 100         // of one message
	logPeriod = time.Minute // in this time
	mostKinds = 1000        // of messages that are counted apart
)

// limited is a log handler that passes on at most mostLines warnings or errors of one message in a period, so that bad requests
// do not fill the disk. It counts the others: the next line of the message, and otherwise the line of flush, says how many they
// were. The time is that of the records.
type limited struct {
	slog.Handler
	of *kinds
}

// kinds counts the records of each message.
type kinds struct {
	mu     sync.Mutex
	counts map[kind]*lines
}

type kind struct {
	level   slog.Level
	message string
}

type lines struct {
	since time.Time // beginning of the period
	wrote int
	left  int // out, since the last line
}

func limit(h slog.Handler) *limited { return &limited{h, &kinds{counts: map[kind]*lines{}}} }

// Handle implements slog.Handler.
func (l *limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return l.Handler.Handle(ctx, r)
	}
	left, ok := l.of.count(&r)
	if !ok {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out", left))
	}
	return l.Handler.Handle(ctx, r)
}

// count reports whether a record is passed on, and how many were left out before it.
func (k *kinds) count(r *slog.Record) (left int, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	of := kind{r.Level, r.Message}
	if k.counts[of] == nil && len(k.counts) >= mostKinds {
		of.message = "" // all others together
	}
	n := k.counts[of]
	if n == nil {
		n = new(lines)
		k.counts[of] = n
	}
	if r.Time.Sub(n.since) >= logPeriod {
		n.since, n.wrote = r.Time, 0
	}
	if n.wrote == mostLines {
		n.left++
		return 0, false
	}
	n.wrote++
	left, n.left = n.left, 0
	return left, true
}

// flush says how many records were left out since the last line of each message, if its period is over or last is true.
func (l *limited) flush(now time.Time, last bool) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	for of, n := range l.of.counts {
		if n.left > 0 && (last || now.Sub(n.since) >= logPeriod) {
			r := slog.NewRecord(now, of.level, "log lines left out", 0)
			r.AddAttrs(slog.String("of", of.message), slog.Int("left_out", n.left))
			_ = l.Handler.Handle(context.Background(), r) // slog ignores errors, too
			n.left = 0
		}
		if now.Sub(n.since) >= 2*logPeriod {
			delete(l.of.counts, of)
		}
	}
}

// WithAttrs implements slog.Handler.
func (l *limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limited{l.Handler.WithAttrs(attrs), l.of}
}

// WithGroup implements slog.Handler.
func (l *limited) WithGroup(name string) slog.Handler {
	return &limited{l.Handler.WithGroup(name), l.of}
}

// oneKind gives all records of a log one message, and their own as an attribute: those of net/http each have another one.
type oneKind struct{ slog.Handler }

// Handle implements slog.Handler.
func (o oneKind) Handle(ctx context.Context, r slog.Record) error {
	same := slog.NewRecord(r.Time, r.Level, "connection failed", r.PC)
	same.AddAttrs(slog.String("error", r.Message))
	return o.Handler.Handle(ctx, same)
}
