package candidates_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// starter is a base that proposes the given starts, if they fit.
type starter []cluster.Proposal

func (starter) Name() string       { return "starter" }
func (starter) Reset(uint64) error { return nil }
func (b starter) Schedule(tx *cluster.Txn) error {
	for i := range b {
		tx.Try(&b[i])
	}
	return nil
}

// board returns the list that a board over such a base finds in the state. The names of the rivals are 0, 1 and so on.
func board(t rapid.TB, s *cluster.State, base starter, rivals ...starter) (*cluster.Txn, []candidates.Candidate) {
	t.Helper()
	c := candidates.Default(func() cluster.Scheduler { return base })
	c.Wide, c.Menu, c.Items = true, true, 1000
	for i, r := range rivals {
		c.Rivals = append(c.Rivals, candidates.Named{Name: strconv.Itoa(i), New: func() cluster.Scheduler { return r }})
	}
	b := candidates.NewBoard(c)
	must.Do(t, b.Reset(1))
	tx := s.Begin([]cluster.Event{{Kind: cluster.Woke}})
	must.Do(t, b.Begin(tx))
	return tx, b.List()
}

// state returns a state with the given servers and waiting jobs. Each job has an estimate.
func state(t rapid.TB, spec cluster.Spec, jobs ...cluster.JobSpec) *cluster.State {
	t.Helper()
	s := must.Get(cluster.NewState(spec, len(jobs)))(t)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Estimate = "job", time.Duration(1+i)*time.Hour
		if j.Request.GPUMilli == 0 {
			j.Request.GPUMilli = cluster.WholeGPU
		}
		s.Submit(cluster.JobID(i), j)
	}
	return s
}

// place starts a job with one worker on a server.
func place(id cluster.JobID, server cluster.ServerID) cluster.Proposal {
	at := cluster.Placement{{Server: server, Workers: 1, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}
	return cluster.Proposal{Kind: cluster.OpPlace, Job: id, Placement: at}
}

// TestProposalsKeepTheirMark checks that a candidate that the board also finds by itself keeps the kind of its proposal.
func TestProposalsKeepTheirMark(t *testing.T) {
	one := cluster.JobSpec{Workers: 1}
	s := state(t, cluster.Uniform(2, 4), one, one, one)
	tx, list := board(t, s, starter{place(0, 0), place(1, 0)}, starter{place(2, 0), place(1, 0)})
	defer tx.End()
	var got []candidates.Kind
	for id := range cluster.JobID(3) {
		for i := range list {
			c := &list[i]
			if len(c.Ops) == 1 && c.Job == id && c.Ops[0].Placement[0] == place(id, 0).Placement[0] {
				got = append(got, c.Kind)
			}
		}
	}
	if want := []candidates.Kind{candidates.Part, candidates.Part, candidates.Rival}; !slices.Equal(got, want) {
		t.Errorf("starts on server 0 are %v, want %v", got, want)
	}
}

// TestProposalsNameWhoMadeThem checks that a proposal of several rivals is on the list once, with the names of all of them, and
// that what the base proposes, too, counts as its own.
func TestProposalsNameWhoMadeThem(t *testing.T) {
	one := cluster.JobSpec{Workers: 1}
	tx, list := board(t, state(t, cluster.Uniform(3, 4), one, one, one), starter{place(0, 0), place(1, 0)},
		starter{place(1, 1), place(2, 1)}, starter{place(1, 1)}, starter{place(1, 1), place(2, 1)}, starter{place(0, 0)},
		starter{place(2, 2)})
	defer tx.End()
	var got []string
	for i := range list {
		c := &list[i]
		if (c.By != "") != (c.Kind == candidates.Rival) || c.By == "" && len(c.Also) > 0 {
			t.Errorf("a candidate of kind %v is by %q and %q", c.Kind, c.By, c.Also)
		}
		if c.Kind == candidates.Rival {
			starts := ""
			for _, p := range c.Ops {
				starts += strconv.Itoa(int(p.Job))
			}
			got = append(got, starts+" by "+strings.Join(append([]string{c.By}, c.Also...), ","))
		}
	}
	if want := []string{"12 by 0,2", "2 by 4", "1 by 0,1,2"}; !slices.Equal(got, want) {
		t.Errorf("proposals %q, want %q", got, want)
	}
}

// TestProposalsAreAboutAJob checks that a rival's proposal which first borrows a server is about the job that it starts then, and
// one that does nothing else is about no job.
func TestProposalsAreAboutAJob(t *testing.T) {
	spec := cluster.Uniform(2, 4)
	spec.Servers[1].Pool = cluster.Inference
	one := cluster.JobSpec{Workers: 1}
	s := state(t, spec, one, one)
	s.SetOffer(1, 0)
	loan := cluster.Proposal{Kind: cluster.OpLoan, Server: 1}
	tx, list := board(t, s, nil, starter{loan, place(1, 1)}, starter{loan})
	defer tx.End()
	got := map[string]cluster.JobID{}
	for i := range list {
		if list[i].Kind == candidates.Rival {
			got[list[i].By] = list[i].Job
		}
	}
	if len(got) != 2 || got["0"] != 1 || got["1"] != -1 {
		t.Errorf("proposals are about the jobs %v, want 1 and none", got)
	}
}

// TestEveryJobHasItsTurn checks that one job with many ways to start leaves room in the list for the other jobs.
func TestEveryJobHasItsTurn(t *testing.T) {
	spec := cluster.Uniform(8, 4)
	for i := range spec.Servers {
		spec.Servers[i].GPUType = string(rune('A' + i))
	}
	jobs := make([]cluster.JobSpec, 6)
	for i := range jobs {
		jobs[i].Workers = 1
	}
	tx, list := board(t, state(t, spec, jobs...), nil)
	defer tx.End()
	var begun []cluster.JobID
	for i := range list {
		if list[i].Kind == candidates.Begin {
			begun = append(begun, list[i].Job)
		}
	}
	if want := []cluster.JobID{0, 1, 2, 3, 4, 5, 0}; !slices.Equal(begun[:min(7, len(begun))], want) {
		t.Errorf("first to begin are %v, want %v", begun, want)
	}
}
