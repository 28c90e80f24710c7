package work

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// Status is what a pool and its workers do at an instant. Times are in seconds.
type Status struct {
	Job     string         `json:"job"`            // digest of the job, "" before Start
	Done    int            `json:"done"`           // answers accepted since the learner was started
	Waiting int            `json:"waiting"`        // units given out that no worker has
	Busy    int            `json:"busy"`           // units that a worker has
	Rate    float64        `json:"rate"`           // answers a second that the workers can give together; 0 if not known
	Left    float64        `json:"left_s"`         // until all units given out have an answer; 0 if not known
	Workers []WorkerStatus `json:"workers"`        // by name
	Queue   string         `json:"queue"`          // name of the queue
	Median  float64        `json:"median_s"`       // time of a unit
	Seconds float64        `json:"answered_for_s"` // since the first answer was accepted
}

// WorkerStatus is what a worker does.
type WorkerStatus struct {
	Name    string  `json:"name"`
	State   string  `json:"state"` // computes, waits, slow (its unit takes far longer than usual), or lost (says nothing)
	Unit    int     `json:"unit"`  // that it computes; -1 for none
	For     float64 `json:"for_s"` // since it began the unit, or became idle
	Done    int     `json:"done"`  // answers accepted
	Mean    float64 `json:"mean_s"`
	Heard   float64 `json:"heard_s"` // since it last said something
	Refused int     `json:"refused"` // answers refused
}

// The states of a worker.
const (
	Computes = "computes"
	Waits    = "waits"
	Slow     = "slow"
	Lost     = "lost"
)

// slowTimes is how many times the median a unit takes, and slowLeast the least seconds, before its worker counts as slow.
const (
	slowTimes = 4
	slowLeast = 10
)

// Totals are counts over all jobs of a pool.
type Totals struct {
	Done      int     // answers accepted
	Seconds   float64 // that workers took for them
	Refused   int     // answers refused
	Strangers int     // requests of workers that run another program or processor, which were refused
}

// Totals returns the counts until now.
func (p *Pool) Totals() Totals {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.totals
}

// Status returns what the pool does now.
func (p *Pool) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status(time.Now())
}

func (p *Pool) status(now time.Time) Status {
	s := Status{Job: p.digest, Queue: p.Queue, Done: p.rate.done, Workers: []WorkerStatus{}, Median: p.rate.median()}
	if s.Done > 0 {
		s.Seconds = now.Sub(p.rate.first).Seconds()
	}
	live := 0
	for _, name := range slices.Sorted(maps.Keys(p.workers)) {
		seat := p.workers[name]
		w := WorkerStatus{
			Name: name, State: Computes, Unit: seat.unit, For: now.Sub(seat.since).Seconds(), Done: seat.done,
			Mean: seat.seconds / float64(max(1, seat.done)), Heard: now.Sub(seat.heard).Seconds(), Refused: seat.refused,
		}
		switch {
		case now.Sub(seat.heard) > lostAfter:
			w.State = Lost
		case seat.unit == idle:
			w.State = Waits
		case s.Median > 0 && w.For > max(slowTimes*s.Median, slowLeast):
			w.State = Slow
		}
		if w.State != Lost {
			live++
			if seat.unit != idle {
				s.Busy++
			}
		}
		s.Workers = append(s.Workers, w)
	}
	s.Busy = min(s.Busy, len(p.open))
	s.Waiting = len(p.open) - s.Busy
	if mean := p.rate.mean(); mean > 0 && live > 0 {
		s.Rate = float64(live) / mean
		s.Left = float64(len(p.open)) / s.Rate
	}
	return s
}

// tell calls Told if units are without an answer.
func (p *Pool) tell() {
	if p.Told == nil {
		return
	}
	p.mu.Lock()
	s, now := Status{}, time.Now()
	due := len(p.open) > 0 && now.Sub(p.told) >= tendEvery/2
	if due {
		s, p.told = p.status(now), now
	}
	p.mu.Unlock()
	if due {
		p.Told(s)
	}
}

// table answers who asks for the status.
func (p *Pool) table(msg *nats.Msg) {
	text, err := json.Marshal(p.Status())
	if err == nil {
		p.reply(msg, &message{Unit: idle, body: text})
	}
}

// Ask asks the learner of a queue for its status.
func Ask(ctx context.Context, conn *nats.Conn, queue string) (*Status, error) {
	reply, err := conn.RequestWithContext(within(ctx, helloTime), queueName(queue)+".table", nil)
	if err != nil {
		return nil, fmt.Errorf("ask the learner of queue %q: %w", queueName(queue), err)
	}
	m, err := parse(reply.Data, table)
	if err != nil {
		return nil, err
	}
	return parseStatus(m.body)
}

var (
	statusFields = []string{"job", "done", "waiting", "busy", "rate", "left_s", "workers", "queue", "median_s", "answered_for_s"}
	workerFields = []string{"name", "state", "unit", "for_s", "done", "mean_s", "heard_s", "refused"}
)

// parseStatus reads a status. It skips fields that it does not know, because the learner may be newer.
func parseStatus(text []byte) (*Status, error) {
	r, s := strictjson.New(text), &Status{Workers: []WorkerStatus{}}
	count := func() int { return int(r.Number(0, maxUnit)) }
	seconds := func() float64 { return r.Float(0, math.MaxFloat64) }
	r.Fields(statusFields, strictjson.Bits(statusFields, statusFields...), func(field int) {
		switch statusFields[field] {
		case "job":
			s.Job = short(r)
		case "queue":
			s.Queue = short(r)
		case "done":
			s.Done = count()
		case "waiting":
			s.Waiting = count()
		case "busy":
			s.Busy = count()
		case "rate":
			s.Rate = seconds()
		case "left_s":
			s.Left = seconds()
		case "median_s":
			s.Median = seconds()
		case "answered_for_s":
			s.Seconds = seconds()
		case "workers":
			r.List(maxWorkers, func(int) {
				var w WorkerStatus
				r.Fields(workerFields, strictjson.Bits(workerFields, workerFields...), func(field int) {
					switch workerFields[field] {
					case "name":
						w.Name = short(r)
					case "state":
						w.State = short(r)
					case "unit":
						w.Unit = int(r.Number(idle, maxUnit))
					case "for_s":
						w.For = seconds()
					case "done":
						w.Done = count()
					case "mean_s":
						w.Mean = seconds()
					case "heard_s":
						w.Heard = seconds()
					case "refused":
						w.Refused = count()
					}
				})
				s.Workers = append(s.Workers, w)
			})
		}
	})
	r.End()
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("status of the learner: %w", err)
	}
	slices.SortFunc(s.Workers, func(a, b WorkerStatus) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

// short reads a name of letters, digits, '.', '-' and '_', or "".
func short(r *strictjson.Reader) string {
	s, ok := r.String(80)
	if !ok || s != "" && !workerText.MatchString(s) {
		r.Refuse("a name")
	}
	return s
}
