package cluster

import (
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

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
