package comm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/physics/comm"
	"github.com/clustergym/clustergym/internal/must"
)

func TestRanks(t *testing.T) {
	for _, c := range []struct {
		name    string
		job     comm.Job
		workers []int32
		want    comm.Mapping
		err     string
	}{
		{"one piece", two, []int32{4}, comm.Mapping{2, 2}, ""},
		{"pieces end with stages", two, []int32{2, 2}, comm.Mapping{2, 0, 0, 2}, ""},
		{"a piece spans stages", two, []int32{3, 1}, comm.Mapping{2, 0, 1, 1}, ""},
		{"the other order of pieces is another mapping", two, []int32{1, 3}, comm.Mapping{1, 1, 0, 2}, ""},
		{"an empty piece", two, []int32{2, 0, 2}, comm.Mapping{2, 0, 0, 0, 0, 2}, ""},
		{"a worker for each piece", two, []int32{1, 1, 1, 1}, comm.Mapping{1, 1, 0, 0, 0, 0, 1, 1}, ""},
		{"two workers to a replica", wide, []int32{2, 2}, comm.Mapping{1, 1}, ""},
		{"a replica torn apart", wide, []int32{3, 1}, nil, "piece 0 has 3 workers, want a multiple of 2"},
		{"less than no worker", two, []int32{5, -1}, nil, "5 workers up to piece 0, want 4"},
		{"a worker too few", two, []int32{3}, nil, "3 workers on 1 pieces, want 4"},
		{"a worker too many", two, []int32{3, 2}, nil, "5 workers up to piece 1, want 4 in all"},
		{"no pieces", two, nil, nil, "0 workers on 0 pieces, want 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, err := comm.Ranks(nil, c.job, c.workers)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || !slices.Equal(x, c.want) {
				t.Errorf("got %v, %v; want %v", x, err, c.want)
			}
		})
	}
}

func TestHeavyEdge(t *testing.T) {
	// ring has four replicas in a ring whose hops are heavier than the edges to the next stage, which all have equal weight.
	ring := comm.Job{Stages: []comm.Stage{{Replicas: 4, Compute: 1, Params: 4, Activations: 2}, {Replicas: 2, Compute: 1}}}
	plain := comm.Job{Stages: []comm.Stage{{Replicas: 2, Compute: 1}, {Replicas: 2, Compute: 1}}}
	for _, c := range []struct {
		name string
		job  comm.Job
		free []int32
		want comm.Mapping
		cut  float64
		err  string
	}{
		{"one server", two, []int32{4}, comm.Mapping{2, 2}, 0, ""},
		{"two and two keep the stages whole", two, []int32{2, 2}, comm.Mapping{2, 0, 0, 2}, 80 * mb, ""},
		{"three and one", two, []int32{3, 1}, comm.Mapping{2, 0, 1, 1}, 60 * mb, ""},
		{"room for one takes the loosest", two, []int32{1, 3}, comm.Mapping{0, 2, 1, 1}, 60 * mb, ""},
		{"a ring stays whole", ring, []int32{4, 2}, comm.Mapping{4, 0, 0, 2}, 4, ""},
		// Hops have 6 bytes, and two hops of the ring are cut. Pairs have 0.5 bytes, and 2 of 8 pairs stay on their server.
		{"a ring is cut in halves", ring, []int32{3, 3}, comm.Mapping{3, 1, 0, 2}, 12 + 3, ""},
		{"no edges", plain, []int32{1, 2, 1}, comm.Mapping{1, 1, 0, 0, 1, 1}, 0, ""},
		{"servers that are not needed", two, []int32{0, 4, 9}, comm.Mapping{0, 2, 0, 0, 2, 0}, 0, ""},
		{"a GPU left over", wide, []int32{3, 3}, comm.Mapping{1, 1}, 200 * mb, ""},
		{"no room", two, []int32{2, 1}, nil, 0, "no room for 1 of 4 replicas"},
		{"no room for whole replicas", wide, []int32{3, 1}, nil, 0, "no room for 1 of 2 replicas of 2 GPUs"},
		{"less than nothing free", two, []int32{-1, 5}, nil, 0, "server 0 has -1 free GPUs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, err := comm.HeavyEdge(nil, c.job, c.free)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || !slices.Equal(x, c.want) {
				t.Fatalf("got %v, %v; want %v", x, err, c.want)
			}
			near(t, comm.Cut(c.job, x), c.cut)
		})
	}
}

func TestBestAndWorst(t *testing.T) {
	one := comm.Job{Stages: []comm.Stage{{Replicas: 1, Compute: 0.5}}}
	even := comm.Job{Stages: []comm.Stage{{Replicas: 4, Compute: 0.10, Params: 100 * mb}}}
	for _, c := range []struct {
		name        string
		job         comm.Job
		size        int32
		best, worst float64
		err         string
	}{
		{"on one server", two, 4, 0.1112, 0.548, ""},
		// On servers of two GPUs the NIC shares are 1250 and 625 MB/s, so 0.10 + 80/1250 + 100/12500 and 0.10 + 40/625 + 100/625.
		{"a server for each stage", two, 2, 0.172, 0.324, ""},
		// Servers of three GPUs get 3+1 or 2+2 replicas; a GPU's NIC share is 1250/3 MB/s. Ranks and HeavyEdge both put stage 1
		// on the first server.
		// 3+1: stage 2 has 0.08 + 40·3/1250 + 10·3/1250 = 0.2, stage 1 has 0.10 + 2·20·3/2500 + 20/12500 + 0.008 = 0.1576.
		// 2+2: 0.10 + 80·3/2500 + 0.008 = 0.204. Worst: 0.10 + 40·3/1250 + 100·3/1250 = 0.436.
		{"three and one", two, 3, 0.2, 0.436, ""},
		// Best fills evenly, 2+2 rather than 3+1: 0.10 + 150·3/2500, worst 0.10 + 150·3/1250.
		{"four replicas on servers of three", even, 3, 0.28, 0.46, ""},
		{"one worker", one, 8, 0.5, 0.5, ""},
		{"a replica on each server", wide, 3, 0.104 + 100*3./2500, 0.104 + 100*3./2500, ""},
		{"a server too small for a replica", wide, 1, 0, 0, "servers of 1 GPUs, want at least the 2"},
		{"no servers", one, 0, 0, 0, "servers of 0 GPUs"},
		{"no job", comm.Job{}, 4, 0, 0, "stages: none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			best, err := comm.Best(c.job, c.size, links)
			worst, err2 := comm.Worst(c.job, c.size, links)
			for _, err := range []error{err, err2} {
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Fatalf("got %v, want %q", err, c.err)
				}
			}
			if c.err == "" {
				near(t, best, c.best)
				near(t, worst, c.worst)
			}
		})
	}
}

// TestBestTriesHeavyEdges checks Best on a job for which HeavyEdge cuts far fewer bytes than Ranks.
func TestBestTriesHeavyEdges(t *testing.T) {
	job := comm.Job{Stages: []comm.Stage{
		{Replicas: 1, Compute: 1},
		{Replicas: 2, Compute: 1, Params: 100},
		{Replicas: 1, Compute: 1},
	}}
	best := must.Get(comm.Best(job, 2, comm.Links{Intra: 10, NIC: 1}))(t)
	near(t, best, 11) // both replicas of stage 2 on one server: 1 + 100/10; Ranks separates them: 1 + 100/0.5
}
