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
	stream  jetstream.Stream
	name    string
	persist bool
	wait    time.Duration
}

const (
	maxUnits = 1 << 20 // in the stream
	maxPuts  = 256     // units that are being published
	maxPulls = 1 << 14 // requests for a unit that may wait at the broker

	createTime = time.Minute // for creating the stream
)

func openQueue(ctx context.Context, o *PoolOptions) (queue, error) {
	js, err := jetstream.New(o.Conn, jetstream.WithDefaultTimeout(requestTime), jetstream.WithPublishAsyncMaxPending(maxPuts))
	if err != nil {
		return queue{}, fmt.Errorf("open queue %q: %w", o.Queue, err)
	}
	q := queue{js: js, name: o.Queue, persist: o.Persist, wait: o.AckWait}
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
	s, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
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
	if q.stream == nil { // by openQueue, before others use it
		q.stream = s
	}
	return nil
}

// put is a unit that is being published.
type put struct {
	subject string
	ack     jetstream.PubAckFuture
	err     error
}

// put begins to publish a unit, unless the stream contains it; see number.
func (q *queue) put(subject string, data []byte) *put {
	ack, err := q.js.PublishAsync(subject, data, jetstream.WithRetryAttempts(0), jetstream.WithStallWait(requestTime))
	return &put{subject, ack, err}
}

// number waits until a unit is published and returns its number in the stream.
func (q *queue) number(ctx context.Context, u *put) (uint64, error) {
	err := u.err
	if err == nil {
		select {
		case ack := <-u.ack.Ok():
			return ack.Sequence, nil
		case err = <-u.ack.Err():
		case <-time.After(requestTime):
			err = nats.ErrTimeout
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if refused := new(jetstream.APIError); !errors.As(err, &refused) || !strings.Contains(refused.Description, "per subject") {
		return 0, err
	}
	return q.find(ctx, u.subject)
}

// find returns the number of a unit in the stream.
func (q *queue) find(ctx context.Context, subject string) (uint64, error) {
	m, err := q.stream.GetLastMsgForSubject(ctx, subject)
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
	_ = q.stream.DeleteMsg(ctx, seq)
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
