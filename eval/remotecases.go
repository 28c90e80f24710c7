package eval

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/policy"
)

// Player plays single cases for another process, which runs an equal plan with a Pool. It is not safe for concurrent use.
type Player struct {
	plan   Plan
	tasks  []task
	fitted [][]policy.Policy // by suite; nil for those of which no case was played
}

// NewPlayer returns a player of the cases of a plan.
func NewPlayer(plan Plan) (*Player, error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	plan.giveObjective()
	return &Player{plan, plan.tasks(), make([][]policy.Policy, len(plan.Suites))}, nil
}

// Play plays a case of the plan, by its index in Plan.Cases, and returns the answer for the process that runs the plan. It
// returns an error if ctx ends or if policies cannot be fitted. If the case fails, the answer says so.
func (p *Player) Play(ctx context.Context, i int) ([]byte, error) {
	if i < 0 || i >= len(p.tasks) {
		return nil, fmt.Errorf("play case %d: want 0 to %d", i, len(p.tasks)-1)
	}
	t := &p.tasks[i]
	if p.fitted[t.suite] == nil {
		fitted, err := p.plan.Suites[t.suite].Fit(ctx, p.plan.Policies, nil)
		if err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
		p.fitted[t.suite] = fitted
	}
	res, err := p.plan.play(ctx, t, &p.fitted[t.suite][t.policy])
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return encodeAnswer(&answer{Case: &t.Case, Failed: shorten(names.Escape(err.Error()))}, nil)
	}
	return encodeAnswer(&answer{Result: res, Timing: res.Timing}, res.Log)
}

// answer is what another process says of a case. In bytes, it is a line like that of a journal, followed by the event log, if the
// result keeps it, as the journal stores it.
type answer struct {
	Result *Result `json:"result,omitempty"`
	Timing *Timing `json:"timing,omitempty"`
	Case   *Case   `json:"case,omitempty"`   // that failed
	Failed string  `json:"failed,omitempty"` // why
	Large  bool    `json:"large,omitempty"`  // the event log is too large to be sent
}

// The limits of an answer.
const (
	maxFailed  = 4 << 10   // bytes of the text of an error
	maxSent    = 6 << 20   // bytes of an event log in an answer
	maxWritten = 256 << 20 // bytes of the event log itself
)

func shorten(text string) string {
	return string(bytes.ToValidUTF8([]byte(text[:min(len(text), maxFailed)]), nil))
}

// encodeAnswer returns an answer as bytes.
func encodeAnswer(a *answer, log *sim.Log) ([]byte, error) {
	var file bytes.Buffer
	if log != nil {
		if err := writeSchedule(&limited{&file, maxSent}, log, maxWritten); errors.Is(err, errLarge) {
			a.Large = true
			file.Reset()
		} else if err != nil {
			return nil, err
		}
	}
	line, err := seal(a)
	return append(line, file.Bytes()...), err
}

// errLarge is the error of a writer that has reached its limit.
var errLarge = errors.New("too large")

// limited is a writer of a limited number of bytes.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(data []byte) (int, error) {
	if l.left -= len(data); l.left < 0 {
		return 0, errLarge
	}
	return l.to.Write(data)
}

// parseAnswer reads an answer about a case. If the case keeps its event log, the answer must contain it, unless it is large.
func parseAnswer(data []byte, c *Case, keeps bool) (*answer, error) {
	end := bytes.IndexByte(data[:min(len(data), maxLine)], '\n') + 1
	if end == 0 {
		return nil, fmt.Errorf("no line of at most %d bytes", maxLine)
	}
	a := &answer{}
	if err := unseal(data[:end], a); err != nil {
		return nil, err
	}
	again, err := seal(a)
	switch {
	case err != nil:
		return nil, err
	case !bytes.Equal(again, data[:end]):
		return nil, errors.New("the result is not in the form in which results are stored")
	case (a.Result == nil) == (a.Failed == ""):
		return nil, errors.New("want a result or the reason why there is none")
	case names.Escape(a.Failed) != a.Failed || len(a.Failed) > maxFailed:
		return nil, errors.New("the reason why there is no result is not a printable text of at most 4 KiB")
	case (a.Case == nil) != (a.Failed == ""):
		return nil, errors.New("want the case that failed if there is no result, and only then")
	case a.about() != *c:
		return nil, fmt.Errorf("result of %v, want that of %v", a.about(), *c)
	case a.Large && (!keeps || a.Result == nil):
		return nil, errors.New("an event log that is not asked for")
	}
	rest := data[end:]
	if a.Result == nil || a.Large || !keeps {
		if len(rest) > 0 {
			return nil, fmt.Errorf("%d bytes after the result, want none", len(rest))
		}
		return a, nil
	}
	if a.Result.Log, err = readSchedule(bytes.NewReader(rest), maxWritten); err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	if by := a.Result.Log.Scheduler; by != c.Policy {
		return nil, fmt.Errorf("event log of policy %q, want %q", by, c.Policy)
	}
	measured := Measure(a.Result.Log)
	if measured.Refused = a.Result.Refused; measured != a.Result.Metrics {
		return nil, errors.New("event log of another episode: it has other metrics than the result")
	}
	return a, nil
}

// about returns the case that the answer is about.
func (a *answer) about() Case {
	if a.Result != nil {
		return a.Result.Case
	}
	return *a.Case
}

// writeSchedule writes an event log of at most so many bytes in the form in which a journal stores it.
func writeSchedule(w io.Writer, log *sim.Log, most int) error {
	z := gzip.NewWriter(w)
	if err := log.Write(&limited{z, most}); err != nil {
		return err
	}
	return z.Close()
}

// readSchedule reads an event log of at most so many bytes and replays it, so that a log that was changed is an error.
func readSchedule(r io.Reader, most int64) (*sim.Log, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	log, err := sim.ReadLog(io.LimitReader(z, most))
	if err != nil {
		return nil, err
	}
	return sim.Replay(log)
}

// elsewhere has the cases without a result played by the plan's pool. It returns nil also if ctx ends before.
func (r *run) elsewhere(ctx context.Context) error {
	var lacking []int
	for i, res := range r.results {
		if res == nil {
			lacking = append(lacking, i)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	if err := r.plan.Pool.Start(r.plan.Job, r.take); err != nil {
		return err
	}
	r.plan.Pool.Give(lacking...)
	err := r.plan.Pool.Wait(ctx, lacking...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// take stores the answer about a case that another process played. It implements the function of units.Pool.Start. A case whose
// event log is too large to be sent gets no result here, so this process plays it.
func (r *run) take(i int, data []byte) (refused, failed error) {
	t := &r.tasks[i]
	a, err := parseAnswer(data, &t.Case, r.plan.keeps(t))
	if err != nil {
		return err, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, errors.New("the evaluation has ended")
	case a.Large:
		return nil, nil
	case a.Failed != "":
		r.finish(i, nil, errors.New(a.Failed))
		return nil, nil
	}
	if r.plan.Clock != nil {
		a.Result.Timing = a.Timing
	}
	if r.journal != nil {
		if err := r.journal.schedule(t, a.Result); err != nil {
			return nil, err
		}
	}
	r.finish(i, a.Result, nil)
	return nil, r.broken
}
