package loan

import (
	"math"
	"slices"
)

// search returns the n servers whose return stops the fewest jobs, and among such choices does the least collateral damage: the
// GPUs that the stopped jobs held on servers that stay. It is branch and bound over the servers in order. It begins with the
// choice of Lyra's policy and keeps it unless another is better. exact is false if the search was cut off after Config.Limit
// nodes; the result is then the best choice seen, at least as good as Lyra's. The time grows with the number of choices, which
// is too large beyond some 25 servers.
func (c Config) search(servers int, jobs []job, n int) (returned, preempted []int, exact bool) {
	n = min(n, servers)
	greedy := c
	greedy.Policy, greedy.Cost = Lyra, ServerFractions
	returned, preempted = greedy.reclaim(servers, jobs, n, nil)
	o := search{ledger: newLedger(ServerFractions, servers, jobs, c.Flexible), nodes: c.Limit}
	o.best = score{len(preempted), damage(servers, jobs, returned, preempted)}
	o.visit(0, n)
	if o.chosen != nil {
		returned, preempted = o.chosen, o.lost
	}
	return returned, preempted, o.nodes >= 0
}

// damage returns the thousandths of GPUs that the stopped jobs held on servers that stay.
func damage(servers int, jobs []job, returned, preempted []int) (milli int64) {
	back := make([]bool, servers)
	for _, s := range returned {
		back[s] = true
	}
	for _, j := range preempted {
		milli += jobs[j].ElsewhereMilli
		for _, p := range jobs[j].Pieces {
			if !back[p.Server] {
				milli += p.GPUMilli
			}
		}
	}
	return milli
}

// score is the quality of a choice; smaller is better.
type score struct {
	jobs  int
	milli int64
}

func (a score) better(b score) bool { return a.jobs < b.jobs || a.jobs == b.jobs && a.milli < b.milli }

// search is the state of the branch and bound. It uses only the part of the ledger that says which jobs are where, and undoes
// its changes there.
type search struct {
	*ledger
	nodes        int // number of nodes left to visit
	stops        int // number of jobs stopped
	best         score
	chosen, lost []int // nil unless better than the first choice
	fresh        []int
	share        []float64
}

// visit decides about the servers from s on, of which n go back.
func (o *search) visit(s, n int) {
	if o.nodes--; o.nodes < 0 {
		return
	}
	if n == 0 {
		if now := (score{o.stops, o.damageBefore(len(o.back))}); now.better(o.best) {
			o.best, o.chosen, o.lost = now, slices.Clone(o.returned), o.stopped()
		}
		return
	}
	if len(o.back)-s < n || !o.bound(s, n).better(o.best) {
		return
	}
	slack, gone := o.enter(s)
	o.visit(s+1, n-1)
	o.leave(s, slack, gone)
	o.visit(s+1, n)
}

// enter returns server s and yields what leave needs to undo that.
func (o *search) enter(s int) (slack []int32, gone []bool) {
	o.back[s], o.returned = true, append(o.returned, s)
	for _, r := range o.on[s] {
		slack, gone = append(slack, o.slack[r.job]), append(gone, o.gone[r.job])
		switch w := o.jobs[r.job].Pieces[r.piece].Workers; {
		case o.gone[r.job]:
		case w <= o.slack[r.job]:
			o.slack[r.job] -= w
		default:
			o.gone[r.job] = true
			o.stops++
		}
	}
	return slack, gone
}

func (o *search) leave(s int, slack []int32, gone []bool) {
	o.back[s], o.returned = false, o.returned[:len(o.returned)-1]
	for i, r := range o.on[s] {
		if o.gone[r.job] && !gone[i] {
			o.stops--
		}
		o.slack[r.job], o.gone[r.job] = slack[i], gone[i]
	}
}

// damageBefore returns the collateral damage so far on servers below s that stay, and on servers not on loan.
func (o *search) damageBefore(s int) (milli int64) {
	for j, gone := range o.gone {
		if !gone {
			continue
		}
		milli += o.jobs[j].ElsewhereMilli
		for _, p := range o.jobs[j].Pieces {
			if p.Server < s && !o.back[p.Server] {
				milli += p.GPUMilli
			}
		}
	}
	return milli
}

// bound returns a lower bound on the score of every choice of n among the servers from s on. Each server stops the jobs that
// cannot be scaled in now, so the n-th smallest number of these is a bound. If a job adds 1/k to each of the k servers that stop
// it, the sum of the n smallest totals is a bound too.
func (o *search) bound(s, n int) score {
	o.fresh, o.share = o.fresh[:0], o.share[:0]
	for t := s; t < len(o.back); t++ {
		jobs, share := 0, 0.0
		for _, r := range o.on[t] {
			if o.gone[r.job] || o.jobs[r.job].Pieces[r.piece].Workers <= o.slack[r.job] {
				continue
			}
			jobs++
			share += 1 / float64(o.ahead(r.job, s))
		}
		o.fresh, o.share = append(o.fresh, jobs), append(o.share, share)
	}
	slices.Sort(o.fresh)
	slices.Sort(o.share)
	sum := 0.0
	for _, x := range o.share[:n] {
		sum += x
	}
	return score{o.stops + max(o.fresh[n-1], int(math.Ceil(sum-tied))), o.damageBefore(s)}
}

// ahead returns the number of servers from s on that stop the job now.
func (o *search) ahead(j, s int) (n int) {
	for _, p := range o.jobs[j].Pieces {
		if p.Server >= s && p.Workers > o.slack[j] {
			n++
		}
	}
	return n
}
