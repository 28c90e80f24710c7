package work

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// PoolOptions configure a Pool.
type PoolOptions struct {
	Conn    *nats.Conn    // to the broker; the pool closes it
	Queue   string        // name of the queue; "" means DefaultQueue
	Build   string        // of this program; workers of another one are refused
	Persist bool          // the broker keeps units in files, so that they outlast the broker
	AckWait time.Duration // a worker that says nothing for so long has lost its unit; 0 means 8 s
	// Patience is how long to wait for an answer, while other workers have nothing to do, before a second worker gets the unit; at
	// least four times the time of the slowest unit. 0 means 30 s.
	Patience time.Duration
	Told     func(Status) // is called about once a second while units are without an answer; may be nil
	Warn     func(error)  // is told of refused workers and answers, and of a broker that cannot be reached; may be nil
}

const (
	ackWait     = 8 * time.Second
	tendEvery   = time.Second
	maxRefusals = 5 // refused or failed answers to one unit after which the pool ends
	requestTime = 10 * time.Second
)

// Pool is the learner's side: it gives out units of one job and takes the answers. Its methods are safe for concurrent use.
type Pool struct {
	PoolOptions
	queue  queue
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	slots  chan struct{} // one for each answer that is being checked
	wake   chan struct{} // has an element if there are units to publish

	mu      sync.Mutex
	job     []byte // nil before Start
	digest  string
	take    func(unit int, answer []byte) (refused, failed error)
	open    map[int]*unit // units without an accepted answer
	news    []int         // those of them that are not published, in order
	changed chan struct{} // closed when the state of a unit or of the pool changes
	ended   error         // why the pool ended, nil before
	workers map[string]*seat
	rate    rate
	warned  map[string]time.Time
	told    time.Time // when Told was last called
}

// unit is a unit without an accepted answer.
type unit struct {
	seq      uint64        // its number in the stream; 0 if not known
	storing  bool          // an answer is being checked
	since    time.Time     // when it was published or last given to another worker
	worker   string        // that has it, as far as is known
	patience time.Duration // how long to wait for an answer while workers have nothing to do
	refusals int
}

var errClosed = errors.New("the pool is closed")

// NewPool returns a pool. It returns an error if another learner uses the queue. The caller must call Close.
func NewPool(ctx context.Context, o PoolOptions) (*Pool, error) {
	if o.AckWait == 0 {
		o.AckWait = ackWait
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	if o.Patience == 0 {
		o.Patience = patience
	}
	o.Queue = queueName(o.Queue)
	p := &Pool{
		PoolOptions: o, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), wake: make(chan struct{}, 1),
		open: map[int]*unit{}, changed: make(chan struct{}), workers: map[string]*seat{}, warned: map[string]time.Time{},
	}
	if _, err := o.Conn.RequestWithContext(within(ctx, time.Second), o.Queue+".owner", nil); err == nil {
		o.Conn.Close()
		return nil, fmt.Errorf("queue %q is in use by another learner: wait for it to end, or choose another queue", o.Queue)
	}
	var err error
	if p.queue, err = openQueue(ctx, &p.PoolOptions); err != nil {
		o.Conn.Close()
		return nil, err
	}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := p.subscribe(ctx); err != nil {
		p.cancel()
		o.Conn.Close()
		return nil, fmt.Errorf("open pool: %w", err)
	}
	p.tasks.Go(p.tend)
	return p, nil
}

// subscribe makes the pool handle what workers and others send. When it returns, the broker knows the subscriptions, so whoever
// asks then for the owner of the queue gets an answer.
func (p *Pool) subscribe(ctx context.Context) error {
	for subject, handle := range map[string]func(*nats.Msg){
		"owner": func(m *nats.Msg) { p.reply(m, &message{}) },
		"hello": p.hello, "beat": p.beat, "table": p.table,
		"answer": p.queued,
	} {
		s, err := p.Conn.Subscribe(p.Queue+"."+subject, handle)
		if err == nil {
			err = s.SetPendingLimits(1<<16, 64*MaxPayload)
		}
		if err != nil {
			return err
		}
	}
	return p.Conn.FlushWithContext(within(ctx, time.Minute))
}

// within returns a context that ends after a time. Nobody has to cancel it before.
func within(ctx context.Context, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(ctx, d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// Start makes a job known to workers, in place of an earlier one, whose units without an answer are dropped. The pool calls take
// with answers; see units.Pool.
func (p *Pool) Start(job []byte, take func(unit int, answer []byte) (refused, failed error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(job) > MaxPayload-maxHead {
		return fmt.Errorf("start pool: job of %d bytes, want at most %d", len(job), MaxPayload-maxHead)
	}
	earlier := p.job != nil
	p.job, p.digest, p.take, p.rate = job, digest(append([]byte(p.Build+"\n"), job...)), take, rate{}
	if earlier {
		clear(p.open)
		p.news = nil
	}
	p.stir()
	return nil
}

// Give gives units out, in this order. It ignores those that are given out already and have no answer.
func (p *Pool) Give(units ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range units {
		if p.open[n] == nil {
			p.open[n] = &unit{}
			p.news = append(p.news, n)
		}
	}
	p.stir()
}

// stir makes the pool publish new units. The mutex must be locked.
func (p *Pool) stir() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Wait waits until all the units have an answer. It returns an error if the pool or ctx ends before.
func (p *Pool) Wait(ctx context.Context, units ...int) error {
	for {
		p.mu.Lock()
		changed, err := p.changed, p.ended
		for err == nil && len(units) > 0 && p.open[units[0]] == nil {
			units = units[1:]
		}
		p.mu.Unlock()
		if err != nil || len(units) == 0 {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Fail ends the pool with an error, which Wait returns.
func (p *Pool) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(err)
}

// end ends the pool with an error, unless it has ended. The mutex must be locked.
func (p *Pool) end(err error) {
	if p.ended == nil {
		p.ended = err
	}
	p.announce()
}

// announce wakes those that wait. The mutex must be locked.
func (p *Pool) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Close ends the pool and its connection. If done is true, it also tells workers that there is no more work, and removes the
// units from the broker.
func (p *Pool) Close(done bool) {
	p.mu.Lock()
	p.end(errClosed)
	p.mu.Unlock()
	p.cancel()
	p.tasks.Wait()
	if done {
		p.queue.remove()
		_ = p.Conn.Publish(p.Queue+".end", nil)
	}
	_ = p.Conn.FlushTimeout(time.Second)
	p.Conn.Close()
}

// reply answers a request. A worker may name any subject to reply to, so the pool replies only to inboxes.
func (p *Pool) reply(to *nats.Msg, m *message) {
	if strings.HasPrefix(to.Reply, inboxes) {
		_ = p.Conn.Publish(to.Reply, m.encode()) // who gets no reply asks again
	}
}

// warn warns of an error, of equal ones at most once a minute.
func (p *Pool) warn(err error) {
	p.mu.Lock()
	now, text := time.Now(), err.Error()
	quiet := now.Sub(p.warned[text]) < time.Minute
	if !quiet && len(p.warned) < 1<<10 {
		p.warned[text] = now
	}
	p.mu.Unlock()
	if !quiet {
		p.Warn(err)
	}
}

// hello gives a worker the job, or refuses it.
func (p *Pool) hello(msg *nats.Msg) {
	m, err := parse(msg.Data, hello)
	if err != nil {
		p.refuse(msg, err)
		return
	}
	p.mu.Lock()
	job, id, ended := p.job, p.digest, p.ended
	p.mu.Unlock()
	switch {
	case m.Build != p.Build:
		p.refuse(msg, fmt.Errorf("worker %s runs another program or processor, %s, want %s", m.Worker, m.Build, p.Build))
	case job != nil && ended == nil: // otherwise the worker asks again
		p.reply(msg, &message{Unit: idle, Job: id, Digest: digest(job), body: job})
	}
}

func (p *Pool) refuse(msg *nats.Msg, why error) {
	p.warn(why)
	p.reply(msg, &message{Unit: idle, Refused: line(why)})
}

// queued takes an answer as soon as few others are being checked.
func (p *Pool) queued(msg *nats.Msg) {
	p.slots <- struct{}{}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		<-p.slots
		return
	}
	p.tasks.Go(func() { p.answer(msg); <-p.slots })
}

// answer takes a worker's answer. It replies once the answer is stored or refused, and otherwise not: the worker then sends it
// again.
func (p *Pool) answer(msg *nats.Msg) {
	m, err := parse(msg.Data, answer)
	if err != nil {
		p.refuse(msg, err)
		return
	}
	p.mu.Lock()
	u := p.open[m.Unit]
	if m.Job != p.digest || u == nil || u.storing || p.ended != nil {
		wanted := u != nil || p.ended != nil
		p.mu.Unlock()
		if !wanted || m.Job != p.digest { // it is stored, or belongs to an earlier job
			p.reply(msg, &message{Unit: m.Unit})
		}
		return
	}
	u.storing = true
	take := p.take
	p.mu.Unlock()

	var refused, failed error
	switch {
	case m.Failed != "":
		refused = errors.New(m.Failed)
	case digest(m.body) != m.Digest:
		refused = fmt.Errorf("the answer has the digest %s, and its message says %s", digest(m.body), m.Digest)
	default:
		refused, failed = take(m.Unit, m.body)
	}

	p.mu.Lock()
	u.storing = false
	switch {
	case p.open[m.Unit] != u: // another job began meanwhile
		p.mu.Unlock()
		p.reply(msg, &message{Unit: m.Unit})
		return
	case failed != nil:
		p.end(failed)
		p.mu.Unlock()
		return
	case refused != nil:
		u.refusals++
		if s := p.seat(m.Worker, time.Now()); s != nil {
			s.refused++
		}
		refused = fmt.Errorf("worker %s, unit %d: %w", m.Worker, m.Unit, refused)
		if u.refusals >= maxRefusals {
			p.end(fmt.Errorf("%d answers were refused, the last of %w", u.refusals, refused))
		}
	default:
		delete(p.open, m.Unit)
		p.count(m)
		p.announce()
	}
	seq := u.seq
	p.mu.Unlock()

	if refused != nil {
		p.refuse(msg, refused)
	} else {
		p.reply(msg, &message{Unit: m.Unit})
	}
	p.queue.delete(p.ctx, p.subject(m.Job, m.Unit), seq)
	if refused != nil {
		p.again(m.Unit)
	}
}

// again publishes units once more that are no longer in the stream.
func (p *Pool) again(units ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range units {
		if u := p.open[n]; u != nil {
			u.seq, u.worker, u.since = 0, "", time.Time{}
			p.news = append(p.news, n)
		}
	}
	p.stir()
}

func (p *Pool) subject(job string, unit int) string {
	return fmt.Sprintf("%s.unit.%.16s-%d", p.Queue, job, unit)
}

// tend publishes new units, and mends the stream, until the pool ends.
func (p *Pool) tend() {
	ticks := time.NewTicker(tendEvery)
	defer ticks.Stop()
	for {
		var err error
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
			err = p.publish()
		case now := <-ticks.C:
			p.forget(now)
			if err = p.mend(); err == nil {
				err = p.publish()
			}
		}
		p.tell()
		if err != nil && p.ctx.Err() == nil {
			p.warn(fmt.Errorf("give out units: %w", err))
		}
	}
}

// publish publishes the new units, many at a time.
func (p *Pool) publish() error {
	for p.ctx.Err() == nil {
		p.mu.Lock()
		var batch []int
		var puts []*put
		for len(p.news) > 0 && len(batch) < maxPuts && p.job != nil {
			n := p.news[0]
			p.news = p.news[1:]
			if u := p.open[n]; u != nil && u.seq == 0 && !slices.Contains(batch, n) {
				batch = append(batch, n)
			}
		}
		m := message{Job: p.digest}
		p.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		for _, n := range batch {
			m.Unit = n
			puts = append(puts, p.queue.put(p.subject(m.Job, n), m.encode()))
		}
		var failed error
		for i, n := range batch {
			seq, err := p.queue.number(p.ctx, puts[i])
			p.mu.Lock()
			u, current := p.open[n], p.digest == m.Job
			switch {
			case err != nil && current:
				failed = err
				p.news = append(p.news, n)
			case err == nil && current && u != nil:
				u.seq, u.since = seq, time.Now()
			}
			p.mu.Unlock()
			if err == nil && (u == nil || !current) { // answered by a worker that had it from an earlier learner, or of an earlier job
				p.queue.delete(p.ctx, p.subject(m.Job, n), seq)
			}
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// mend makes the stream contain the units that lack an answer and no others. The broker may have lost its units, an earlier
// learner may have left some, and a worker may have acknowledged one without an answer.
func (p *Pool) mend() error {
	p.mu.Lock()
	published, started := 0, p.job != nil
	for _, u := range p.open {
		if u.seq != 0 {
			published++
		}
	}
	p.mu.Unlock()
	if !started {
		return nil
	}
	in, idle, err := p.queue.count(p.ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) {
		if err := p.queue.create(p.ctx); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if in != published {
		if err := p.compare(); err != nil {
			return err
		}
	}
	if idle {
		p.repeat()
	}
	return nil
}

// compare deletes the units in the stream that need no answer, and publishes those again that the stream has lost.
func (p *Pool) compare() error {
	have, err := p.queue.list(p.ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	var lost []int
	for n, u := range p.open {
		subject := p.subject(p.digest, n)
		if u.seq != 0 && !have[subject] {
			lost = append(lost, n)
		}
		delete(have, subject)
	}
	p.mu.Unlock()
	for subject := range have {
		p.queue.delete(p.ctx, subject, 0)
	}
	p.again(lost...)
	return nil
}

// repeat gives units out once more that were given out long ago, if there is a worker without a unit. A worker may hang, or say
// that it computes and never answer.
func (p *Pool) repeat() {
	now := time.Now()
	var late []int
	seqs := map[int]uint64{}
	p.mu.Lock()
	job := p.digest
	if p.free(now) {
		for n, u := range p.open {
			u.patience = max(u.patience, p.Patience, p.rate.patience())
			if u.seq != 0 && !u.storing && now.Sub(u.since) > u.patience {
				late, seqs[n] = append(late, n), u.seq
				u.patience *= 2
			}
		}
	}
	p.mu.Unlock()
	for _, n := range late {
		p.queue.delete(p.ctx, p.subject(job, n), seqs[n])
	}
	p.again(late...)
}
