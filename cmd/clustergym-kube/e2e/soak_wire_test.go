package e2e

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/faulttest"
)

// wire is what may happen to requests on the way between the replicas and the API server.
type wire struct {
	mu      sync.Mutex
	draw    *rand.Rand
	armed   *trouble
	stalled map[string]time.Time // resources whose watches show nothing until then
}

// trouble happens to one of the next requests, and to some that follow.
type trouble struct {
	kind  string
	after int
	times int
	wait  time.Duration // of a slow answer
}

// arm lets one of the next requests, and maybe some after it, fail.
func (x *wire) arm() {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := &trouble{kind: faulttest.Requests[x.draw.IntN(len(faulttest.Requests))], after: x.draw.IntN(6), times: 1}
	switch t.kind {
	case faulttest.KilledBefore, faulttest.KilledAfter, faulttest.FirstRival, faulttest.FillRival:
	case faulttest.Slow, faulttest.SlowLost:
		t.wait = time.Duration(200+x.draw.IntN(3000)) * time.Millisecond
		t.times += x.draw.IntN(3)
	default:
		t.times += x.draw.IntN(5)
	}
	x.armed = t
}

func (x *wire) disarm() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.armed, x.stalled = nil, nil
}

func (x *wire) idle() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.armed == nil
}

// meet returns what happens to a request.
func (x *wire) meet(c *call) (kind string, wait time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.armed
	switch {
	case t == nil || (t.kind == faulttest.FirstRival || t.kind == faulttest.FillRival) && c.kind != "bind":
		return "", 0
	case t.after > 0:
		t.after--
		return "", 0
	}
	if t.times--; t.times == 0 {
		x.armed = nil
	}
	return t.kind, t.wait
}

// through passes the requests of a replica on, unless they meet a fault.
func (w *soak) through(p *replica) through {
	return func(c *call, to http.ResponseWriter, pass func(http.ResponseWriter)) {
		switch {
		case c.read.URL.Query().Has("watch"):
			w.rules.watched(p, c.read.URL.Path)
			pass(&stalling{ResponseWriter: to, x: &w.wire, path: c.read.URL.Path, done: c.read.Context().Done()})
			return
		case strings.Contains(c.kind, "leases"):
			w.rules.lease(p, c)
			pass(to)
			return
		case c.kind == "" && !single(c.read.URL.Path), strings.Contains(c.kind, "events"):
			pass(to)
			return
		}
		w.rules.ask(p, c)
		kind, wait := "", time.Duration(0)
		if !p.starting.Load() {
			kind, wait = w.wire.meet(c)
		}
		if kind == "" {
			pass(to)
			return
		}
		w.count(kind)
		w.rules.disturb()
		defer w.rules.settle()
		select {
		case <-time.After(wait):
		case <-c.read.Context().Done():
		}
		switch kind {
		case faulttest.LostBefore:
			panic(http.ErrAbortHandler)
		case faulttest.KilledBefore:
			w.kill(p)
			panic(http.ErrAbortHandler)
		case faulttest.FirstRival:
			w.rivalBindsFirst(c)
		case faulttest.FillRival:
			w.rivalFills(c)
		case faulttest.LostAfter, faulttest.SlowLost, faulttest.KilledAfter:
			pass(httptest.NewRecorder())
			if kind == faulttest.KilledAfter {
				w.kill(p)
			}
			panic(http.ErrAbortHandler)
		}
		if status, refused := faulttest.Refusal(kind); refused {
			to.Header().Set("Content-Type", "application/json")
			to.WriteHeader(int(status.Code))
			_ = json.NewEncoder(to).Encode(status)
			return
		}
		pass(to)
	}
}

// single reports whether a path is that of one pod or ConfigMap.
func single(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return len(parts) >= 6 && (parts[4] == "pods" || parts[4] == "configmaps")
}

// stall delays what watches of a resource show.
func (x *wire) stall(resource string, d time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stalled == nil {
		x.stalled = map[string]time.Time{}
	}
	x.stalled[resource] = time.Now().Add(d)
}

// left returns for how long watches of the resource in a path still show nothing.
func (x *wire) left(path string) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	for resource, until := range x.stalled {
		if strings.HasSuffix(path, "/"+resource) {
			return time.Until(until)
		}
	}
	return 0
}

// stalling is the answer to a watch.
type stalling struct {
	http.ResponseWriter
	x    *wire
	path string
	done <-chan struct{}
}

func (s *stalling) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *stalling) Write(event []byte) (int, error) {
	for s.x.left(s.path) > 0 {
		select {
		case <-s.done:
			return 0, errors.New("the program has left")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return s.ResponseWriter.Write(event)
}
