package rivals

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
)

// asked is a job that may have base to most workers of a GPU each, runs with now workers (0: it waits), and has so many seconds
// left with one worker (0: nobody knows).
type asked struct{ base, most, now, left int32 }

// wants returns how many workers a policy gives to jobs on a server of the given number of GPUs.
func wants(t *testing.T, p elastic.Policy, gpus int, list []asked) []int32 {
	t.Helper()
	s, err := cluster.NewState(cluster.Uniform(1, gpus), len(list))
	if err != nil {
		t.Fatal(err)
	}
	var jobs []elastic.Job
	for i, a := range list {
		id, left := cluster.JobID(i), time.Duration(a.left)*time.Second
		s.Submit(id, &cluster.JobSpec{
			Name: fmt.Sprint(i), Workers: max(a.base, a.now), MinWorkers: a.base, MaxWorkers: a.most, Estimate: left,
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
		})
		if a.now > 0 {
			tx := s.Begin(nil)
			at := cluster.Piece{Workers: a.now, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}
			if err := tx.Place(id, cluster.Placement{at}); err != nil {
				t.Fatal(err)
			}
			tx.End()
		}
		if a.now == 0 || a.base < a.most {
			jobs = append(jobs, elastic.Job{
				ID: id, Base: a.base, Most: a.most, Now: a.now, GPUMilli: cluster.WholeGPU, Left: left, Workers: 1,
			})
		}
	}
	p.Allocate(&s.View, jobs)
	slices.SortFunc(jobs, func(a, b elastic.Job) int { return int(a.ID - b.ID) })
	var got []int32
	for i := range jobs {
		got = append(got, jobs[i].Want)
	}
	return got
}

func TestResizing(t *testing.T) {
	grown := asked{base: 2, most: 8, now: 6}
	short, long, unknown := asked{1, 8, 0, 10}, asked{1, 8, 0, 100}, asked{1, 8, 0, 0}
	for _, c := range []struct {
		name   string
		policy elastic.Policy
		gpus   int
		jobs   []asked
		want   []int32
	}{
		{"the first job takes all that it can", gandiva{}, 8, []asked{{2, 6, 2, 0}, {1, 4, 1, 0}}, []int32{6, 2}},
		{"a job that starts grows at once where nobody waits", gandiva{}, 8, []asked{{2, 6, 0, 0}, {3, 3, 0, 0}}, []int32{5, 3}},
		{"a job shrinks by what a waiting one needs", gandiva{}, 8, []asked{grown, {4, 4, 0, 0}}, []int32{4, 4}},
		{"not for one that cannot start all the same, which blocks", gandiva{}, 8,
			[]asked{grown, {7, 7, 0, 0}, {1, 1, 0, 0}}, []int32{6, 0, 0}},
		{"a job larger than the cluster blocks nobody", gandiva{}, 8, []asked{{9, 9, 0, 0}, {1, 3, 0, 0}}, []int32{0, 1}},
		{"rigid jobs that run keep what they hold", gandiva{}, 8, []asked{{5, 5, 5, 0}, {1, 8, 1, 0}}, []int32{3}},

		// Gains of the short job are 1, 1/2, 1/3, 1/4 of its throughput, against 1/2, 1/3, 1/4 of the increased throughput of the long
		// one.
		{"two jobs share almost evenly where speed is linear", afs{}, 8, []asked{long, short}, []int32{3, 5}},
		{"a job without an estimate counts as the longer one", afs{}, 8, []asked{unknown, long}, []int32{3, 5}},
		{"where nobody has one, the first counts as the shorter one", afs{}, 8, []asked{unknown, unknown}, []int32{5, 3}},
		{"the shorter job is the one that ends first with what it has", afs{}, 6, []asked{{2, 8, 0, 10}, {3, 8, 0, 12}}, []int32{2, 4}},
		{"most workers bound a job", afs{}, 8, []asked{long, {1, 2, 0, 1}}, []int32{6, 2}},
		{"every base comes first", afs{}, 8, []asked{{4, 8, 8, 1}, {4, 4, 0, 3600}}, []int32{4, 4}},
		{"the shortest base first, and who does not fit is passed over", afs{}, 8,
			[]asked{{6, 6, 0, 3600}, {3, 3, 0, 1}, {2, 2, 0, 0}}, []int32{0, 3, 2}},
	} {
		if got := wants(t, c.policy, c.gpus, c.jobs); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
