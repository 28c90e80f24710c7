package serve

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// LogHandler logs as text on a terminal, for people, and else as JSON lines.
func LogHandler(w io.Writer, opts *slog.HandlerOptions) slog.Handler {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return slog.NewTextHandler(w, opts)
	}
	return slog.NewJSONHandler(w, opts)
}
