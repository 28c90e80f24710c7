package serve

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// How fast a body has to come: a client that sends slowly must not keep memory and a connection for long.
const (
	bodyGrace = 5 * time.Second // to begin with
	bodyRate  = 64 << 10        // bytes a second after that
)

// roomFor is how many bodies of the largest size may be in memory for each decision that is made at a time.
const roomFor = 4

var (
	errSlow = fmt.Errorf("the body comes too slowly, want %d bytes a second after %v and all of it within %v",
		bodyRate, bodyGrace, readTime)
	errFull = errors.New("the bodies of other requests take all the memory there is for them: ask again")
)

// body reads the body of a request. What it returns counts as held by the server, with its capacity, until the caller gives it
// back. The error is a *refusal.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > s.MaxBody {
		return nil, refuse(w, http.StatusRequestEntityTooLarge, &http.MaxBytesError{Limit: s.MaxBody})
	}
	in := &bodyReader{
		server: s, in: http.MaxBytesReader(w, r.Body, s.MaxBody), control: http.NewResponseController(w), began: time.Now(),
	}
	text, err := io.ReadAll(in)
	s.held.Add(int64(cap(text)) - in.read)
	// What comes next on this connection has limits of its own. Without this one, the server would take the client for gone.
	_ = in.control.SetReadDeadline(time.Time{})
	switch {
	case err == nil:
		return text, nil
	case errors.As(err, new(*http.MaxBytesError)):
		err = refuse(w, http.StatusRequestEntityTooLarge, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = refuse(w, http.StatusRequestTimeout, errSlow)
	case errors.Is(err, errFull):
		err = refuse(w, http.StatusTooManyRequests, err)
	default:
		err = &refusal{gone(r.Context(), http.StatusBadRequest), fmt.Errorf("read snapshot: %w", err)}
	}
	return text, err
}

// refuse refuses a body that was not read to its end, and the connection with it.
func refuse(w http.ResponseWriter, status int, err error) error {
	w.Header().Set("Connection", "close")
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		err = fmt.Errorf("more than %d bytes", large.Limit)
	}
	return &refusal{status, fmt.Errorf("read snapshot: %w", err)}
}

// bodyReader reads a body under a deadline that moves with what has come, and counts it as held.
type bodyReader struct {
	server  *Server
	in      io.Reader
	control *http.ResponseController
	began   time.Time
	read    int64
}

func (b *bodyReader) Read(p []byte) (int, error) {
	within := min(bodyGrace+time.Duration(b.read)*time.Second/bodyRate, readTime)
	_ = b.control.SetReadDeadline(b.began.Add(within)) // writers that are not of a connection have none
	n, err := b.in.Read(p)
	b.read += int64(n)
	if held := b.server.held.Add(int64(n)); held > roomFor*int64(b.server.Parallel)*b.server.MaxBody {
		return n, errFull
	}
	return n, err
}
