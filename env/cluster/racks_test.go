package cluster

import (
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// TestCrossing checks that a job uses the uplinks of exactly the racks that it connects, for as long as it runs there.
func TestCrossing(t *testing.T) {
	in := func(rack int32) ServerSpec { return ServerSpec{GPUs: 4, Rack: rack} }
	spec := of(in(1), in(1), in(2), in(0), in(0))
	p := func(servers ...ServerID) (p Placement) {
		for _, v := range servers {
			p = append(p, Piece{v, 1, wholeGPU})
		}
		return p
	}
	for _, c := range []struct {
		name string
		on   Placement
		by   []int32 // the racks whose uplinks it uses
		is   bool
	}{
		{"one server", p(0), nil, false},
		{"two servers of one rack", p(0, 1), nil, false},
		{"two racks", p(0, 2), []int32{1, 2}, true},
		{"two racks, one twice", p(0, 2, 1), []int32{1, 2}, true},
		{"a rack and a server whose links are not shared", p(3, 0), []int32{1}, true},
		{"two servers whose links are not shared", p(3, 4), nil, false},
		{"all", p(0, 1, 2, 3, 4), []int32{1, 2}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := int32(len(c.on))
			s := with(t, spec, JobSpec{Workers: 2, Request: wholeGPU}, JobSpec{Workers: n, Request: wholeGPU})
			if got := s.Crosses(c.on); got != c.is {
				t.Errorf("crosses: %v, want %v", got, c.is)
			}
			place(t, s, 0, p(0, 2)) // uses both uplinks
			check := func(when string, by []int32) {
				t.Helper()
				for rack := int32(1); rack <= 2; rack++ {
					want := []JobID{0}
					if slices.Contains(by, rack) {
						want = []JobID{0, 1}
					}
					if got := s.Crossing(rack); !slices.Equal(got, want) {
						t.Errorf("%s: jobs %v cross rack %d, want %v", when, got, rack, want)
					}
				}
			}
			check("before", nil)
			place(t, s, 1, c.on)
			check("while it runs", c.by)
			tx := s.Begin(nil)
			must.Do(t, tx.Preempt(1))
			check("stopped", nil)
			tx.Rollback(0)
			check("after all not", c.by)
			s.Finish(1)
			check("after", nil)
			if s.Crossing(3) != nil {
				t.Errorf("a rack that there is not is crossed by %v", s.Crossing(3))
			}
		})
	}
}

// TestServersIn checks the servers of racks, also after servers were added, and that an earlier copy keeps its own.
func TestServersIn(t *testing.T) {
	in := func(rack int32) ServerSpec { return ServerSpec{GPUs: 4, Rack: rack} }
	s, before := with(t, of(in(1), in(0), in(2), in(1))), &State{}
	s.CopyTo(before)
	must.Do(t, s.AddServers([]ServerSpec{in(2), in(5)}))
	for _, c := range []struct {
		s    *State
		want [][]ServerID
	}{
		{before, [][]ServerID{{1}, {0, 3}, {2}, nil, nil, nil, nil}},
		{s, [][]ServerID{{1}, {0, 3}, {2, 4}, nil, nil, {5}, nil}},
	} {
		for rack, want := range c.want {
			if got := c.s.ServersIn(int32(rack)); !slices.Equal(got, want) {
				t.Errorf("rack %d has servers %v, want %v", rack, got, want)
			}
		}
	}
}

// TestCrossingEndsWithFailure checks that a failure frees the uplinks of the jobs that it interrupts.
func TestCrossingEndsWithFailure(t *testing.T) {
	s := with(t, of(ServerSpec{GPUs: 1, Rack: 1}, ServerSpec{GPUs: 1, Rack: 2}), JobSpec{Workers: 2, Request: wholeGPU})
	place(t, s, 0, Placement{{0, 1, wholeGPU}, {1, 1, wholeGPU}})
	if s.Fail(1, 0, nil); len(s.Crossing(1)) != 0 || len(s.Crossing(2)) != 0 {
		t.Errorf("jobs %v and %v cross", s.Crossing(1), s.Crossing(2))
	}
}

// TestNoRacks checks that no job uses an uplink in a cluster without racks.
func TestNoRacks(t *testing.T) {
	s := with(t, Uniform(2, 1), JobSpec{Workers: 2, Request: wholeGPU})
	p := Placement{{0, 1, wholeGPU}, {1, 1, wholeGPU}}
	place(t, s, 0, p)
	if s.Crosses(p) || s.Crossing(0) != nil || s.Crossing(1) != nil {
		t.Errorf("crosses: %v, %v, %v", s.Crosses(p), s.Crossing(0), s.Crossing(1))
	}
}
