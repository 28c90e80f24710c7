package simtest

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"pgregory.net/rapid"
)

// Many checks a property the given number of times, or as often as -rapid.checks says if that is not its default of 100. With
// -short it checks just as often, although rapid would check less, because some tests count the cases they have seen.
func Many(t *testing.T, times int, property func(*rapid.T)) {
	t.Helper()
	if testing.Short() {
		times *= 5 // rapid divides the number by 5
	}
	checks := flag.Lookup("rapid.checks").Value
	if usual := checks.String(); usual == "100" {
		if err := checks.Set(strconv.Itoa(times)); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = checks.Set(usual) }() // it was valid before
	}
	rapid.Check(t, property)
}

// Begin opens an episode and fails the test if that is not possible.
func Begin(t rapid.TB, e *sim.Episode) *sim.Sim {
	t.Helper()
	s, err := e.New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Play plays an episode to its end, whether or not every job finishes, and returns its log.
func Play(t rapid.TB, e *sim.Episode, p cluster.Scheduler, seed uint64) *sim.Log {
	t.Helper()
	s := Begin(t, e)
	if err := s.Run(context.Background(), p, seed); err != nil {
		t.Fatal(err)
	}
	return s.Log()
}

// End plays an episode to its end and fails the test unless every job finishes.
func End(t rapid.TB, s *sim.Sim, p cluster.Scheduler) *sim.Log {
	t.Helper()
	if err := s.Run(context.Background(), p, 1); err != nil {
		t.Fatal(err)
	}
	if !s.Outcome().Terminated {
		t.Fatalf("outcome %+v, want every job finished", s.Outcome())
	}
	return s.Log()
}

// Written returns the log as Write writes it, with an empty scheduler name.
func Written(t rapid.TB, l *sim.Log) string {
	t.Helper()
	l.Scheduler = ""
	var b strings.Builder
	if err := l.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Portray returns as text everything that can be seen of a state, in the order in which the state returns it.
func Portray(s *cluster.View) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Now(), s.Pending(), s.Running(), s.Offer(), s.Lent(), s.FreeTotal())
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		fmt.Fprintln(&b, s.Open(id), s.OnLoan(id), s.FreeGPUs(id), s.FreeCPU(id), s.FreeMem(id), s.GPUUse(id), s.Residents(id),
			s.Shared(id))
	}
	for id := range cluster.JobID(s.Jobs()) {
		if s.Spec(id) == nil || s.Phase(id) == cluster.Unsubmitted || s.Phase(id) == cluster.Done {
			continue
		}
		done, from, rate := s.Course(id)
		left, ok := s.QuotaLeft(id)
		fmt.Fprintln(&b, id, s.Phase(id), s.Starts(id), s.Placement(id), s.GPUs(id), s.Attained(id), done, from, rate, left, ok,
			s.Readings(id))
	}
	return b.String()
}

// Lines returns the records of a log as lines, with placements and without submissions.
func Lines(l *sim.Log) (lines []string) {
	for i := range l.Records {
		if r := &l.Records[i]; r.Kind != sim.Submit {
			lines = append(lines, fmt.Sprintf("%v %v %d %v", r.At, r.Kind, r.Job, l.Placement(r)))
		}
	}
	return lines
}
