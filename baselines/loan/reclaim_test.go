package loan

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/rng"
	"pgregory.net/rapid"
)

// on returns a job with the given numbers of workers, of one GPU each, on the given servers.
func on(workers ...[2]int) (j job) {
	for _, w := range workers {
		j.Pieces = append(j.Pieces, piece{Server: w[0], Workers: int32(w[1]), GPUMilli: int64(w[1]) * 1000})
	}
	return j
}

// figure5 is the example of Lyra (EuroSys 2023, figure 5 and table 1): jobs a to d on six servers of eight GPUs, here numbered
// from 0.
func figure5() []job {
	return []job{
		on([2]int{0, 8}, [2]int{1, 8}), on([2]int{2, 8}), on([2]int{3, 8}, [2]int{4, 2}), on([2]int{4, 2}, [2]int{5, 8}),
	}
}

func TestCostsOfFigure5(t *testing.T) {
	want := []float64{0.5, 0.5, 1, 0.5, 1, 0.5}
	for s, got := range newLedger(6, figure5(), true).cost {
		if math.Abs(got-want[s]) > 1e-12 {
			t.Errorf("server %d costs %v, want %v", s+1, got, want[s])
		}
	}
}

func TestReclaimFigure5(t *testing.T) {
	for _, c := range []struct {
		policy    Policy
		n         int
		returned  []int // ascending
		preempted string
	}{
		{Lyra, 1, []int{4}, "c"},
		{Lyra, 2, []int{1, 2}, "a"},
		{Lyra, 3, []int{1, 2, 4}, "ac"},
		{Lyra, 4, []int{1, 2, 4, 6}, "acd"},
		{Lyra, 5, []int{1, 2, 4, 5, 6}, "acd"},
		{Lyra, 6, []int{1, 2, 3, 4, 5, 6}, "abcd"},
		{Lyra, 9, []int{1, 2, 3, 4, 5, 6}, "abcd"},
		{SCF, 2, []int{1, 2}, "a"},
	} {
		cfg := Default()
		cfg.Policy = c.policy
		returned, preempted := cfg.reclaim(6, figure5(), c.n, nil)
		slices.Sort(returned)
		names := ""
		for _, j := range preempted {
			names += string("abcd"[j])
		}
		for i := range returned {
			returned[i]++
		}
		if !slices.Equal(returned, c.returned) || names != c.preempted {
			t.Errorf("%s, %d servers: %v stop %s, want %v stop %s",
				c.policy, c.n, returned, names, c.returned, c.preempted)
		}
	}
	l := newLedger(6, figure5(), true)
	if l.giveBack(0); l.cost[1] != 0 {
		t.Errorf("server 2 costs %v after server 1 went back, want 0", l.cost[1])
	}
}

// TestGreedyStopsThreeForOne shows that the greedy choice is not optimal, even for one server, if servers host several jobs: a
// server with one whole job costs 1, one with three jobs that each use four servers only 3/4.
func TestGreedyStopsThreeForOne(t *testing.T) {
	wide := on([2]int{1, 1}, [2]int{2, 1}, [2]int{3, 1}, [2]int{4, 1})
	jobs := []job{on([2]int{0, 8}), wide, wide, wide}
	for policy, want := range map[Policy]int{Lyra: 3, SCF: 1} {
		c := Default()
		c.Policy = policy
		if _, preempted := c.reclaim(5, jobs, 1, nil); len(preempted) != want {
			t.Errorf("%s stops %d jobs, want %d", policy, len(preempted), want)
		}
	}
}

// TestTies checks that equal costs are decided by collateral damage, then by workers to scale in, then by number.
func TestTies(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers int
		jobs    []job
		n       int
		first   int
	}{
		{"less is freed elsewhere", 2, []job{away(1, 2, on([2]int{0, 8})), away(1, 1, on([2]int{1, 8}))}, 1, 1},
		{"a server that others keep busy does not go back", 3,
			[]job{on([2]int{0, 8}, [2]int{1, 2}), on([2]int{1, 4}), on([2]int{1, 2}), away(1, 1, on([2]int{2, 8}))}, 2, 2},
		{"a server that is left idle does", 3, []job{away(1, 1, on([2]int{0, 8})), on([2]int{1, 8}, [2]int{2, 8})}, 2, 1},
		{"unless there is no demand for it", 3, []job{away(1, 1, on([2]int{0, 8})), on([2]int{1, 8}, [2]int{2, 8})}, 1, 0},
		{"workers to scale in come behind", 2, []job{
			away(1, 1, on([2]int{0, 6})), flexible(2, away(1, 1, on([2]int{0, 2}))), away(1, 2, on([2]int{1, 8})),
		}, 1, 0},
	} {
		if returned, _ := Default().reclaim(c.servers, c.jobs, c.n, nil); returned[0] != c.first {
			t.Errorf("%s: %v go back, want %d first", c.name, returned, c.first)
		}
	}
}

// TestCostsIgnoreFlexibleWorkers checks that servers whose workers a job can lose cost nothing, and do not count as hosts of the
// job.
func TestCostsIgnoreFlexibleWorkers(t *testing.T) {
	jobs := []job{flexible(3, on([2]int{0, 8}, [2]int{1, 2}, [2]int{2, 2})), on([2]int{2, 1})}
	if got, want := newLedger(3, jobs, true).cost, []float64{0.5, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("costs %v, want %v", got, want)
	}
}

// TestRandomDraws checks that Random chooses by its random numbers.
func TestRandomDraws(t *testing.T) {
	c, seen := Default(), map[int]bool{}
	c.Policy = Random
	for seed := range uint64(30) {
		returned, _ := c.reclaim(6, figure5(), 1, rng.Stream(seed, "draw"))
		seen[returned[0]] = true
	}
	if len(seen) != 6 {
		t.Errorf("servers %v in 30 draws, want each of six", seen)
	}
}

// flexible sets the number of workers that a job can lose.
func flexible(n int32, j job) job { j.Flexible = n; return j }

// away adds servers that are not on loan to a job, with the given number of GPUs in all.
func away(servers, gpus int, j job) job {
	j.Elsewhere, j.ElsewhereMilli = servers, int64(gpus)*1000
	return j
}

func TestFlexibleWorkersGoFirst(t *testing.T) {
	for _, c := range []struct {
		name      string
		jobs      []job
		n         int
		returned  []int
		preempted []int
	}{
		{"idle, then the fewest workers, then the lowest number",
			[]job{away(1, 1, flexible(9, on([2]int{0, 4}, [2]int{1, 2}, [2]int{3, 2})))}, 3, []int{2, 1, 3}, nil},
		{"jointly: what one server took is not there for the next",
			[]job{flexible(2, on([2]int{0, 2}, [2]int{1, 2})), on([2]int{2, 1}), on([2]int{3, 1})}, 2, []int{0, 1}, []int{0}},
		{"a rigid neighbour makes a server wait, and of equal ones the one without workers to scale in goes first",
			[]job{away(1, 1, flexible(2, on([2]int{0, 1}, [2]int{1, 1}))), on([2]int{0, 1}), on([2]int{2, 1}), on([2]int{3, 1})},
			2, []int{1, 2}, []int{2}},
		{"flexible servers do not count as hosts: 1/1 is more than 1/2",
			[]job{flexible(1, on([2]int{0, 8}, [2]int{1, 1})), on([2]int{2, 8}, [2]int{3, 8})}, 3, []int{1, 2, 3}, []int{1}},
		{"the least job of all is scaled in rather than stopped",
			[]job{flexible(3, on([2]int{0, 1}, [2]int{1, 1}, [2]int{2, 1}, [2]int{3, 1}))}, 3, []int{0, 1, 2}, nil},
	} {
		returned, preempted := Default().reclaim(4, c.jobs, c.n, nil)
		if !slices.Equal(returned, c.returned) || !slices.Equal(preempted, c.preempted) {
			t.Errorf("%s: %v stop %v, want %v stop %v", c.name, returned, preempted, c.returned, c.preempted)
		}
	}
	off := Default()
	off.Flexible = false
	if _, preempted := off.reclaim(1, []job{away(1, 1, flexible(9, on([2]int{0, 4})))}, 1, nil); len(preempted) != 1 {
		t.Errorf("without scaling in %v are stopped, want the job", preempted)
	}
}

// drawJobs draws jobs on a few servers. With alone, no server hosts two of them.
func drawJobs(t *rapid.T, servers int, alone bool) []job {
	var jobs []job
	taken := make([]bool, servers)
	for range rapid.IntRange(0, 9).Draw(t, "jobs") {
		var j job
		total := int32(0)
		for s := range servers {
			if alone && taken[s] || rapid.IntRange(0, 2).Draw(t, "on") > 0 {
				continue
			}
			taken[s] = true
			w := rapid.Int32Range(1, 4).Draw(t, "workers")
			j.Pieces = append(j.Pieces, piece{s, w, int64(w) * rapid.SampledFrom([]int64{250, 1000}).Draw(t, "milli")})
			total += w
		}
		if len(j.Pieces) == 0 {
			continue
		}
		if rapid.IntRange(0, 3).Draw(t, "elsewhere too") == 0 {
			j.Elsewhere, j.ElsewhereMilli, total = 2, 5000, total+5
		}
		if rapid.Bool().Draw(t, "elastic") {
			j.Flexible = rapid.Int32Range(0, total-1).Draw(t, "flexible")
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// fewest returns how many jobs must stop at least for n servers, by trying all sets.
func fewest(servers int, jobs []job, n int) int {
	least := math.MaxInt
	for set := range 1 << servers {
		if bits.OnesCount(uint(set)) == n {
			least = min(least, stops(jobs, set))
		}
	}
	return least
}

// stops returns how many jobs stop for a set of servers: those that have more workers there than they can lose.
func stops(jobs []job, set int) (n int) {
	for _, j := range jobs {
		lost := int32(0)
		for _, p := range j.Pieces {
			if set>>p.Server&1 == 1 {
				lost += p.Workers
			}
		}
		if lost > j.Flexible {
			n++
		}
	}
	return n
}

func setOf(servers []int) (set int) {
	for _, s := range servers {
		set |= 1 << s
	}
	return set
}

// TestReclaim checks for every policy that the requested number of servers go back, each once, and that exactly the jobs stop
// that would lose more workers than they can. Returning one server stops no job if some server stops none. For one server, if
// no server hosts two jobs, Lyra's policy stops the fewest.
func TestReclaim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers, alone := rapid.IntRange(1, 7).Draw(t, "servers"), rapid.Bool().Draw(t, "no server hosts two jobs")
		jobs := drawJobs(t, servers, alone)
		n := rapid.IntRange(1, servers).Draw(t, "n")
		least := fewest(servers, jobs, n)
		for _, policy := range []Policy{Lyra, SCF, Random} {
			c := Default()
			c.Policy = policy
			returned, preempted := c.reclaim(servers, jobs, n, rand.New(rand.NewPCG(1, 2)))
			set := setOf(returned)
			if len(returned) != n || bits.OnesCount(uint(set)) != n {
				t.Fatalf("%s: %v go back, want %d servers", policy, returned, n)
			}
			got := stops(jobs, set)
			if len(preempted) != got {
				t.Fatalf("%s: %v stop %v, want %d jobs", policy, returned, preempted, got)
			}
			if policy == Lyra && n == 1 && alone && got != least {
				t.Fatalf("%d jobs stop for one server, want %d", got, least)
			}
			if n == 1 && least == 0 && got > 0 {
				t.Fatalf("%s: %d jobs stop for one server, and none need", policy, got)
			}
		}
	})
}

// TestFlexibleServersStopNobody checks that no job is stopped, whatever the policy, if every job keeps its least on other
// servers.
func TestFlexibleServersStopNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.IntRange(1, 7).Draw(t, "servers")
		jobs := drawJobs(t, servers, false)
		for i := range jobs {
			j := &jobs[i]
			j.Elsewhere, j.ElsewhereMilli, j.Flexible = 1, 1000, 0
			for _, p := range j.Pieces {
				j.Flexible += p.Workers
			}
		}
		c := Default()
		c.Policy = rapid.SampledFrom([]Policy{Lyra, SCF, Random}).Draw(t, "policy")
		if returned, preempted := c.reclaim(servers, jobs, servers, nil); preempted != nil {
			t.Fatalf("%v go back and stop %v", returned, preempted)
		}
	})
}

// busy draws a pool of servers of eight GPUs, full or nearly full, with jobs of the given numbers of workers as far as they fit.
func busy(draw *rand.Rand, servers, jobs int, sizes []int) []job {
	free := make([]int, servers)
	for s := range free {
		free[s] = 8
	}
	var all []job
	for range jobs {
		var j job
		left := sizes[draw.IntN(len(sizes))]
		for _, s := range draw.Perm(servers) {
			if n := min(left, free[s]); n > 0 {
				j.Pieces = append(j.Pieces, piece{s, int32(n), int64(n) * 1000})
				free[s], left = free[s]-n, left-n
			}
		}
		if len(j.Pieces) > 0 {
			all = append(all, j)
		}
	}
	return all
}

// wideJobs returns sizes of jobs, many of which need several servers.
func wideJobs() []int { return []int{1, 1, 2, 4, 8, 8, 16, 32} }

// TestPoliciesOnAverage checks that on average Lyra's policy stops at most as many jobs as SCF, and SCF at most as many as
// Random, as published. It logs the means by the number of servers.
func TestPoliciesOnAverage(t *testing.T) {
	policies := []Policy{Lyra, SCF, Random}
	var total [3]int
	for n := 1; n <= 8; n++ {
		before := total
		for i := range uint64(100) {
			jobs := busy(rng.Stream(i, "busy"), 16, 24, wideJobs())
			for k, p := range policies {
				c := Default()
				c.Policy = p
				_, preempted := c.reclaim(16, jobs, n, rng.Stream(i, "draw"))
				total[k] += len(preempted)
			}
		}
		t.Logf("%d servers: jobs stopped in 100 instances of 16 servers by %v: %d, %d, %d", n, policies, total[0]-before[0],
			total[1]-before[1], total[2]-before[2])
	}
	if !(total[0] < total[1] && total[1] < total[2]) {
		t.Errorf("%v stop %v jobs", policies, total)
	}
}

// BenchmarkReclaim measures the choice in the paper's pool: 520 servers, here all on loan, with 2,000 jobs on them.
func BenchmarkReclaim(b *testing.B) {
	jobs := busy(rng.Stream(1, "busy"), 520, 2000, []int{1, 1, 1, 1, 2, 2, 2, 4, 4})
	elastic := slices.Clone(jobs)
	for i := range elastic {
		total := int32(0)
		for _, p := range elastic[i].Pieces {
			total += p.Workers
		}
		if i%4 == 0 {
			elastic[i].Flexible = total / 2
		}
	}
	if len(jobs) != 2000 {
		b.Fatalf("%d jobs have found room", len(jobs))
	}
	for _, c := range []struct {
		name string
		jobs []job
	}{{"rigid", jobs}, {"elastic", elastic}} {
		for _, policy := range []Policy{Lyra, SCF} {
			for _, n := range []int{10, 60, 260} {
				b.Run(fmt.Sprintf("%s/%s/%d", c.name, policy, n), func(b *testing.B) {
					cfg := Default()
					cfg.Policy = policy
					b.ReportAllocs()
					for b.Loop() {
						cfg.reclaim(520, c.jobs, n, nil)
					}
				})
			}
		}
	}
}
