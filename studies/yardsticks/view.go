package yardsticks

import (
	"slices"

	"github.com/clustergym/clustergym/env/game"
)

// view is what one agent sees of a round: a row for each number that it may name. Pass comes first. A row joins the features of
// the agent's server, of the candidate, of the candidate's job, of the cluster, and of the agent's part in the game. The row of
// Pass has zeros for candidate and job. The agent sees no other server.
type view struct {
	numbers []game.Action
	rows    []float32 // [len(numbers)][width]
}

// The features of an agent's part in the game. As all agents share weights, agents of equal servers could not tell their parts
// apart without them.
const (
	weight = iota // the agent's weight in the candidate's coalition
	lead          // 1 if it is the candidate's lead server, see game.Lead
	member        // number of candidates that it may name, relative to the largest number of candidates
	leads         // number of candidates of which it is the lead, relative to the same
	parts
)

// width returns the length of a row.
func width(s *game.Spec) int {
	return len(s.Server) + len(s.Candidate) + len(s.Job) + len(s.Global) + parts
}

// see returns what each agent sees of a round.
func see(r *game.Round) []view {
	s := r.Spec()
	views, w := make([]view, s.Agents), width(s)
	for i := range views {
		views[i].add(r, i, game.Pass)
	}
	counts := make([][2]float32, s.Agents) // member and leads
	for k := range r.List {
		if r.List[k].Gone {
			continue
		}
		n := game.Action(k + 1)
		coalition := r.Members(n)
		first := 0
		for j, m := range coalition {
			if m.Weight > coalition[first].Weight {
				first = j
			}
		}
		for j, m := range coalition {
			v := &views[m.Server]
			part := v.add(r, int(m.Server), n)
			part[weight] = m.Weight
			counts[m.Server][0]++
			if j == first {
				part[lead] = 1
				counts[m.Server][1]++
			}
		}
	}
	for i := range views {
		for k := range views[i].numbers {
			part := rowOf(views[i].rows, k, w)[w-parts:]
			part[member], part[leads] = counts[i][0]/float32(s.Candidates), counts[i][1]/float32(s.Candidates)
		}
	}
	return views
}

// add adds the row of a number that agent i may name, and returns its features of the agent's part, which are 0.
func (v *view) add(r *game.Round, i int, n game.Action) []float32 {
	s := r.Spec()
	at := len(v.rows)
	v.numbers = append(v.numbers, n)
	v.rows = append(v.rows, make([]float32, width(s))...)
	row := v.rows[at:]
	row = row[copy(row, r.Server(i)):]
	row = row[copy(row, rowOf(r.Candidates, int(n), len(s.Candidate))):]
	if n != game.Pass && r.Of[n-1] >= 0 {
		copy(row, rowOf(r.Jobs, int(r.Of[n-1]), len(s.Job)))
	}
	row = row[len(s.Job):]
	return row[copy(row, r.Global):]
}

func rowOf(rows []float32, i, width int) []float32 { return rows[i*width : (i+1)*width] }

// name fills the joint action from the index that each agent has chosen in its view.
func name(views []view, taken []int, joint []game.Action) {
	for i, v := range views {
		joint[i] = v.numbers[taken[i]]
	}
}

// batch is the rows of several views, one view after another.
type batch struct {
	rows []float32
	from []int // where each view begins, and where the last ends, in rows of the batch
}

func (b *batch) reset() { b.rows, b.from = b.rows[:0], append(b.from[:0], 0) }

func (b *batch) add(v *view) {
	b.rows = append(b.rows, v.rows...)
	b.from = append(b.from, b.from[len(b.from)-1]+len(v.numbers))
}

// of returns the k-th view's part of scores, which has a number for each row of the batch.
func (b *batch) of(scores []float32, k int) []float32 { return scores[b.from[k]:b.from[k+1]] }

// highest returns the index of the highest score, the first of several.
func highest(scores []float32) int { return slices.Index(scores, slices.Max(scores)) }
