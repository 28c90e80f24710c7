package cluster

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// grow adds servers, withdraws waiting jobs and revises jobs, at random.
func (m *machine) grow(t *rapid.T) {
	if n := m.s.Servers(); n < 8 && rapid.IntRange(0, 2).Draw(t, "servers come") == 0 {
		more := drawSpec(t).Servers
		for i := range more {
			more[i].Name = fmt.Sprintf("s%d", n+i)
		}
		must.Do(t, m.s.AddServers(more))
		for i, v := range more {
			if id := ServerID(n + i); *m.s.Server(id) != v || m.s.OnLoan(id) || m.s.Down(id) || m.s.FreeGPUs(id) != v.GPUs {
				t.Fatalf("server %d is %+v, want %+v and nothing on it", id, *m.s.Server(id), v)
			}
		}
	}
	for _, id := range slices.Clone(m.s.pending) {
		switch was := m.s.Spec(id); rapid.IntRange(0, 9).Draw(t, "changes his mind") {
		case 0:
			if m.s.Withdraw(id); m.s.Phase(id) != Done || slices.Contains(m.s.Pending(), id) {
				t.Fatalf("job %d was withdrawn and is %v", id, m.s.Phase(id))
			}
		case 1:
			is := drawJob(t, was.Name, was.Submit)
			is.Tenant = was.Tenant
			m.s.Revise(id, is)
		}
	}
}

// TestExtendTo checks that an extended copy has room for other jobs in place of those that the state expects, and otherwise
// equals a plain copy, whatever its memory was used for before.
func TestExtendTo(t *testing.T) {
	s := must.Get(NewState(Uniform(1, 4), 9))(t)
	one := &JobSpec{Name: "one", Workers: 1, Request: wholeGPU}
	for _, id := range []JobID{0, 2} {
		s.Submit(id, one)
	}
	place(t, s, 2, Placement{{0, 1, wholeGPU}})
	was, used := portray(s), new(State)
	with(t, Uniform(3, 2), make12(one)...).CopyTo(used)
	for _, dst := range []*State{new(State), used, used} {
		for _, more := range []int{0, 1, 20, 3} {
			if next := s.ExtendTo(dst, more); next != 3 || dst.Jobs() != 3+more {
				t.Errorf("room for %d more: ids from %d to %d, want from 3", more, next, dst.Jobs())
			}
			for id := JobID(0); int(id) < dst.Jobs(); id++ {
				if got, want := dst.jobs[id], s.jobs[min(id, 8)]; !reflect.DeepEqual(got, want) {
					t.Errorf("room for %d more: job %d is %+v, want %+v", more, id, got, want)
				}
			}
			for id := JobID(3); int(id) < dst.Jobs(); id++ {
				dst.Submit(id, one)
			}
			conserve(t, dst)
		}
	}
	if !reflect.DeepEqual(portray(s), was) {
		t.Error("the state has changed")
	}
}

func make12(j *JobSpec) (jobs []JobSpec) {
	for range 12 {
		jobs = append(jobs, *j)
	}
	return jobs
}

// TestAddServersWithinLimits checks that AddServers returns an error for servers that a cluster may not have, and changes
// nothing.
func TestAddServersWithinLimits(t *testing.T) {
	s := with(t, of(ServerSpec{GPUs: 2}), JobSpec{Workers: 1, Request: wholeGPU})
	was := portray(s)
	for want, servers := range map[string][]ServerSpec{
		"GPUs": {{GPUs: MaxGPUs + 1}}, "servers": make([]ServerSpec, MaxServers), "one type": {{GPUs: 1}, {GPUType: "A|B"}},
	} {
		if err := s.AddServers(servers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if !reflect.DeepEqual(portray(s), was) {
		t.Error("the state has changed")
	}
}

// TestFresh checks that a job is fresh at the instant of its first start, even if it is stopped or moved then, and never later. A
// restored job is not fresh.
func TestFresh(t *testing.T) {
	s := with(t, Uniform(2, 1), JobSpec{Workers: 1, Request: wholeGPU}, JobSpec{Workers: 1, Request: wholeGPU})
	s.Advance(time.Second)
	a, b := Placement{{0, 1, wholeGPU}}, Placement{{1, 1, wholeGPU}}
	must.Do(t, s.Restore(1, b, []int32{0}))
	expect := func(when string, want bool) {
		t.Helper()
		if s.Fresh(0) != want || s.Fresh(1) {
			t.Errorf("%s: %v and %v, want %v and false", when, s.Fresh(0), s.Fresh(1), want)
		}
	}
	expect("before", false)
	place(t, s, 0, a)
	expect("started", true)
	tx := s.Begin(nil)
	must.Do(t, tx.Preempt(0))
	expect("stopped", true)
	tx.End()
	place(t, s, 0, a)
	expect("started again", true)
	s.Advance(time.Second + 1)
	expect("a nanosecond later", false)
}

// TestAddServersOfANewType checks that a job that waited before may use GPUs of a type that was added later, and that adding
// types to a copy does not change the original.
func TestAddServersOfANewType(t *testing.T) {
	s := with(t, of(ServerSpec{GPUType: "A"}, ServerSpec{GPUType: "B"}, ServerSpec{GPUType: "C"}),
		JobSpec{Workers: 1, Request: wholeGPU}, JobSpec{Workers: 1, Request: wholeGPU, GPUType: "Y"})
	dst := new(State)
	s.CopyTo(dst)
	for name, own := range map[string]*State{"X": s, "Y": dst} {
		must.Do(t, own.AddServers([]ServerSpec{{Name: name, GPUs: 2, CPUMilli: Unlimited, MemMiB: Unlimited, GPUType: name}}))
	}
	if s.Fits(3, 0, wholeGPU) != 2 || dst.Fits(3, 0, wholeGPU) != 2 {
		t.Error("a job of any type does not fit")
	}
	if s.Fits(3, 1, wholeGPU) != 0 || dst.Fits(3, 1, wholeGPU) != 2 {
		t.Error("a job that wants Y fits X, or does not fit Y")
	}
	if got := fmt.Sprint(s.Types(), dst.Types()); got != "[A B C X] [A B C Y]" {
		t.Errorf("types %s", got)
	}
}
