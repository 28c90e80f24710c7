package work

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Compute returns the answer to a unit. It must give the same answer in every process.
type Compute func(ctx context.Context, unit int) ([]byte, error)

// Worker computes units, one at a time.
type Worker struct {
	Conn    *nats.Conn    // to the broker; Run closes it
	Name    string        // unique among workers: letters, digits, '.', '-' and '_'
	Queue   string        // name of the queue; "" means DefaultQueue
	Build   string        // of this program; see Build
	AckWait time.Duration // that of the pool; 0 means 8 s
	Wait    time.Duration // how long to wait for a learner or a broker that cannot be reached; 0 means without end
	// Open prepares for a job.
	Open func(ctx context.Context, job []byte) (Compute, error)
	// Told is called with a line about each thing that happens; it may be nil.
	Told func(text string)

	unit  atomic.Int64              // that it computes
	since atomic.Pointer[time.Time] // when it began; with the monotonic clock, so that setting the clock does no harm
	job   atomic.Value              // digest of the job
}

// RefusedError is the error of a worker that the learner refuses.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the learner refuses this worker: " + e.Reason }

const helloTime = 2 * time.Second // the learner replies when it has a job

// errSilent is the error of a worker that has waited too long.
var errSilent = errors.New("no learner answers")

// Run computes units until the learner says that there are no more, or ctx ends: it then returns nil. It returns a *RefusedError
// if the learner refuses the worker or an answer, and an error if it waits for a learner for longer than w.Wait.
func (w *Worker) Run(ctx context.Context) error {
	defer w.Conn.Close()
	if w.Queue = queueName(w.Queue); w.AckWait == 0 {
		w.AckWait = ackWait
	}
	if w.Told == nil {
		w.Told = func(string) {}
	}
	w.unit.Store(idle)
	w.job.Store("")
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if _, err := w.Conn.Subscribe(w.Queue+".end", func(*nats.Msg) { stop() }); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	beats := make(chan struct{})
	go func() { w.beats(ctx); close(beats) }()
	defer func() { stop(); <-beats }()
	for {
		before := w.job.Load()
		compute, err := w.hello(ctx)
		if err == nil && w.job.Load() == before {
			pause(ctx, time.Second) // there are units of a job that the learner no longer has
		}
		if err == nil {
			err = w.work(ctx, compute)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("worker: %w", err)
		}
	}
}

// request sends a message until the learner replies, and parses the reply.
func (w *Worker) request(ctx context.Context, subject string, m *message, k kind, wait time.Duration) (*message, error) {
	began := time.Now()
	for {
		reply, err := w.Conn.RequestWithContext(within(ctx, wait), w.Queue+"."+subject, m.encode())
		if err == nil {
			r, err := parse(reply.Data, k)
			if err == nil && r.Refused != "" {
				err = &RefusedError{r.Refused}
			}
			return r, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if w.Wait > 0 && time.Since(began) > w.Wait {
			return nil, fmt.Errorf("%w for %v: %w", errSilent, w.Wait, err)
		}
		pause(ctx, time.Second) // the learner is away, or checks another answer to the same unit
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// hello asks for the job and prepares for it.
func (w *Worker) hello(ctx context.Context) (Compute, error) {
	m, err := w.request(ctx, "hello", &message{Unit: idle, Build: w.Build, Worker: w.Name}, welcome, helloTime)
	if err != nil {
		return nil, err
	}
	if digest(m.body) != m.Digest || m.Job == "" {
		return nil, errors.New("the job that came has another digest than its message says")
	}
	compute, err := w.Open(ctx, m.body)
	if err == nil {
		w.job.Store(m.Job)
		w.Told("has the job " + m.Job[:8])
	}
	return compute, err
}

// work pulls units and computes them. It returns nil when the units belong to another job than it knows.
func (w *Worker) work(ctx context.Context, compute Compute) error {
	js, err := jetstream.New(w.Conn)
	if err != nil {
		return err
	}
	var c jetstream.Consumer
	began := time.Now()
	for ctx.Err() == nil {
		var msg jetstream.Msg
		if c == nil {
			c, err = js.Consumer(ctx, w.Queue, consumerName)
		}
		if err == nil {
			msg, err = pull(ctx, c, 5*time.Second)
		}
		switch {
		case err != nil:
			if w.Wait > 0 && time.Since(began) > w.Wait {
				return fmt.Errorf("%w for %v: %w", errSilent, w.Wait, err)
			}
			c, err = nil, nil
			pause(ctx, time.Second)
			continue
		case msg == nil:
			began = time.Now()
			if !w.Conn.IsConnected() {
				c = nil
			}
			continue
		}
		m, err := parse(msg.Data(), given)
		if err != nil {
			return err
		}
		if m.Job != w.job.Load() {
			_ = msg.Nak()
			return nil
		}
		if err := w.compute(ctx, msg, m.Unit, compute); err != nil {
			return err
		}
		began = time.Now()
	}
	return nil
}

// compute computes a unit and sends the answer until the learner has it. Meanwhile it tells the broker that it is at work.
func (w *Worker) compute(ctx context.Context, msg jetstream.Msg, unit int, compute Compute) error {
	began := time.Now()
	w.since.Store(&began)
	w.unit.Store(int64(unit))
	w.beat()
	defer w.unit.Store(idle)
	done := make(chan struct{})
	defer close(done)
	go func() {
		ticks := time.NewTicker(w.AckWait / 4)
		defer ticks.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
				_ = msg.InProgress() // if it is lost, another worker gets the unit, too
			}
		}
	}()
	body, err := compute(ctx, unit)
	if ctx.Err() != nil {
		_ = msg.Nak() // so that another worker gets the unit at once
		_ = w.Conn.FlushTimeout(time.Second)
		return nil
	}
	m := &message{Unit: unit, Worker: w.Name, Job: w.job.Load().(string), Seconds: time.Since(began).Seconds()}
	if err == nil && len(body) > MaxPayload-maxHead {
		err = fmt.Errorf("unit %d: answer of %d bytes, and a message has at most %d", unit, len(body), MaxPayload-maxHead)
	}
	if err != nil {
		m.Failed = line(err)
	} else {
		m.body, m.Digest = body, digest(body)
	}
	if _, refused := w.request(ctx, "answer", m, verdict, requestTime); refused != nil {
		return errors.Join(err, refused)
	}
	w.Told(fmt.Sprintf("unit %d took %.1f s", unit, m.Seconds))
	return nil
}

// beats tells the learner what the worker does, until ctx ends.
func (w *Worker) beats(ctx context.Context) {
	ticks := time.NewTicker(beatEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			w.beat()
		}
	}
}

func (w *Worker) beat() {
	job := w.job.Load().(string)
	if job == "" || !w.Conn.IsConnected() {
		return
	}
	m := &message{Unit: int(w.unit.Load()), Worker: w.Name, Job: job}
	if m.Unit != idle {
		m.Seconds = time.Since(*w.since.Load()).Seconds()
	}
	_ = w.Conn.Publish(w.Queue+".beat", m.encode())
}
