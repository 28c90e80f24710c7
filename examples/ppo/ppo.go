package main

import (
	"math"
	"math/rand/v2"
	"time"
)

// options are the settings in which tasks differ.
type options struct {
	episodes int           // number of episodes before each update
	batch    int           // number of decisions in a step of Adam
	rate     float64       // learning rate of Adam
	entropy  float64       // weight of the entropy in the loss
	memory   time.Duration // time in which a reward is discounted to 1/e
}

// These settings are the same for all tasks, and common in implementations of PPO (Schulman et al., 2017).
const (
	epochs = 4    // number of passes over the decisions of an update
	lambda = 0.95 // of GAE, per decision
	clip   = 0.2  // bound on the change of the ratio of probabilities
	norm   = 0.5  // largest norm of the gradient
)

// decision is one choice of one decider, with its consequences.
type decision struct {
	choice
	taken     int     // index in numbers
	log       float64 // logarithm of the probability with which it was taken
	value     float64 // of the state, as the critic then estimated it
	reward    float64 // sum until the decider's next decision
	discount  float64 // factor on what follows; 0 if nothing can follow
	next      float64 // value of the next state
	advantage float64
}

// estimate computes the advantages of one decider's decisions in an episode: GAE (Schulman et al., ICLR 2016) with a discount
// that depends on the time between two decisions.
func estimate(episode []decision) {
	ahead := 0.0
	for i := len(episode) - 1; i >= 0; i-- {
		d := &episode[i]
		ahead = d.reward + d.discount*d.next - d.value + d.discount*lambda*ahead
		d.advantage = ahead
	}
}

// policy is an actor, which scores each candidate that a decider may name, and a critic. All deciders share both.
type policy struct {
	actor, critic *net
	units         [hidden]float64 // scratch
}

// probabilities returns the probability of each candidate that may be named: a softmax over the actor's scores.
func (p *policy) probabilities(c *choice) []float64 {
	all := make([]float64, len(c.rows))
	most := math.Inf(-1)
	for i, row := range c.rows {
		all[i] = p.actor.forward(row, &p.units)
		most = max(most, all[i])
	}
	sum := 0.0
	for i, x := range all {
		all[i] = math.Exp(x - most)
		sum += all[i]
	}
	for i := range all {
		all[i] /= sum
	}
	return all
}

func (p *policy) value(state []float64) float64 { return p.critic.forward(state, &p.units) }

// learn makes choices with positive advantage more likely, and fits the critic to the returns.
func (p *policy) learn(all []decision, o *options, draw *rand.Rand) {
	order := draw.Perm(len(all))
	for range epochs {
		draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for from := 0; from < len(order); from += o.batch {
			p.descend(all, order[from:min(from+o.batch, len(order))], o)
		}
	}
}

// descend makes one step of Adam.
func (p *policy) descend(all []decision, batch []int, o *options) {
	free, sum, squares := 0.0, 0.0, 0.0 // of the decisions with more than one possible choice
	for _, i := range batch {
		if d := &all[i]; len(d.numbers) > 1 {
			free++
			sum += d.advantage
			squares += d.advantage * d.advantage
		}
	}
	middle := sum / max(free, 1)
	spread := math.Sqrt(max(squares/max(free, 1)-middle*middle, 0)) + 1e-8
	for _, i := range batch {
		d := &all[i]
		off := p.value(d.state) - (d.advantage + d.value)
		p.critic.backward(d.state, &p.units, off/float64(len(batch)))
		if len(d.numbers) > 1 {
			p.prefer(d, (d.advantage-middle)/spread, o.entropy, 1/free)
		}
	}
	p.actor.step(o.rate, norm)
	p.critic.step(o.rate, norm)
}

// prefer adds the gradient of the clipped objective and of the entropy with respect to the scores.
func (p *policy) prefer(d *decision, advantage, entropy, weight float64) {
	probabilities := p.probabilities(&d.choice)
	ratio := math.Exp(math.Log(probabilities[d.taken]) - d.log)
	if advantage > 0 && ratio > 1+clip || advantage < 0 && ratio < 1-clip {
		ratio = 0 // the objective is flat here
	}
	mixed := 0.0
	for _, q := range probabilities {
		mixed -= q * math.Log(max(q, 1e-12))
	}
	for i, q := range probabilities {
		slope := ratio * advantage * q
		if i == d.taken {
			slope -= ratio * advantage
		}
		slope += entropy * q * (math.Log(max(q, 1e-12)) + mixed)
		p.actor.forward(d.rows[i], &p.units)
		p.actor.backward(d.rows[i], &p.units, slope*weight)
	}
}
