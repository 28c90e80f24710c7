package whatif

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/policy"
)

// Decision is a decision of an event log in which something was done.
type Decision struct {
	Number int      `json:"decision"` // among all decisions of the log, from 1
	At     float64  `json:"at_s"`
	Does   string   `json:"does"`
	Jobs   []string `json:"jobs"` // that it is about
	// Starts lists those of Jobs that start.
	Starts []string `json:"starts"`
}

// Decisions lists the decisions of an event log in which something was done. The decision that only fills the cluster at the
// beginning of a log with warm jobs is none.
func Decisions(log *sim.Log) ([]Decision, error) {
	all := []Decision{}
	err := visit(log, func(n int, tx *cluster.Txn, ops []cluster.Proposal) {
		if len(ops) == 0 || fills(log, n) {
			return
		}
		s := tx.View()
		d := Decision{Number: n, At: tx.Now().Seconds(), Does: words(s, ops), Jobs: []string{}, Starts: []string{}}
		for i := range ops {
			if of := ops[i].Job; about(&ops[i]) {
				d.Jobs = append(d.Jobs, s.Spec(of).Name)
				if ops[i].Kind == cluster.OpPlace {
					d.Starts = append(d.Starts, s.Spec(of).Name)
				}
			}
		}
		all = append(all, d)
	})
	return all, err
}

// visit calls see at every decision of a log, with its number from 1, the transaction, and what is proposed in it.
func visit(log *sim.Log, see func(n int, tx *cluster.Txn, ops []cluster.Proposal)) error {
	n := 0
	return sim.Visit(log, sim.Look{After: func(tx *cluster.Txn, _ int) bool {
		n++
		see(n, tx, proposed(tx))
		return true
	}})
}

// proposed returns the operations of a transaction.
func proposed(tx *cluster.Txn) (ops []cluster.Proposal) {
	for i := range tx.Ops() {
		ops = append(ops, tx.Ops()[i].Proposal())
	}
	return ops
}

// fills reports whether a decision puts the jobs in place that run when the log begins.
func fills(log *sim.Log, number int) bool { return number == 1 && log.Config.Warm > 0 }

func about(o *cluster.Proposal) bool { return o.Kind != cluster.OpLoan && o.Kind != cluster.OpReclaim }

// words says what operations do.
func words(s *cluster.View, ops []cluster.Proposal) string {
	if len(ops) == 0 {
		return "nothing"
	}
	return (&candidates.Candidate{Job: -1, Ops: ops}).Does(s)
}

// alter makes the first decision of a play as the change says. ops are what would be done without it.
func (st *stage) alter(tx *cluster.Txn, ops []cluster.Proposal, p policy.Policy) error {
	s, c := tx.View(), st.change
	left := func(*cluster.Proposal) bool { return c.Nothing }
	var err error
	switch {
	case c.Candidate > 0:
		tx.Tell(s.Introduce())
		err = take(tx, p, c.Candidate, st.opts.Seed)
		ops = nil
	case c.Start != "":
		err = start(tx, c.Start)
		left = func(o *cluster.Proposal) bool { return about(o) && s.Spec(o.Job).Name == c.Start }
	case c.Leave != "":
		left = func(o *cluster.Proposal) bool { return about(o) && s.Spec(o.Job).Name == c.Leave }
		if !slices.ContainsFunc(ops, func(o cluster.Proposal) bool { return left(&o) }) {
			err = fmt.Errorf("nothing is done with job %s, but this: %s", c.Leave, words(s, ops))
		}
	}
	if err != nil && st.first.Decision > 0 {
		return fmt.Errorf("decision %d: %w", st.first.Decision, err)
	} else if err != nil {
		return err
	}
	for i := range ops {
		if !left(&ops[i]) && !tx.Try(&ops[i]) {
			st.first.Dropped = append(st.first.Dropped, words(s, ops[i:i+1]))
		}
	}
	st.first.Does, st.first.Altered = words(s, proposed(tx)), c.alters()
	return nil
}

// start starts a waiting job by best fit.
func start(tx *cluster.Txn, name string) error {
	s := tx.View()
	for _, id := range s.Pending() {
		if s.Spec(id).Name != name {
			continue
		}
		at, ok := s.BestFit(id, nil)
		if !ok {
			return fmt.Errorf("job %s does not fit then", name)
		}
		return tx.Place(id, at)
	}
	return fmt.Errorf("job %s does not wait then", name)
}

// take lets a learned team decide, which takes a given candidate in its first choice.
func take(tx *cluster.Txn, p policy.Policy, candidate int, seed uint64) error {
	team, err := teamOf(p)
	if err != nil {
		return err
	}
	team.Force(candidate)
	if err := team.Reset(seed); err != nil {
		return err
	}
	if err := team.Schedule(tx); err != nil {
		return err
	}
	if team.Forced() {
		return errors.New("the team has no candidates then")
	}
	return nil
}

func teamOf(p policy.Policy) (*agents.Team, error) {
	if p.Learned == nil {
		return nil, fmt.Errorf("%s chooses among no candidates, want a learned team", p.Name)
	}
	if p.Rule != "" {
		return nil, fmt.Errorf("%s: the candidates of a decision are those of the team without %s: want the policy without it",
			p.Name, p.Rule)
	}
	return agents.NewTeam(p.Learned), nil
}

// Choices returns the choices that a learned team would make at a decision of a log.
func Choices(log *sim.Log, p policy.Policy, decision int, seed uint64) ([]explain.Choice, error) {
	all, _, err := choices(log, p, decision, seed)
	return all, err
}

// choices is Choices, and says what the team does.
func choices(log *sim.Log, p policy.Policy, decision int, seed uint64) (all []explain.Choice, does string, err error) {
	team, err := teamOf(p)
	if err != nil {
		return nil, "", err
	}
	s, _, err := sim.Branch(log, decision-1)
	if err != nil {
		return nil, "", err
	}
	var seen explain.Choices
	team.Record(seen.Add)
	if err := team.Reset(seed); err != nil {
		return nil, "", err
	}
	tx := s.State().Txn()
	tx.Tell(s.State().Introduce())
	if err := team.Schedule(tx); err != nil {
		return nil, "", err
	}
	return seen.All, words(tx.View(), proposed(tx)), nil
}

// Departure is a choice of a learned team that is not its prior's.
type Departure struct {
	At     time.Duration
	Choice explain.Choice
}

// mostAsked is how many decisions of a log FirstDeparture asks the team about.
const mostAsked = 60

// FirstDeparture returns the first choice in a log of a learned team in which the team departs from its prior. It asks the team
// again at the decisions of the log in which something was done, at most 60, and passes over those in which the team, which
// begins there without memory, would do something else than the log. It returns nil if there is none.
func FirstDeparture(log *sim.Log, p policy.Policy, seed uint64) (*Departure, error) {
	all, err := Decisions(log)
	if err != nil {
		return nil, err
	}
	for _, d := range all[:min(len(all), mostAsked)] {
		choices, does, err := choices(log, p, d.Number, seed)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(choices, departs)
		if i >= 0 && does == d.Does {
			return &Departure{At: time.Duration(d.At * float64(time.Second)), Choice: choices[i]}, nil
		}
	}
	return nil, nil
}

// departs reports whether a team takes a candidate that is not its prior's.
func departs(c explain.Choice) bool {
	return slices.ContainsFunc(c.Candidates, func(x explain.Candidate) bool { return x.Taken && !x.Prior })
}
