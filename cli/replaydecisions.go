package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// replayedLog is the result of the replay of a decision log.
type replayedLog struct {
	Decisions int            `json:"decisions"`
	Same      int            `json:"same"`
	Differ    int            `json:"differ"`
	Failed    int            `json:"failed"`        // lines that are damaged or could not be replayed
	Unlike    int            `json:"other_beliefs"` // decisions that depended on beliefs to which the log does not lead
	Others    int            `json:"other_digest"`  // decisions replayed by a policy other than the one in the log
	Lines     []replayedLine `json:"lines"`         // lines that differ, failed or cannot be compared
}

type replayedLine struct {
	Line      int    `json:"line"`
	RequestID string `json:"request_id,omitempty"`
	Differs   string `json:"differs,omitempty"` // the first difference
	Error     string `json:"error,omitempty"`
}

// replayDecisions decides a decision log again.
func (o *replayOptions) replayDecisions(ctx context.Context, a *app, path string, in io.Reader) error {
	if len(o.logs) > 1 || o.Verify || o.Drawing != (drawOptions{}) {
		return cmdline.Usage("%s is a decision log: want it alone, without --verify, --show and --gantt", path)
	}
	again := deciders{from: a.finder(), given: o.Policy, known: map[string]*policy.Policy{}}
	again.from.Memory = true
	if o.Policy != "" { // an error in the flag is a usage error
		if _, err := again.find(o.Policy, nil); err != nil {
			return err
		}
	}
	out := replayedLog{Lines: []replayedLine{}}
	for log := decide.NewLogReader(in); ; {
		r, d, err := log.Next()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return out.end(a, path)
		case err != nil && !errors.Is(err, decide.ErrDamaged):
			return fmt.Errorf("%s: %w", path, err)
		}
		out.Decisions++
		line, other := replayedLine{Line: log.Line()}, false
		if err == nil {
			line.RequestID = d.RequestID
			line.Differs, other, err = again.decide(r, d)
		}
		if other {
			out.Others++
		}
		switch {
		case errors.Is(err, decide.ErrBeliefs):
			out.Unlike++
		case err != nil:
			out.Failed++
		case line.Differs != "":
			out.Differ++
		default:
			out.Same++
			continue
		}
		if err != nil {
			line.Error = err.Error()
		}
		out.Lines = append(out.Lines, line)
	}
}

// end prints the result. It returns an error unless all decisions are the same.
func (r *replayedLog) end(a *app, path string) error {
	if err := a.PrintOr(r, func() error { return r.print(a) }); err != nil {
		return err
	}
	if n := r.Decisions - r.Same; n > 0 {
		return cmdline.Fail(cmdline.CodeSomeFailed, fmt.Errorf("%s: %d of %d decisions are not the same", path, n, r.Decisions))
	}
	return nil
}

func (r *replayedLog) print(a *app) error {
	for _, l := range r.Lines {
		switch {
		case l.Error == "":
			a.Printf("line %d (%s) differs: %s\n", l.Line, l.RequestID, l.Differs)
		case l.RequestID == "": // the error contains the line number
			a.Printf("%s\n", l.Error)
		default:
			a.Printf("line %d (%s): %s\n", l.Line, l.RequestID, l.Error)
		}
	}
	a.Printf("%d decisions: %d the same, %d differ, %d failed\n", r.Decisions, r.Same, r.Differ, r.Failed)
	if r.Unlike > 0 {
		a.Printf("%d cannot be compared: the log does not say what the one who decided had learned\n", r.Unlike)
	}
	if r.Others > 0 {
		a.Printf("%d were made by a policy with another digest than the one that decided again\n", r.Others)
	}
	return nil
}

// deciders finds the policies that replay decisions, and loads each once.
type deciders struct {
	from   *policy.Finder
	given  string // policy for decisions that a policy made, "" for the policy in the log
	known  map[string]*policy.Policy
	replay decide.Replay
}

// decide makes a decision again. It returns the first difference, and whether a policy other than the one in the log made it.
func (k *deciders) decide(r *decide.Record, d *decide.Decision) (differs string, other bool, err error) {
	asked, err := k.replay.Next(r, d)
	if err != nil {
		return "", false, err
	}
	model, err := physics.Parse(r.Physics)
	if err != nil {
		return "", false, fmt.Errorf("physics: %w", err)
	}
	p, digest := (*policy.Policy)(nil), d.Digest
	if d.By == decide.ByPolicy || d.Fallback.Policy == policy.Prior {
		p, err = k.find(cmp.Or(k.given, d.Policy), nil)
	}
	if err == nil && d.By == decide.ByFallback {
		digest = d.Fallback.Digest
		p, err = k.find(d.Fallback.Policy, p)
	}
	if err != nil {
		return "", false, err
	}
	differs, err = asked.Again(r, d, p, physics.Profiled(model))
	return differs, p.Digest != digest, err
}

func (k *deciders) find(name string, of *policy.Policy) (p *policy.Policy, err error) {
	if name == policy.Prior && of != nil && of.Prior != nil {
		return of.Prior, nil
	}
	if k.known[name] == nil {
		if p, err = k.from.Load(name); err != nil {
			return nil, err
		}
		k.known[name] = p
	}
	return k.known[name], nil
}
