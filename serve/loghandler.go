package serve

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// LogHandler returns a handler that logs text if w is a terminal, and otherwise JSON lines.
func LogHandler(w io.Writer, opts *slog.HandlerOptions) slog.Handler {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return slog.NewTextHandler(w, opts)
	}
	return slog.NewJSONHandler(w, opts)
}
