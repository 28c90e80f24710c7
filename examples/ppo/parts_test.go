package main

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
)

// clock records the time that passes in each step, and cuts the episode off after limit steps.
type clock struct {
	env.Env
	limit   int
	elapsed []time.Duration
}

func (c *clock) Step(joint []game.Action, next *env.TimeStep) error {
	err := c.Env.Step(joint, next)
	if c.elapsed = append(c.elapsed, next.Elapsed); len(c.elapsed) == c.limit && !next.Over() {
		next.Truncated = "limit"
	}
	return err
}

// TestEpisodesAreDiscountedByTime checks that later rewards are discounted by the time that passes. Nothing follows the end of
// an episode, but a truncated episode would have gone on.
func TestEpisodesAreDiscountedByTime(t *testing.T) {
	task := mustFind(t, "short-first", game.Lead)
	l, _ := train(t, task, "central", 1, 0)
	first := func([]float64) int { return 0 } // Pass, so that time passes
	for _, limit := range []int{3, 1000} {
		c := &clock{Env: l.returns, limit: limit}
		episode, err := l.play(c, 1, first)
		if err != nil {
			t.Fatal(err)
		}
		decisions := episode[0]
		for i, d := range decisions {
			want, next := math.Exp(-c.elapsed[i].Hours()), 0.0
			if last := i == len(decisions)-1; last && limit > 3 {
				want = 0
			} else if !last {
				next = decisions[i+1].value
			}
			if math.Abs(d.discount-want) > 1e-12 || next != 0 && d.next != next || want != 0 && d.next == 0 {
				t.Errorf("limit %d: decision %d of %d after which %v pass: discount %v, next value %v, want %v and %v (0: any)", limit, i,
					len(decisions), c.elapsed[i], d.discount, d.next, want, next)
			}
		}
	}
}

// loss is the loss that prefer descends.
func loss(p *policy, d *decision, advantage, entropy float64) float64 {
	probabilities := p.probabilities(&d.choice)
	ratio := math.Exp(math.Log(probabilities[d.taken]) - d.log)
	sum := -min(ratio*advantage, min(max(ratio, 1-clip), 1+clip)*advantage)
	for _, q := range probabilities {
		sum += entropy * q * math.Log(q)
	}
	return sum
}

// TestGradient checks the gradient against differences, where the objective is clipped and where it is not.
func TestGradient(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for trial := range 40 {
		p := policy{actor: newNet(5, 1, draw)}
		d := decision{taken: trial % 3}
		for range 3 {
			row := make([]float64, 5)
			for i := range row[:4] { // the last stays 0
				row[i] = draw.NormFloat64()
			}
			d.rows = append(d.rows, row)
		}
		advantage := draw.NormFloat64()
		d.log = math.Log(p.probabilities(&d.choice)[d.taken]) + 0.4*draw.NormFloat64()
		p.prefer(&d, advantage, 0.3, 1)
		for i, got := range p.actor.grad {
			const step = 1e-6
			at := p.actor.params[i]
			p.actor.params[i] = at + step
			up := loss(&p, &d, advantage, 0.3)
			p.actor.params[i] = at - step
			down := loss(&p, &d, advantage, 0.3)
			p.actor.params[i] = at
			if want := (up - down) / (2 * step); math.Abs(got-want) > 1e-6 {
				t.Fatalf("trial %d: the gradient of parameter %d is %v, want %v", trial, i, got, want)
			}
		}
	}
}

// TestEstimate checks two decisions an hour apart, of which the second ends the episode, against values computed by hand.
func TestEstimate(t *testing.T) {
	e := math.Exp(-1)
	episode := []decision{{reward: -1, discount: e, value: 2, next: 3}, {reward: -4, value: 3}}
	estimate(episode)
	second := -4.0 - 3
	first := -1 + e*3 - 2 + e*lambda*second
	if math.Abs(episode[0].advantage-first) > 1e-12 || math.Abs(episode[1].advantage-second) > 1e-12 {
		t.Errorf("advantages %v and %v, want %v and %v", episode[0].advantage, episode[1].advantage, first, second)
	}
}
