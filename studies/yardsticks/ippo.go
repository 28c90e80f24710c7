package yardsticks

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Settings of IPPO, common in implementations of PPO.
const (
	ippoEpochs  = 4    // passes over the decisions of an update
	ippoBatch   = 256  // decisions in a step of Adam
	ippoLambda  = 0.95 // of GAE, per decision
	ippoClip    = 0.2  // bound on the change of the ratio of probabilities
	ippoEntropy = 0.01 // weight of the entropy bonus
)

// ippo is independent PPO (de Witt et al., Is independent learning all you need in the StarCraft multi-agent challenge?, 2020):
// every agent learns by PPO (Schulman et al., 2017) from its own observations and the team's reward, as if the other agents were
// a part of the environment. All agents share the weights of actor and critic. The critic, too, sees only what the agent sees
// apart from its candidates: the row of Pass.
type ippo struct {
	actor, critic *trained
	rate          float64
	rollout       int // rounds to play before an update, at least
	draw          *rand.Rand
	agents        [][]*decision // by agent: its decisions in the episode in progress
	pending       []*decision   // decisions of finished episodes since the last update
	rounds        int           // since the last update
	scratch       ippoScratch
}

type ippoScratch struct {
	b              batch
	states         []float32
	scores, values []float32
	slopes, errors []float32
}

// decision is one choice of one agent among several candidates, with its consequences until the agent's next such choice.
type decision struct {
	view
	taken     int
	reward    float64 // discounted sum until the next choice, or the end of the episode
	discount  float64 // factor on what follows; 0 if nothing follows
	next      *view   // at the next choice, or at the end of the episode
	log       float64 // logarithm of the probability with which it was taken
	value     float64 // of the state, as the critic estimated it before the update
	advantage float64
}

func newIPPO(width int, cfg *Config, draw *rand.Rand) (*ippo, error) {
	l := &ippo{rate: cfg.Rate, rollout: cfg.Rollout, draw: draw}
	var err error
	if l.actor, err = newTrained(newNet(width, 0.01, draw), ippoBatch); err != nil {
		return nil, err
	}
	l.critic, err = newTrained(newNet(width, 1, draw), ippoBatch)
	return l, err
}

// policy implements learner.
func (l *ippo) policy() *net { return l.actor.net }

// choose implements learner: every agent draws from the softmax of its scores.
func (l *ippo) choose(views []view, taken []int) {
	s := &l.scratch
	s.b.reset()
	for i := range views {
		s.b.add(&views[i])
	}
	s.scores = l.actor.score(s.scores[:0], s.b.rows)
	for i := range views {
		p := s.b.of(s.scores, i)
		softmax(p)
		x := l.draw.Float32()
		for taken[i] = 0; taken[i] < len(p)-1; taken[i]++ {
			if x -= p[taken[i]]; x < 0 {
				break
			}
		}
	}
}

// learn implements learner.
func (l *ippo) learn(s *step, _ float64) error {
	if l.agents == nil {
		l.agents = make([][]*decision, len(s.views))
	}
	l.rounds++
	for i := range s.views {
		before := l.agents[i]
		if len(s.views[i].numbers) > 1 {
			if n := len(before); n > 0 {
				before[n-1].next = &s.views[i]
			}
			l.agents[i] = append(before, &decision{view: s.views[i], taken: s.taken[i], discount: 1})
		}
		if n := len(l.agents[i]); n > 0 {
			d := l.agents[i][n-1]
			d.reward += d.discount * s.reward
			d.discount *= s.discount
			d.next = &s.next[i]
		}
	}
	if !s.over {
		return nil
	}
	for i, episode := range l.agents {
		l.estimate(episode)
		l.pending, l.agents[i] = append(l.pending, episode...), episode[:0:0]
	}
	if l.rounds < l.rollout {
		return nil
	}
	err := l.update(l.pending)
	l.pending, l.rounds = l.pending[:0], 0
	return err
}

// estimate computes the advantages of one agent's decisions in an episode: GAE (Schulman et al., ICLR 2016) with a discount that
// depends on the time between two decisions.
func (l *ippo) estimate(episode []*decision) {
	if len(episode) == 0 {
		return
	}
	s := &l.scratch
	s.b.reset()
	s.states = s.states[:0]
	for _, d := range episode {
		s.b.add(&d.view)
		s.states = append(s.states, d.rows[:l.critic.width]...)
	}
	s.states = append(s.states, episode[len(episode)-1].next.rows[:l.critic.width]...)
	s.scores, s.values = l.actor.score(s.scores[:0], s.b.rows), l.critic.score(s.values[:0], s.states)
	ahead := 0.0
	for k, d := range slices.Backward(episode) {
		p := s.b.of(s.scores, k)
		softmax(p)
		d.log, d.value = math.Log(float64(p[d.taken])), float64(s.values[k])
		ahead = d.reward + d.discount*float64(s.values[k+1]) - d.value + d.discount*ippoLambda*ahead
		d.advantage = ahead
	}
}

// update learns from decisions: choices with a positive advantage become more likely, and the critic is fitted to the returns.
func (l *ippo) update(all []*decision) error {
	order := make([]*decision, len(all))
	for range ippoEpochs {
		for i, k := range l.draw.Perm(len(all)) {
			order[i] = all[k]
		}
		for from := 0; from < len(order); from += ippoBatch {
			if err := l.descend(order[from:min(from+ippoBatch, len(order))]); err != nil {
				return err
			}
		}
	}
	return nil
}

// descend makes a step of Adam for actor and critic.
func (l *ippo) descend(some []*decision) error {
	sum, squares, n := 0.0, 0.0, float64(len(some))
	s := &l.scratch
	s.b.reset()
	s.states, s.slopes, s.errors = s.states[:0], s.slopes[:0], s.errors[:0]
	for _, d := range some {
		sum += d.advantage
		squares += d.advantage * d.advantage
		s.b.add(&d.view)
		s.states = append(s.states, d.rows[:l.critic.width]...)
	}
	mean := sum / n
	spread := math.Sqrt(max(squares/n-mean*mean, 0)) + 1e-8
	s.scores, s.values = l.actor.score(s.scores[:0], s.b.rows), l.critic.score(s.values[:0], s.states)
	for k, d := range some {
		s.slopes = preference(s.slopes, s.b.of(s.scores, k), d.taken, d.log, (d.advantage-mean)/spread, 1/n)
		s.errors = append(s.errors, float32((float64(s.values[k])-d.advantage-d.value)/n))
	}
	if err := l.actor.descend(s.b.rows, s.slopes, l.rate); err != nil {
		return err
	}
	return l.critic.descend(s.states, s.errors, l.rate)
}

// preference appends the derivatives of the loss of one decision with respect to its scores: minus the weighted sum of PPO's
// clipped objective and the entropy bonus. It overwrites scores with the probabilities.
func preference(dst, scores []float32, taken int, log, advantage, weight float64) []float32 {
	softmax(scores)
	entropy := 0.0
	for _, p := range scores {
		entropy -= float64(p) * math.Log(max(float64(p), 1e-12))
	}
	ratio := math.Exp(math.Log(max(float64(scores[taken]), 1e-12)) - log)
	if advantage > 0 && ratio > 1+ippoClip || advantage < 0 && ratio < 1-ippoClip {
		ratio = 0 // the objective is flat here
	}
	for k, p := range scores {
		slope := ratio * advantage * float64(p)
		if k == taken {
			slope -= ratio * advantage
		}
		slope += ippoEntropy * float64(p) * (math.Log(max(float64(p), 1e-12)) + entropy)
		dst = append(dst, float32(slope*weight))
	}
	return dst
}

// close implements learner.
func (l *ippo) close() error {
	err := l.actor.close()
	if e := l.critic.close(); err == nil {
		err = e
	}
	return err
}

// softmax replaces scores by probabilities.
func softmax(scores []float32) {
	most, sum := slices.Max(scores), float32(0)
	for i, x := range scores {
		scores[i] = kernel.Exp(x - most)
		sum += scores[i]
	}
	for i := range scores {
		scores[i] /= sum
	}
}
