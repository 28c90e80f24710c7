package work

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// Status is what a pool and its workers do at an instant. Times are in seconds.
type Status struct {
	Job string `json:"job" status:"job,need,short"` // digest of the job, "" before Start
	// answers accepted since the learner was started
	Done    int `json:"done" status:"done,need,0..maxUnit"`
	Waiting int `json:"waiting" status:"waiting,need,0..maxUnit"` // units given out that no worker has
	Busy    int `json:"busy" status:"busy,need,0..maxUnit"`       // units that a worker has
	// answers a second that the workers can give together; 0 if not known
	Rate float64 `json:"rate" status:"rate,need,0.."`
	// until all units given out have an answer; 0 if not known
	Left    float64        `json:"left_s" status:"left_s,need,0.."`
	Workers []WorkerStatus `json:"workers" status:"workers,need"`                   // by name
	Queue   string         `json:"queue" status:"queue,need,short"`                 // name of the queue
	Median  float64        `json:"median_s" status:"median_s,need,0.."`             // time of a unit
	Seconds float64        `json:"answered_for_s" status:"answered_for_s,need,0.."` // since the first answer was accepted
}

// WorkerStatus is what a worker does.
type WorkerStatus struct {
	Name string `json:"name" status:"name,need,short"`
	// computes, waits, slow (its unit takes far longer than usual), or lost (says nothing)
	State   string  `json:"state" status:"state,need,short"`
	Unit    int     `json:"unit" status:"unit,need,-1..maxUnit"` // that it computes; -1 for none
	For     float64 `json:"for_s" status:"for_s,need,0.."`       // since it began the unit, or became idle
	Done    int     `json:"done" status:"done,need,0..maxUnit"`  // answers accepted
	Mean    float64 `json:"mean_s" status:"mean_s,need,0.."`
	Heard   float64 `json:"heard_s" status:"heard_s,need,0.."`        // since it last said something
	Refused int     `json:"refused" status:"refused,need,0..maxUnit"` // answers refused
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

// statuses is the format of a Status. It is partial because the learner may be newer.
var statuses = strictjson.Format{
	Key: "status", Partial: true, Most: "maxWorkers", Limits: map[string]int64{"maxUnit": maxUnit, "maxWorkers": maxWorkers},
	Kinds: map[string]strictjson.Kind{
		"short": strictjson.Texts(80, func(s string) bool { return s == "" || workerText.MatchString(s) }, "a name"),
	},
}

// parseStatus reads a status.
func parseStatus(text []byte) (*Status, error) {
	s := &Status{Workers: []WorkerStatus{}}
	if err := statuses.Parse(text, nil, s); err != nil {
		return nil, fmt.Errorf("status of the learner: %w", err)
	}
	slices.SortFunc(s.Workers, func(a, b WorkerStatus) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}
