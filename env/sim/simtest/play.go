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

// Many checks a property so many times, or as many as -rapid.checks says if that is not its usual 100. With -short it does not
// check less, as rapid would: tests count what they have seen.
func Many(t *testing.T, times int, property func(*rapid.T)) {
	t.Helper()
	if testing.Short() {
		times *= 5 // of which rapid takes a fifth
	}
	checks := flag.Lookup("rapid.checks").Value
	if usual := checks.String(); usual == "100" {
		if err := checks.Set(strconv.Itoa(times)); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = checks.Set(usual) }() // it was set to that before
	}
	rapid.Check(t, property)
}

// Begin opens an episode.
func Begin(t rapid.TB, e *sim.Episode) *sim.Sim {
	t.Helper()
	s, err := e.New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// End plays an episode to its end, at which every job has finished.
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

// Written is a log as it is written to a file, but for the scheduler's name.
func Written(t rapid.TB, l *sim.Log) string {
	t.Helper()
	l.Scheduler = ""
	var b strings.Builder
	if err := l.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Portray shows all that can be seen of a state, in the order in which it shows it.
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
		fmt.Fprintln(&b, id, s.Phase(id), s.Starts(id), s.Placement(id), s.GPUs(id), s.Attained(id), done, from, rate, left, ok)
	}
	return b.String()
}
