package work

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
)

const testBuild = "linux/amd64-0123456789abcdef-01234567"

// site is a broker, a pool and what the pool has stored.
type site struct {
	broker *Broker
	pool   *Pool
	token  string

	mu     sync.Mutex
	stored map[int]string
	warned []string
}

func newSite(t *testing.T, change func(*PoolOptions)) *site {
	t.Helper()
	s := &site{token: NewToken(), stored: map[int]string{}}
	var err error
	s.broker = must.Get(StartBroker(BrokerOptions{Address: "127.0.0.1:0", Token: s.token}))(t)
	t.Cleanup(s.broker.Close)
	conn, err := s.broker.Connect()
	must.Do(t, err)
	o := PoolOptions{Conn: conn, Build: testBuild, AckWait: time.Second, Warn: func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.warned = append(s.warned, err.Error())
	}}
	if change != nil {
		change(&o)
	}
	s.pool = must.Get(NewPool(t.Context(), o))(t)
	t.Cleanup(func() { s.pool.Close(true) })
	return s
}

// take stores an answer that is right for the job "text".
func (s *site) take(unit int, answer []byte) (refused, failed error) {
	if want := right(unit); string(answer) != want {
		return fmt.Errorf("%q, want %q", answer, want), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[unit] += string(answer)
	return nil, nil
}

func right(unit int) string { return fmt.Sprintf("text %d", unit) }

// worker returns a worker that computes right answers.
func (s *site) worker(t *testing.T, name string) *Worker {
	t.Helper()
	access := &Access{URL: s.broker.URL(), Token: s.token}
	conn := must.Get(access.Connect(name))(t)
	return &Worker{
		Conn: conn, Name: name, Build: testBuild, AckWait: s.pool.AckWait,
		Open: func(_ context.Context, job []byte) (Compute, error) {
			return func(_ context.Context, unit int) ([]byte, error) { return fmt.Appendf(nil, "%s %d", job, unit), nil }, nil
		},
	}
}

func units(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// run runs a worker until the test ends, and returns a channel with its error.
func run(t *testing.T, w *Worker) <-chan error {
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(cancel)
	return ended
}

// finish waits for n units and checks what was stored.
func (s *site) finish(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	must.Do(t, s.pool.Wait(ctx, units(n)...))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range n {
		if s.stored[i] != right(i) {
			t.Errorf("unit %d: stored %q, want %q, once", i, s.stored[i], right(i))
		}
	}
}

// TestEveryUnitIsAnsweredOnce checks that workers share the units, that each is stored once, and that they end when the pool has
// no more work.
func TestEveryUnitIsAnsweredOnce(t *testing.T) {
	s := newSite(t, nil)
	first, second := run(t, s.worker(t, "first")), run(t, s.worker(t, "second")) // before there is a job
	s.pool.Give(units(50)...)
	s.pool.Give(units(60)...) // the first 50 are given out already
	must.Do(t, s.pool.Start([]byte("text"), s.take))
	s.finish(t, 60)
	s.pool.Close(true)
	for _, ended := range []<-chan error{first, second} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if len(s.warned) > 0 {
		t.Errorf("warned of %q", s.warned)
	}
}

// TestAnotherBuildIsRefused checks that the worker learns why.
func TestAnotherBuildIsRefused(t *testing.T) {
	s := newSite(t, nil)
	w := s.worker(t, "other")
	w.Build = strings.Replace(testBuild, "0", "1", 1)
	err := <-run(t, w)
	if err == nil || !strings.Contains(err.Error(), "another program or processor, "+w.Build+", want "+testBuild) {
		t.Errorf("error %v, want it to name both programs", err)
	}
}

// TestOneJobAfterAnother checks that a pool can give out the units of another job, that workers go over to it, and that units
// of the earlier job without an answer are dropped.
func TestOneJobAfterAnother(t *testing.T) {
	s := newSite(t, nil)
	run(t, s.worker(t, "first"))
	s.start(t, 3)
	s.finish(t, 3)
	s.pool.Give(units(1000)...)
	var mu sync.Mutex
	var got []string
	if err := s.pool.Start([]byte("other"), func(_ int, answer []byte) (refused, failed error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(answer))
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	s.pool.Give(1)
	must.Do(t, s.pool.Wait(t.Context(), 1))
	mu.Lock()
	defer mu.Unlock()
	if now := s.pool.Status(); len(got) != 1 || got[0] != "other 1" || now.Done != 1 || now.Waiting != 0 {
		t.Errorf("answers %q, status %+v", got, now)
	}
}

// TestLostWorkersAreForgotten checks that the seat of a worker that was lost long ago does not count against the largest number
// of workers.
func TestLostWorkersAreForgotten(t *testing.T) {
	s := newSite(t, nil)
	now := time.Now()
	s.pool.mu.Lock()
	for i := range maxWorkers {
		s.pool.seat(fmt.Sprint("worker-", i), now.Add(time.Duration(i%2)*-forgetAfter-time.Second))
	}
	full := s.pool.seat("new", now)
	s.pool.mu.Unlock()
	s.pool.forget(now)
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if again := s.pool.seat("new", now); full != nil || again == nil || len(s.pool.workers) != maxWorkers/2+1 {
		t.Errorf("seat %v while there are too many, then %v with %d seats", full, again, len(s.pool.workers))
	}
}
