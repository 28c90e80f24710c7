package serve

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/loopback"
)

type requestKey struct{}

// requestID returns the id of a context's request.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

var goodID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// guarded gives every request an id: the client's own if it is valid, otherwise a random one. It recovers from panics: the client
// gets an internal error and the log the details.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !goodID.MatchString(id) {
			var b [8]byte
			_, _ = rand.Read(b[:]) // never fails
			id = hex.EncodeToString(b[:])
		}
		w.Header().Set("X-Request-Id", id)
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
		seen := &watched{ResponseWriter: w}
		began := time.Now()
		defer func() {
			v := recover()
			begun := seen.status != 0
			if v != nil {
				s.Log.ErrorContext(r.Context(), "panic", "request_id", id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				s.metrics.requests.WithLabelValues("panic", strconv.Itoa(http.StatusInternalServerError)).Inc()
				if !begun {
					s.fail(seen, r, http.StatusInternalServerError, errors.New("internal error: see the server's log"))
				}
			}
			s.access(r, seen, id, time.Since(began))
			if v != nil && begun {
				panic(http.ErrAbortHandler) // a partial answer must not look complete
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

func (s *Server) access(r *http.Request, w *watched, id string, took time.Duration) {
	level := slog.LevelInfo
	if w.status >= http.StatusInternalServerError {
		level = slog.LevelError
	} else if w.status >= http.StatusBadRequest {
		level = slog.LevelWarn
	} else if r.Method == http.MethodGet {
		level = slog.LevelDebug // probes
	}
	args := []any{
		"request_id", id, "method", r.Method, "path", r.URL.Path, "status", w.status, "bytes", w.bytes, "seconds", took.Seconds(),
		"remote", r.RemoteAddr,
	}
	if w.err != nil {
		args = append(args, "error", w.err)
	}
	s.Log.Log(r.Context(), level, "request", args...)
}

// watched is a ResponseWriter that stores the status, size and error of the answer.
type watched struct {
	http.ResponseWriter
	status int
	bytes  int64
	err    error
}

func (w *watched) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find the connection.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// count counts the answers for a path.
func (s *Server) count(pattern string, next http.HandlerFunc) http.Handler {
	path := pattern[strings.IndexByte(pattern, '/'):]
	if path == "/" {
		path = "other"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next(w, r)
		if seen, ok := w.(*watched); ok {
			s.metrics.requests.WithLabelValues(path, strconv.Itoa(max(seen.status, http.StatusOK))).Inc()
		}
	})
}

// authorised passes on requests that carry the token.
func (s *Server) authorised(next http.HandlerFunc) http.HandlerFunc {
	bears := Bears(s.Token)
	return func(w http.ResponseWriter, r *http.Request) {
		if !bears(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.fail(w, r, http.StatusUnauthorized, errors.New("want the header Authorization: Bearer TOKEN with the server's token"))
			return
		}
		next(w, r)
	}
}

// local refuses requests from web pages of other sites. Without a token it also refuses requests that name a host other than this
// machine, because a web page can make its own host name point here.
func (s *Server) local(next http.Handler) http.Handler {
	page := http.NewCrossOriginProtection()
	page.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusForbidden, errors.New("the request comes from another site"))
	}))
	next = page.Handler(next)
	if s.Token != "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := namesThisMachine(r); err != nil {
			s.fail(w, r, http.StatusForbidden, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// namesThisMachine returns an error for a request to a server without a token if it names another host than this machine.
func namesThisMachine(r *http.Request) error {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host = strings.Trim(host, "[]"); loopback.Is(host) {
		return nil
	}
	return fmt.Errorf("host %q, want localhost or an address of it: this server has no token", host)
}
