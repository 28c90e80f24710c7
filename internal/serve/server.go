package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/clustergym/clustergym/env/cluster"
)

// Config is what a server decides by. Zero values are replaced where a default is named.
type Config struct {
	Source   Source
	Fallback func(*Policy) (*Policy, error) // who decides when this policy does not
	Profile  cluster.Profile                // what is known of speed, nil for nothing
	Seed     uint64                         // of policies that draw
	Deadline time.Duration                  // of a decision: 1 s
	Parallel int                            // requests that are decided at a time: GOMAXPROCS
	MaxBody  int64                          // bytes of a snapshot: 64 MiB
	Token    string                         // that requests must bring, "" for none
	Decision *Log                           // nil: decisions are not logged
	Log      *slog.Logger
}

// Server answers snapshots with plans. It is safe for concurrent use.
type Server struct {
	Config
	late     atomic.Int64 // decisions past their deadline that still run
	metrics  *metrics
	slots    chan struct{}
	loaded   atomic.Pointer[loaded]
	draining atomic.Bool

	reloading sync.Mutex
	tried     string // stamp of the last attempt to load
}

// loaded is what decides from one reload to the next.
type loaded struct {
	policy, fallback *Policy
	first, second    guard // of the policy; of the fallback and the prior
	stamp            string
	since            time.Time
}

// New returns a server whose policy is loaded.
func New(c Config) (*Server, error) {
	c.Deadline = cmp.Or(c.Deadline, time.Second)
	c.Parallel = cmp.Or(c.Parallel, runtime.GOMAXPROCS(0))
	c.MaxBody = cmp.Or(c.MaxBody, 64<<20)
	if c.Deadline < 0 || c.Parallel < 0 || c.MaxBody < 0 {
		return nil, fmt.Errorf("serve with a deadline of %v, %d decisions at a time, bodies of %d bytes: want more than 0",
			c.Deadline, c.Parallel, c.MaxBody)
	}
	s := &Server{Config: c, slots: make(chan struct{}, c.Parallel)}
	s.metrics = newMetrics(&s.late, func() *Policy { return s.loaded.Load().policy })
	now, err := s.load()
	if err != nil {
		return nil, err
	}
	s.loaded.Store(now)
	s.tried = now.stamp
	return s, nil
}

// Handler returns what the server answers. Without a token it answers only requests to localhost.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	open := func(pattern string, h http.HandlerFunc) { mux.Handle(pattern, s.count(pattern, h)) }
	closed := func(pattern string, h http.HandlerFunc) { open(pattern, s.authorised(h)) }
	open("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	open("GET /readyz", s.ready)
	closed("POST /v1/plan", s.plan)
	closed("GET /v1/policy", s.policy)
	scrape := promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{})
	closed("GET /metrics", scrape.ServeHTTP)
	open("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusNotFound, fmt.Errorf("%s %s: want POST /v1/plan, or GET /v1/policy, /healthz, /readyz or /metrics",
			r.Method, r.URL.Path))
	})
	return s.guarded(s.local(mux))
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		s.fail(w, r, http.StatusServiceUnavailable, errors.New("the server is about to end"))
		return
	}
	_, _ = io.WriteString(w, "ok\n") // a server without a policy does not exist
}

// Served is the answer about the policy.
type Served struct {
	Policy   string    `json:"policy"`
	Digest   string    `json:"digest,omitempty"`
	Prior    string    `json:"prior,omitempty"`
	Fallback string    `json:"fallback"`
	Deadline float64   `json:"deadline_s"`
	Since    time.Time `json:"since"`
}

func (s *Server) policy(w http.ResponseWriter, _ *http.Request) {
	l := s.loaded.Load()
	out := Served{
		Policy: l.policy.Name, Digest: l.policy.Digest, Fallback: l.fallback.Name, Deadline: s.Deadline.Seconds(), Since: l.since,
	}
	if l.policy.Prior != nil {
		out.Prior = l.policy.Prior.Name
	}
	reply(w, http.StatusOK, out)
}

func (s *Server) plan(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		s.fail(w, r, http.StatusServiceUnavailable, errors.New("the server is about to end"))
		return
	}
	select {
	case s.slots <- struct{}{}:
		s.metrics.running.Inc()
		defer func() { <-s.slots; s.metrics.running.Dec() }()
	default:
		w.Header().Set("Retry-After", "1")
		s.fail(w, r, http.StatusTooManyRequests, fmt.Errorf("%d decisions are being made: ask again", s.Parallel))
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		w.Header().Set("Connection", "close")
		s.fail(w, r, http.StatusRequestEntityTooLarge, fmt.Errorf("read snapshot: more than %d bytes", large.Limit))
		return
	case err != nil:
		s.fail(w, r, http.StatusBadRequest, fmt.Errorf("read snapshot: %w", err))
		return
	}
	state, err := cluster.ReadSnapshot(bytes.NewReader(text))
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, err)
		return
	}
	state.SetProfile(s.Profile)
	l := s.loaded.Load() // this request's, whatever is loaded meanwhile
	answer, fails := l.decide(state, s.Seed)
	s.note(r.Context(), l, fails)
	if answer == nil {
		s.metrics.undecided.Inc()
		s.fail(w, r, undecided(fails), errors.Join(errs(fails)...))
		return
	}
	answer.Decision.RequestID = requestID(r.Context())
	s.metrics.decisions.WithLabelValues(answer.Decision.By).Inc()
	s.metrics.seconds.Observe(answer.Decision.Seconds)
	s.metrics.strange.Add(float64(answer.Decision.Strange))
	if s.Decision != nil {
		if err := s.Decision.write(time.Now(), text, answer); err != nil {
			s.metrics.unlogged.Inc()
			s.Log.ErrorContext(r.Context(), "decision not logged", "request_id", answer.Decision.RequestID, "error", err)
		}
	}
	reply(w, http.StatusOK, answer)
}

// undecided is the status of a snapshot that got no plan: a fault of the snapshot if whoever was asked said why.
func undecided(fails [2]*failure) int {
	for _, f := range fails {
		if f != nil && f.reason != ReasonError {
			return http.StatusServiceUnavailable
		}
	}
	return http.StatusUnprocessableEntity
}

func errs(fails [2]*failure) (list []error) {
	for _, f := range fails {
		if f != nil {
			list = append(list, f)
		}
	}
	return list
}

// note counts and logs who did not decide.
func (s *Server) note(ctx context.Context, l *loaded, fails [2]*failure) {
	for i, f := range fails {
		if f == nil {
			continue
		}
		who := "fallback"
		if i == 0 {
			who = "policy"
			s.metrics.fallbacks.WithLabelValues(f.reason).Inc()
		}
		name := [2]string{l.policy.Name, l.fallback.Name}[i]
		args := []any{"request_id", requestID(ctx), who, name, "reason", f.reason, "error", f.err}
		if f.stack != nil {
			args = append(args, "stack", string(f.stack))
		}
		s.Log.WarnContext(ctx, who+" did not decide", args...)
	}
}

// Problem is the answer to a request that gets no other.
type Problem struct {
	Error     string `json:"error"`
	RequestID string `json:"request_id"`
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, err error) {
	if seen, ok := w.(*watched); ok {
		seen.err = err
	}
	reply(w, status, Problem{err.Error(), requestID(r.Context())})
}

// reply writes as plan --json does.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the client went away
}
