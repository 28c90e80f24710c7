package envserve

import (
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
)

// batch is the arrays in memory. See doc.go for the letters; F is the number of features.
type batch struct {
	layout

	// What the parent writes.
	actions, joint []int32  // [N], [N][A]
	seeds          []uint64 // [N]
	reset          []uint8  // [N]

	// What a time step shows, [2][N] rows of it.
	servers    []float32 // [A][F]
	jobs       []float32 // [J][F]
	candidates []float32 // [C][F]
	global     []float32 // [F]
	mask       []bool    // [A][C]: the numbers that each agent may name
	legal      []bool    // [C]: the candidates that can be carried out now, and 0
	shown      []bool    // [J]: the rows of jobs in use
	coalition  []float32 // [C][A]: the weight of each server in each candidate
	of         []int32   // [C]: the row of the candidate's job, -1 for none
	prior      []int32   // the number that the prior would choose
	rewards    []float64 // [A]
	reward     []float64
	elapsed    []float64 // in seconds
	now        []float64 // in seconds
	terminated []bool
	truncated  []bool
	taken      []bool  // [C]: carried out in the last round
	refused    []uint8 // [C]: 1 for lack of agreement, 2 if it did not fit after another, 0 if it was not refused
	illegal    []int32 // numbers that counted as 0
	ended      []bool  // whether the step ended an episode and began another; the final arrays are of that episode

	// The last time step of the episode that the last step ended, [N] rows.
	finalServers, finalJobs, finalGlobal []float32
	finalShown                           []bool
	finalNow                             []float64
}

// arrange lists the arrays for n environments.
func (b *batch) arrange(n int, s *game.Spec) error {
	l := &b.layout
	agents, numbers, jobs := s.Agents, s.Candidates, s.Jobs
	add(l, &b.actions, "actions", n)
	add(l, &b.joint, "joint", n, agents)
	add(l, &b.seeds, "seeds", n)
	add(l, &b.reset, "reset", n)
	add(l, &b.servers, "servers", slots, n, agents, len(s.Server))
	add(l, &b.jobs, "jobs", slots, n, jobs, len(s.Job))
	add(l, &b.candidates, "candidates", slots, n, numbers, len(s.Candidate))
	add(l, &b.global, "cluster", slots, n, len(s.Global))
	add(l, &b.mask, "mask", slots, n, agents, numbers)
	add(l, &b.legal, "legal", slots, n, numbers)
	add(l, &b.shown, "shown", slots, n, jobs)
	add(l, &b.coalition, "coalition", slots, n, numbers, agents)
	add(l, &b.of, "of", slots, n, numbers)
	add(l, &b.prior, "prior", slots, n)
	add(l, &b.rewards, "rewards", slots, n, agents)
	add(l, &b.reward, "reward", slots, n)
	add(l, &b.elapsed, "elapsed", slots, n)
	add(l, &b.now, "now", slots, n)
	add(l, &b.terminated, "terminated", slots, n)
	add(l, &b.truncated, "truncated", slots, n)
	add(l, &b.taken, "taken", slots, n, numbers)
	add(l, &b.refused, "refused", slots, n, numbers)
	add(l, &b.illegal, "illegal", slots, n)
	add(l, &b.ended, "ended", slots, n)
	add(l, &b.finalServers, "final_servers", n, agents, len(s.Server))
	add(l, &b.finalJobs, "final_jobs", n, jobs, len(s.Job))
	add(l, &b.finalGlobal, "final_cluster", n, len(s.Global))
	add(l, &b.finalShown, "final_shown", n, jobs)
	add(l, &b.finalNow, "final_now", n)
	return l.err
}

// use makes ts write its rows into row k of the arrays.
func (b *batch) use(k int, s *game.Spec, ts *env.TimeStep) {
	ts.Servers = row(b.servers, k, s.Agents*len(s.Server))
	ts.Jobs = row(b.jobs, k, s.Jobs*len(s.Job))
	ts.Candidates = row(b.candidates, k, s.Candidates*len(s.Candidate))
	ts.Global = row(b.global, k, len(s.Global))
	ts.Mask = row(b.mask, k, s.Agents*s.Candidates)
	ts.Rewards = row(b.rewards, k, s.Agents)
}

// show writes row k of the arrays from ts. An environment that did not fill the slices of use has its rows copied.
func (b *batch) show(k int, ts *env.TimeStep) {
	s := ts.Spec()
	rows := *ts
	b.use(k, s, ts)
	keep(ts.Servers, rows.Servers)
	keep(ts.Jobs, rows.Jobs)
	keep(ts.Candidates, rows.Candidates)
	keep(ts.Global, rows.Global)
	keep(ts.Mask, rows.Mask)
	keep(ts.Rewards, rows.Rewards)

	legal, of := row(b.legal, k, s.Candidates), row(b.of, k, s.Candidates)
	clear(legal)
	legal[game.Pass] = true
	for n := range of {
		of[n] = -1
	}
	for i := range ts.List {
		legal[i+1], of[i+1] = !ts.List[i].Gone, ts.Of[i]
	}
	fill(row(b.shown, k, s.Jobs), len(ts.Ids))
	coalition := row(b.coalition, k, s.Candidates*s.Agents)
	clear(coalition)
	for _, m := range ts.Coalition {
		coalition[int(m.Candidate)*s.Agents+int(m.Server)] = m.Weight
	}
	taken, refused := row(b.taken, k, s.Candidates), row(b.refused, k, s.Candidates)
	clear(taken)
	clear(refused)
	for _, n := range ts.Taken {
		taken[n] = true
	}
	for _, r := range ts.Refused {
		refused[r.Candidate] = 1 + uint8(r.Reason)
	}
	b.prior[k], b.reward[k] = int32(ts.Prior), ts.Reward
	b.elapsed[k], b.now[k] = ts.Elapsed.Seconds(), ts.Now.Seconds()
	b.terminated[k], b.truncated[k], b.ended[k] = ts.Terminated, ts.Truncated != "", false
}

// showFinal writes the last time step of the episode that environment i ended and replaced. k is the row of its new time step.
func (b *batch) showFinal(i, k int, last *env.TimeStep) {
	s := last.Spec()
	b.ended[k] = true
	copy(row(b.finalServers, i, s.Agents*len(s.Server)), last.Servers)
	copy(row(b.finalJobs, i, s.Jobs*len(s.Job)), last.Jobs)
	copy(row(b.finalGlobal, i, len(s.Global)), last.Global)
	fill(row(b.finalShown, i, s.Jobs), len(last.Ids))
	b.finalNow[i] = last.Now.Seconds()
}

// keep copies rows that were written elsewhere.
func keep[T element](dst, src []T) {
	if len(src) > 0 && &dst[0] != &src[0] {
		copy(dst, src)
	}
}

// fill sets the first n elements.
func fill(dst []bool, n int) {
	for i := range dst {
		dst[i] = i < n
	}
}
