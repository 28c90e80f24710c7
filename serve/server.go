package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/serve/decide"
)

// Config configures a server. New replaces a zero value by the default after the colon, if there is one.
type Config struct {
	decide.Config                 // Parallel also limits concurrent requests; New replaces Registry
	Profile       cluster.Profile // the known speeds of jobs, nil for none
	MaxBody       int64           // most bytes of a snapshot: 16 MiB
	Assume        time.Duration   // estimate of jobs that have none, 0 for none
	Token         string          // that requests must carry, "" for none
}

// Server answers snapshots with plans. It is safe for concurrent use.
type Server struct {
	Config
	decider  *decide.Decider
	metrics  *metrics
	costs    *decide.Costs // nil without an objective
	queue    *queue
	lines    *limited     // the handler of Log
	held     atomic.Int64 // bytes of request bodies in memory
	ending   atomic.Bool  // the server says that it is not ready
	draining atomic.Bool  // it also refuses requests
}

// New loads the policy and returns a server that uses it.
func New(c Config) (*Server, error) {
	if c.MaxBody = cmp.Or(c.MaxBody, 16<<20); c.MaxBody < 0 {
		return nil, fmt.Errorf("serve with bodies of %d bytes: want more than 0", c.MaxBody)
	}
	m := newMetrics()
	c.Registry = m.registry
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	lines := limit(c.Log.Handler())
	c.Log = slog.New(lines)
	d, err := decide.New(c.Config)
	if err != nil {
		return nil, err
	}
	c.Config = d.Config
	costs, err := decide.NewCosts(c.Objective, "clustergym_cost", "the cluster", m.registry)
	if err != nil {
		return nil, err
	}
	return &Server{Config: c, decider: d, metrics: m, costs: costs, queue: newQueue(c.Parallel), lines: lines}, nil
}

// Handler returns the handler of all requests. Without a token it answers only requests to localhost.
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
	if s.ending.Load() {
		s.fail(w, r, http.StatusServiceUnavailable, errors.New("the server is about to end"))
		return
	}
	_, _ = io.WriteString(w, "ok\n") // a server always has a policy
}

func (s *Server) policy(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, s.decider.Served())
}

func (s *Server) plan(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		s.fail(w, r, http.StatusServiceUnavailable, errors.New("the server is about to end"))
		return
	}
	reasons, learns := true, true
	for key, value := range r.URL.Query() {
		switch {
		case key == "reasons" && len(value) == 1 && value[0] == "none":
			reasons = false
		case key == "learn" && len(value) == 1 && value[0] == "no":
			learns = false
		default:
			s.fail(w, r, http.StatusBadRequest, fmt.Errorf("query %q, want reasons=none, learn=no, both or none", r.URL.RawQuery))
			return
		}
	}
	text, err := s.body(w, r)
	defer s.held.Add(-int64(cap(text)))
	var answer *decide.Answer
	if err == nil {
		answer, err = s.decide(r.Context(), text, reasons, learns)
	}
	if f := new(refusal); errors.As(err, &f) {
		if f.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		s.fail(w, r, f.status, f.error)
		return
	}
	reply(w, http.StatusOK, answer)
}

// refusal is an error with the HTTP status of its answer.
type refusal struct {
	status int
	error
}

func (r *refusal) Unwrap() error { return r.error }

// statusGone is the status in logs and metrics when the client has gone, as in nginx. Nobody reads this answer.
const statusGone = 499

// decide takes a slot, and releases it before the server writes the answer, so that a slow client does not keep it.
func (s *Server) decide(ctx context.Context, text []byte, reasons, learns bool) (*decide.Answer, error) {
	if err := s.queue.enter(ctx); err != nil {
		return nil, err
	}
	s.metrics.running.Inc()
	defer func() { s.queue.leave(); s.metrics.running.Dec() }()
	state, err := cluster.ParseSnapshot(ctx, text)
	if err != nil {
		return nil, &refusal{gone(ctx, http.StatusBadRequest), err}
	}
	state.Assume(s.Assume)
	state.SetProfile(s.Profile)
	out, err := s.decider.Decide(ctx, &state.View, requestID(ctx), reasons)
	if errors.Is(err, cluster.ErrNoEstimate) {
		err = fmt.Errorf("%w\nserve --assume 1h gives jobs without an estimate one", err)
	}
	if err != nil {
		return nil, &refusal{gone(ctx, undecided(err)), err}
	}
	if learns {
		s.costs.Look(&state.View, nil)
		s.decider.Record(&state.View, text, out.Answer, nil)
	} else {
		s.decider.Record(nil, text, out.Answer, nil)
	}
	return out.Answer, nil
}

// gone returns the status of an error, or statusGone if the client has gone.
func gone(ctx context.Context, status int) int {
	if ctx.Err() != nil {
		return statusGone
	}
	return status
}

// undecided returns the status for a snapshot without a plan. The snapshot is at fault if every policy that was asked returned an
// error itself.
func undecided(err error) int {
	if u := new(decide.Undecided); errors.As(err, &u) && u.Said() {
		return http.StatusUnprocessableEntity
	}
	return http.StatusServiceUnavailable
}

// problem is the answer to a request that fails.
type problem struct {
	Error     string `json:"error"`
	RequestID string `json:"request_id"`
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, err error) {
	if seen, ok := w.(*watched); ok {
		seen.err = err
	}
	reply(w, status, problem{err.Error(), requestID(r.Context())})
}

// reply writes a JSON answer in the form of plan --json.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // fails only if the client has gone
}
