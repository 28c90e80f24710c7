package serve

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// How fast a body has to arrive, so that a slow client does not keep memory and a connection for long.
const (
	bodyGrace = 5 * time.Second // time for the start
	bodyRate  = 64 << 10        // bytes per second after that
)

// roomFor limits the memory for bodies: per concurrent decision, this many bodies of the largest size.
const roomFor = 4

var (
	errSlow = fmt.Errorf("the body comes too slowly, want %d bytes a second after %v and all of it within %v",
		bodyRate, bodyGrace, readTime)
	errFull = errors.New("the bodies of other requests take all the memory there is for them: ask again")
)

// body reads the body of a request. The server counts the capacity of the returned slice as held memory until the caller
// subtracts it from s.held. The error is a *refusal.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > s.MaxBody {
		return nil, refuse(w, http.StatusRequestEntityTooLarge, &http.MaxBytesError{Limit: s.MaxBody})
	}
	in := &bodyReader{
		server: s, in: http.MaxBytesReader(w, r.Body, s.MaxBody), control: http.NewResponseController(w), began: time.Now(),
	}
	text, err := io.ReadAll(in)
	s.held.Add(int64(cap(text)) - in.read)
	// The next request on this connection has its own limits. If this deadline stayed, the server would take the client for gone.
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

// refuse returns a refusal for a body that was not read to its end, and has the connection closed after the answer.
func refuse(w http.ResponseWriter, status int, err error) error {
	w.Header().Set("Connection", "close")
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		err = fmt.Errorf("more than %d bytes", large.Limit)
	}
	return &refusal{status, fmt.Errorf("read snapshot: %w", err)}
}

// bodyReader reads a body and counts its bytes as held. Its deadline moves with the number of bytes that have arrived.
type bodyReader struct {
	server  *Server
	in      io.Reader
	control *http.ResponseController
	began   time.Time
	read    int64
}

func (b *bodyReader) Read(p []byte) (int, error) {
	within := min(bodyGrace+time.Duration(b.read)*time.Second/bodyRate, readTime)
	_ = b.control.SetReadDeadline(b.began.Add(within)) // a writer without a connection has no deadline
	n, err := b.in.Read(p)
	b.read += int64(n)
	if held := b.server.held.Add(int64(n)); held > roomFor*int64(b.server.Parallel)*b.server.MaxBody {
		return n, errFull
	}
	return n, err
}
