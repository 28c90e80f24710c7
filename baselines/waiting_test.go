package baselines

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/placement"
	"pgregory.net/rapid"
)

// TestWaitingEqualsSortedList checks that the queues by kind give the jobs in the order of one sorted list without the refused
// kinds.
func TestWaitingEqualsSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type job struct {
			ticket
			kind placement.Kind
		}
		var w waiting
		w.reset()
		var list []job
		refused := map[placement.Kind]bool{}
		next := 0 // ids are unique but not in order
		first := func() int {
			return slices.IndexFunc(list, func(j job) bool { return !refused[j.kind] })
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				j := job{
					ticket{time.Duration(rapid.IntRange(0, 5).Draw(t, "key")), time.Duration(rapid.IntRange(0, 2).Draw(t, "tie")),
						cluster.JobID(next * 31 % 101)},
					placement.Kind{Shape: cluster.Shape{Workers: rapid.Int32Range(1, 3).Draw(t, "workers")}},
				}
				w.push(j.kind, j.ticket)
				list, next = append(list, j), next+1
				slices.SortFunc(list, func(a, b job) int { return a.compare(b.ticket) })
			},
			"pop": func(t *rapid.T) {
				if at := first(); at >= 0 {
					w.pop(w.first())
					list = slices.Delete(list, at, at+1)
				}
			},
			"refuse": func(t *rapid.T) {
				if at := first(); at >= 0 {
					w.refuse(w.first())
					refused[list[at].kind] = true
				}
			},
			"pass": func(*rapid.T) {
				w.pass()
				clear(refused)
			},
			"": func(t *rapid.T) {
				at, i := first(), w.first()
				if (at < 0) != (i < 0) || at >= 0 && w.head(i) != list[at].ticket {
					t.Fatalf("line %d of %+v is first, want %d of %+v", i, w, at, list)
				}
			},
		})
	})
}

// sorted is list implemented by sorting all waiting jobs at every decision point.
type sorted struct{ list }

func (p *sorted) Schedule(tx *cluster.Txn) error {
	var all []ticket
	for _, id := range tx.View().Pending() {
		key, err := p.order(tx.View(), id)
		if err != nil {
			return err
		}
		all = append(all, ticket{key: key, job: id})
	}
	slices.SortFunc(all, ticket.compare)
	for _, next := range all {
		started, err := p.start(tx, next.job)
		if err != nil || !started && !p.skip {
			return err
		}
	}
	return nil
}

// TestListsEqualSortedQueue checks that the lists give the same schedule as one sorted queue, record by record.
func TestListsEqualSortedQueue(t *testing.T) {
	for _, name := range []string{"fifo", "fjf", "sjf", "sjfskip"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := drawConfig(t)
				jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(1, 25).Draw(t, "jobs"))
				mix(t, &cfg, jobs)
				if rapid.Bool().Draw(t, "hard") {
					harden(t, &cfg, jobs)
				}
				p := must.Get(tested().New(name))(t)
				got, want := timeline(t, cfg, jobs, p), timeline(t, cfg, jobs, &sorted{*p.(*list)})
				if !slices.Equal(got, want) {
					t.Fatalf("schedule\n%q, want\n%q", got, want)
				}
			})
		})
	}
}

// TestLASWakesAtTheBound checks las with one bound. A job on two GPUs reaches the bound of 3,200 GPU-seconds after 1,600 s, and one on
// half a GPU after 6,400 s; las wakes up at that instant to start waiting jobs before it.
func TestLASWakesAtTheBound(t *testing.T) {
	for _, c := range []struct {
		name    string
		workers int32
		milli   int32
		want    []string
	}{
		{"two GPUs", 2, 1000, []string{"0s start 0", "26m40s preempt 0", "26m40s start 1", "28m20s finish 1", "28m20s start 0",
			"1h55m0s finish 0", "1h55m0s end 0"}},
		{"half of two GPUs", 2, 500, []string{"0s start 0", "53m20s preempt 0", "53m20s start 1", "55m0s finish 1",
			"55m0s start 0",
			"1h55m0s finish 0", "1h55m0s end 0"}},
		{"three tenths of two GPUs", 2, 300, []string{"0s start 0", "1h28m53.333333334s preempt 0", "1h28m53.333333334s start 1",
			"1h30m33.333333334s finish 1", "1h30m33.333333334s start 0", "1h55m0s finish 0", "1h55m0s end 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var jobs = make([]job, 2)
			jobs[0].Name, jobs[0].Workers, jobs[0].Work = "long", c.workers, 6800*time.Second
			jobs[0].Request.GPUMilli = c.milli
			jobs[1].Name, jobs[1].Workers, jobs[1].Work, jobs[1].Submit = "late", 2, 100*time.Second, 1000*time.Second
			jobs[1].Request.GPUMilli = cluster.WholeGPU
			p := must.Get(New("las:levels=single:quantum=0"))(t)
			if got := events(run(t, sim.Config{Cluster: cluster.Uniform(1, 2)}, jobs, p, 1)); !slices.Equal(got, c.want) {
				t.Errorf("schedule %q, want %q", got, c.want)
			}
		})
	}
}

// TestQueueGivesTicketsInOrder checks a queue against a sorted list, with tickets that come in order, out of order and in both ways.
func TestQueueGivesTicketsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var want []ticket
		ordered := rapid.Float64Range(0, 1).Draw(t, "how often in order")
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(want) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				if q.len() != len(want) || q.top() != want[0] {
					t.Fatalf("%d tickets, the first %v, want %d and %v", q.len(), q.top(), len(want), want[0])
				}
				if got := q.pop(); got != want[0] {
					t.Fatalf("got %v, want %v", got, want[0])
				}
				want = want[1:]
				continue
			}
			next := ticket{key: time.Duration(i), job: cluster.JobID(i)}
			if rapid.Float64Range(0, 1).Draw(t, "in order") > ordered {
				next.key = time.Duration(rapid.IntRange(0, 10).Draw(t, "key"))
			}
			q.push(next)
			want = append(want, next)
			slices.SortFunc(want, ticket.compare)
		}
		if q.len() != len(want) {
			t.Fatalf("%d tickets left, want %d", q.len(), len(want))
		}
	})
}
