package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// queue is the stream of the units that are given out, with one message for each. A message stays in it until the learner deletes
// it, so a worker cannot remove a unit that has no answer.
type queue struct {
	js      jetstream.JetStream
	name    string
	persist bool
	wait    time.Duration
}

const (
	maxUnits = 1 << 20 // in the stream
	maxPulls = 1 << 14 // requests for a unit that may wait at the broker

	createTime = time.Minute // for creating the stream
)

func openQueue(ctx context.Context, o *PoolOptions) (queue, error) {
	js, err := jetstream.New(o.Conn, jetstream.WithDefaultTimeout(requestTime))
	if err != nil {
		return queue{}, fmt.Errorf("open queue %q: %w", o.Queue, err)
	}
	q := queue{js, o.Queue, o.Persist, o.AckWait}
	for began := time.Now(); ; pause(ctx, time.Second) { // the broker may just have been started again
		err := q.create(ctx)
		if err == nil || ctx.Err() != nil || errors.As(err, new(*jetstream.APIError)) || time.Since(began) > createTime {
			return q, err
		}
	}
}

// create creates the stream and its consumer, unless they exist.
func (q *queue) create(ctx context.Context) error {
	storage := jetstream.MemoryStorage
	if q.persist {
		storage = jetstream.FileStorage
	}
	_, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: q.name, Subjects: []string{q.name + ".unit.*"}, Storage: storage, MaxMsgSize: maxHead, MaxMsgs: maxUnits,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	})
	if err == nil {
		_, err = q.js.CreateOrUpdateConsumer(ctx, q.name, jetstream.ConsumerConfig{
			Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.wait, MaxDeliver: -1, MaxAckPending: -1,
			MaxWaiting: maxPulls,
		})
	}
	if err != nil {
		return fmt.Errorf("open queue %q: %w", q.name, err)
	}
	return nil
}

// put publishes a unit, unless the stream contains it, and returns its number there.
func (q *queue) put(ctx context.Context, subject string, data []byte) (uint64, error) {
	ack, err := q.js.Publish(ctx, subject, data, jetstream.WithRetryAttempts(0))
	if err == nil {
		return ack.Sequence, nil
	}
	if refused := new(jetstream.APIError); !errors.As(err, &refused) || !strings.Contains(refused.Description, "per subject") {
		return 0, err
	}
	return q.find(ctx, subject)
}

// find returns the number of a unit in the stream.
func (q *queue) find(ctx context.Context, subject string) (uint64, error) {
	s, err := q.js.Stream(ctx, q.name)
	if err != nil {
		return 0, err
	}
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}

// delete deletes a unit from the stream. If seq is 0, the number of the unit is not known. If the broker cannot be reached, the
// unit stays until Pool.compare finds it.
func (q *queue) delete(ctx context.Context, subject string, seq uint64) {
	if seq == 0 {
		var err error
		if seq, err = q.find(ctx, subject); err != nil {
			return
		}
	}
	if s, err := q.js.Stream(ctx, q.name); err == nil {
		_ = s.DeleteMsg(ctx, seq)
	}
}

// count returns the number of units in the stream, and whether all of them are with workers.
func (q *queue) count(ctx context.Context) (units int, idle bool, err error) {
	s, err := q.js.Stream(ctx, q.name)
	if err != nil {
		return 0, false, err
	}
	c, err := s.Consumer(ctx, consumerName)
	if err != nil {
		return 0, false, err
	}
	return int(s.CachedInfo().State.Msgs), c.CachedInfo().NumPending == 0, nil
}

// list returns the subjects of the units in the stream.
func (q *queue) list(ctx context.Context) (map[string]bool, error) {
	s, err := q.js.Stream(ctx, q.name)
	if err != nil {
		return nil, err
	}
	about, err := s.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	for subject := range about.State.Subjects {
		have[subject] = true
	}
	return have, nil
}

// remove deletes the stream.
func (q *queue) remove() { _ = q.js.DeleteStream(within(context.Background(), requestTime), q.name) }

// pull waits at most a while for a unit. It returns nil if there is none.
func pull(ctx context.Context, c jetstream.Consumer, wait time.Duration) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m, err := c.Next(jetstream.FetchContext(ctx))
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrNoMessages) || errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return m, err
}
