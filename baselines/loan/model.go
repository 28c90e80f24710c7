package loan

import (
	"math"
	"slices"
)

// job is a job with workers on servers on loan, in numbers. Servers on loan are numbered from 0.
type job struct {
	Pieces []piece // at most one per server
	// Elsewhere is the number of its servers that are not on loan; ElsewhereMilli the thousandths of GPUs that it holds there.
	Elsewhere      int
	ElsewhereMilli int64
	// Flexible is how many workers it can lose without being stopped; it is less than its number of workers.
	Flexible int32
}

// piece is what a job holds on one server on loan.
type piece struct {
	Server   int
	Workers  int32
	GPUMilli int64 // of all its workers there
}

// tied is the largest difference between costs that count as equal. Costs are sums of few fractions.
const tied = 1e-9

// ledger keeps track of which jobs are still where while servers go back one by one, and of the cost of returning each server.
type ledger struct {
	jobs     []job
	on       [][]resident // by server
	slack    []int32      // by job: workers that it can still lose
	hosts    []int        // by job: number of servers with workers that it cannot lose
	gone     []bool       // by job: it is stopped
	back     []bool       // by server
	returned []int        // servers in the order in which they went back

	cost []float64 // by server
	hard []int32   // by server: number of jobs that returning it would stop
	soft []int32   // by server: number of workers that returning it would scale in

	sizes   []int32 // scratch
	touched []int
	hits    []int32 // by server
	freed   []int64
}

// resident is a piece of a job, in the list of the piece's server.
type resident struct{ job, piece int }

// newLedger computes the preemption cost of each of the servers on loan: the sum, over the jobs that returning the server
// would stop, of 1 / the number of servers that host the job (Lyra, §4, table 1). Flexible workers do not count: a job that
// can lose all its workers on the server is not stopped. The servers that host a job are those that remain after it has lost
// as many pieces as it can, small ones first.
// That Lyra ignores flexible workers is reconstructed; §5.3 releases them before.
func newLedger(servers int, jobs []job, flexible bool) *ledger {
	l := &ledger{
		jobs: jobs, on: make([][]resident, servers),
		slack: make([]int32, len(jobs)), hosts: make([]int, len(jobs)),
		gone: make([]bool, len(jobs)), back: make([]bool, servers),
		cost: make([]float64, servers), hard: make([]int32, servers), soft: make([]int32, servers),
		hits: make([]int32, servers), freed: make([]int64, servers),
	}
	for j := range jobs {
		if flexible {
			l.slack[j] = jobs[j].Flexible
		}
		for i, p := range jobs[j].Pieces {
			l.on[p.Server] = append(l.on[p.Server], resident{j, i})
		}
		l.count(j)
	}
	for s := range servers {
		l.price(s)
	}
	return l
}

// count updates the numbers of a job that costs depend on.
func (l *ledger) count(j int) {
	job := &l.jobs[j]
	n, spare := job.Elsewhere, l.slack[j]
	l.sizes = l.sizes[:0]
	for _, p := range job.Pieces {
		if !l.back[p.Server] {
			l.sizes = append(l.sizes, p.Workers)
		}
	}
	if n += len(l.sizes); spare > 0 {
		slices.Sort(l.sizes)
		for _, w := range l.sizes {
			if spare -= w; spare < 0 {
				break
			}
			n--
		}
	}
	l.hosts[j] = n
}

// price updates the cost of a server.
func (l *ledger) price(s int) {
	l.cost[s], l.hard[s], l.soft[s] = 0, 0, 0
	for _, r := range l.on[s] {
		p := &l.jobs[r.job].Pieces[r.piece]
		switch {
		case l.gone[r.job]:
			continue
		case p.Workers <= l.slack[r.job]:
			l.soft[s] += p.Workers
			continue
		}
		l.hard[s]++
		l.cost[s] += 1 / float64(l.hosts[r.job])
	}
}

// giveBack returns a server. Each job on it is scaled in or, if it cannot be, stopped on all its servers.
func (l *ledger) giveBack(s int) {
	l.back[s] = true
	l.returned = append(l.returned, s)
	for _, r := range l.on[s] {
		if l.gone[r.job] {
			continue
		}
		pieces := l.jobs[r.job].Pieces
		if w := pieces[r.piece].Workers; w <= l.slack[r.job] {
			l.slack[r.job] -= w
		} else {
			l.gone[r.job] = true
		}
		l.count(r.job)
		for _, p := range pieces {
			if !l.back[p.Server] {
				l.price(p.Server)
			}
		}
	}
}

// cheapest returns the server that goes back next if the parameter left servers are still to go: the one with the least cost,
// then the least collateral damage, then the fewest workers to scale in, then the lowest number. Servers that stop no job
// therefore come first, and idle ones first among them.
func (l *ledger) cheapest(left int) int {
	least := math.Inf(1)
	for s, c := range l.cost {
		if !l.back[s] {
			least = min(least, c)
		}
	}
	best, damage := -1, int64(0)
	for s, c := range l.cost {
		if l.back[s] || c > least+tied {
			continue
		}
		if d := l.collateral(s, left); best < 0 || d < damage || d == damage && l.soft[s] < l.soft[best] {
			best, damage = s, d
		}
	}
	return best
}

// collateral returns the collateral damage of returning server s when the parameter left servers, s included, are still to go:
// the thousandths of GPUs that the jobs that it stops hold on servers that stay. Servers on which no job would then have to be
// stopped count as the next to go back, lower numbers first, as many as are still to go. Lyra, §7.3, defines collateral damage
// only for the whole decision; this definition for one server is reconstructed, and finds the optimum of its figure 5.
func (l *ledger) collateral(s, left int) (milli int64) {
	l.touched = l.touched[:0]
	for _, r := range l.on[s] {
		job := &l.jobs[r.job]
		if l.gone[r.job] || job.Pieces[r.piece].Workers <= l.slack[r.job] {
			continue
		}
		milli += job.ElsewhereMilli
		for _, p := range job.Pieces {
			if p.Server == s || l.back[p.Server] {
				continue
			}
			if l.freed[p.Server] == 0 {
				l.touched = append(l.touched, p.Server)
			}
			milli += p.GPUMilli
			l.freed[p.Server] += p.GPUMilli
			if p.Workers > l.slack[r.job] {
				l.hits[p.Server]++
			}
		}
	}
	slices.Sort(l.touched)
	for _, t := range l.touched {
		if l.hits[t] == l.hard[t] && left > 1 {
			milli -= l.freed[t]
			left--
		}
		l.hits[t], l.freed[t] = 0, 0
	}
	return milli
}

// stopped returns the jobs that are stopped, ascending.
func (l *ledger) stopped() (jobs []int) {
	for j, gone := range l.gone {
		if gone {
			jobs = append(jobs, j)
		}
	}
	return jobs
}
