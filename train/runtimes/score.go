package runtimes

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/trace"
)

// Score is how well run times of jobs are predicted when the jobs are submitted.
type Score struct {
	Jobs       int     `json:"jobs"`
	Likelihood float64 `json:"log_likelihood"` // mean logarithm of the probability of the bin in which a job ended, nats
	Inside     float64 `json:"inside_80"`      // fraction of run times between the quantiles 0.1 and 0.9
}

// Scores are those of the kinds of predictions, all of which have seen the training split.
type Scores struct {
	Age     Score `json:"age"`
	History Score `json:"history"`
	Learned Score `json:"learned"`
}

// Judge returns how well the network predicts the jobs of a split, compared with learners that have none. All have seen the
// past, and each part of the split that they play.
func Judge(net *belief.Network, past, jobs []trace.Job) Scores {
	var all Scores
	before, p := newPlayer(past), newPlayer(jobs)
	for _, c := range []struct {
		score *Score
		fresh func() *belief.Learner
	}{
		{&all.Age, func() *belief.Learner { return belief.New(belief.Age, belief.Mean) }},
		{&all.History, func() *belief.Learner { return belief.New(belief.History, belief.Mean) }},
		{&all.Learned, func() *belief.Learner { return belief.NewLearned(net, belief.Mean) }},
	} {
		begin := c.fresh()
		before.teach(begin, forever)
		text := begin.Save()
		for lo := 0; lo < len(p.jobs); lo += partJobs {
			l := c.fresh()
			if err := l.Restore(text); err != nil {
				panic("runtimes: " + err.Error()) // a learner restores what one like it has saved
			}
			p.part(l, lo, min(lo+partJobs, len(p.jobs)), nil, func(j *trace.Job, _, _ time.Duration) {
				c.score.judge(l.Of(&j.JobSpec), p, j)
			})
		}
		if n := float64(c.score.Jobs); n > 0 {
			c.score.Likelihood /= n
			c.score.Inside /= n
		}
	}
	return all
}

// judge adds a job. Those that run longer than the split count by their full run times.
func (s *Score) judge(d *belief.Distribution, p *player, j *trace.Job) {
	s.Jobs++
	s.Likelihood += math.Log(d.Probability(p.bin(j.Work)))
	if j.Work >= d.Quantile(0, 0.1) && j.Work <= d.Quantile(0, 0.9) {
		s.Inside++
	}
}
