package yardsticks

import (
	"math/rand/v2"
	"slices"
)

// Settings of VDN, common in implementations of Q-learning.
const (
	vdnReplay = 4096 // steps that are remembered
	vdnBatch  = 32   // steps in a step of Adam
	vdnAhead  = 5    // rounds whose rewards a step counts before the target network's value of what follows
	vdnEvery  = 2    // rounds between two steps of Adam
	vdnTarget = 100  // steps of Adam between two copies of the weights to the target network
	vdnRandom = 0.1  // share of random choices from the middle of training on; before, it falls linearly from 1
)

// vdn is a value-decomposition network (Sunehag et al., Value-decomposition networks for cooperative multi-agent learning, AAMAS
// 2018): the value of a joint action is the sum of the agents' values of their own actions in their own observations. The sum is
// fitted to the team's reward by double Q-learning (van Hasselt et al., AAAI 2016) with replay and a target network. All agents
// share the weights. Each agent may take its highest value, because that maximises the sum.
type vdn struct {
	q      *trained
	target *net
	rate   float64
	draw   *rand.Rand
	recent []*step // the last steps of the episode in progress, which still gather rewards
	replay []*step // steps of vdnAhead rounds, fewer at the end of an episode
	oldest int     // index in replay of the step to forget next, once it is full
	rounds int
	steps  int     // of Adam
	random float64 // the share of random choices

	b, next                 batch
	scores, later, estimate []float32
	slopes                  []float32
}

func newVDN(width, agents int, rate float64, draw *rand.Rand) (*vdn, error) {
	q, err := newTrained(newNet(width, 1, draw), min(vdnBatch*agents, 512))
	if err != nil {
		return nil, err
	}
	return &vdn{q: q, target: q.clone(), rate: rate, draw: draw, random: 1}, nil
}

// policy implements learner.
func (l *vdn) policy() *net { return l.q.net }

// choose implements learner: every agent takes its highest value, or at random any action.
func (l *vdn) choose(views []view, taken []int) {
	l.b.reset()
	for i := range views {
		l.b.add(&views[i])
	}
	l.scores = l.q.score(l.scores[:0], l.b.rows)
	for i := range views {
		taken[i] = highest(l.b.of(l.scores, i))
		if n := len(views[i].numbers); n > 1 && l.draw.Float64() < l.random {
			taken[i] = l.draw.IntN(n)
		}
	}
}

// learn implements learner.
func (l *vdn) learn(s *step, done float64) error {
	l.random = max(vdnRandom, 1-2*done)
	l.recent = append(l.recent, &step{views: s.views, taken: s.taken, discount: 1})
	for _, r := range l.recent {
		r.reward += r.discount * s.reward
		r.discount *= s.discount
		r.next = s.next
	}
	for len(l.recent) == vdnAhead || s.over && len(l.recent) > 0 {
		l.remember(l.recent[0])
		l.recent = l.recent[1:]
	}
	if l.rounds++; l.rounds%vdnEvery > 0 || len(l.replay) < vdnBatch {
		return nil
	}
	some := make([]*step, vdnBatch)
	for i := range some {
		some[i] = l.replay[l.draw.IntN(len(l.replay))]
	}
	rows, slopes := l.loss(some)
	if err := l.q.descend(rows, slopes, l.rate); err != nil {
		return err
	}
	if l.steps++; l.steps%vdnTarget == 0 {
		l.target = l.q.clone()
	}
	return nil
}

// remember adds a step to the replay.
func (l *vdn) remember(s *step) {
	if len(l.replay) < vdnReplay {
		l.replay = append(l.replay, s)
		return
	}
	l.replay[l.oldest], l.oldest = s, (l.oldest+1)%vdnReplay
}

// loss returns the rows of the actions taken in some steps, and the derivatives of the mean Huber loss with respect to their
// values. Each is valid until the next call.
func (l *vdn) loss(some []*step) (rows, slopes []float32) {
	l.b.reset()
	l.next.reset()
	for _, s := range some {
		for i := range s.views {
			v, k := &s.views[i], s.taken[i]
			l.b.add(&view{v.numbers[k : k+1], rowOf(v.rows, k, l.q.width)})
			l.next.add(&s.next[i])
		}
	}
	l.scores = l.q.score(l.scores[:0], l.b.rows)
	l.later, l.estimate = l.q.score(l.later[:0], l.next.rows), l.target.score(l.estimate[:0], l.next.rows)
	l.slopes = slices.Grow(l.slopes[:0], len(l.scores))
	at := 0 // index of the agent's view in the batches
	for _, s := range some {
		joint, follows := float32(0), float32(0)
		for i := range s.views {
			joint += l.scores[at+i]
			// Double Q-learning: the net chooses the action, the target network says what it is worth.
			follows += l.next.of(l.estimate, at+i)[highest(l.next.of(l.later, at+i))]
		}
		off := joint - (float32(s.reward) + float32(s.discount)*follows)
		for range s.views {
			l.slopes = append(l.slopes, min(max(off, -1), 1)/float32(len(some)))
		}
		at += len(s.views)
	}
	return l.b.rows, l.slopes
}

// close implements learner.
func (l *vdn) close() error { return l.q.close() }
