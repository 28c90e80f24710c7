package loan

import (
	"math"
	"slices"
)

// search returns the choice of n servers that stops the fewest jobs, of those the one with the least collateral damage: the
// GPUs that the stopped jobs held on servers that do not go back. It is branch and bound over the servers in order; it
// begins with what Lyra's policy chooses and keeps that unless another choice is better. exact is false if the search was
// cut off after Config.Limit nodes: the choice is then the best seen, and at least as good as Lyra's. The time grows with
// the number of choices, of which there are too many beyond some 25 servers.
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

// damage is what the stopped jobs held on servers that do not go back, in thousandths of GPUs.
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

// score is how good a choice is: less is better.
type score struct {
	jobs  int
	milli int64
}

func (a score) better(b score) bool { return a.jobs < b.jobs || a.jobs == b.jobs && a.milli < b.milli }

// search walks the choices. Of the ledger it uses who is where, and undoes what it enters there.
type search struct {
	*ledger
	nodes        int // left to visit
	stops        int // jobs gone
	best         score
	chosen, lost []int // nil until something better than the first choice is found
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

// enter lets a server go back and returns what leave needs.
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

// damageBefore is the collateral damage done by now on servers below s that stay, and elsewhere.
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

// bound is at most the score of every choice of n among the servers from s on. Each of them stops the jobs that cannot be
// scaled in now, so the n-th fewest of these is a bound, and, as a job adds up to 1 over all its servers, so are their least
// shares.
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

// ahead counts the servers from s on that stop the job now.
func (o *search) ahead(j, s int) (n int) {
	for _, p := range o.jobs[j].Pieces {
		if p.Server >= s && p.Workers > o.slack[j] {
			n++
		}
	}
	return n
}
