package train

import (
	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
)

// unseen returns what the greedy policy's choices save at labelled decisions, over what the prior chooses: the mean, in the unit
// of the labels, 0 without samples. Of decisions that the policy has not learned from, it shows what it has learned beyond their
// noise. Samples hold the margin of the policy that made them; the given one takes its place.
func unseen(p *agents.Policy, samples []learn.Sample, margin float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	net, sum := agents.NewNet(p.Shape, p.Params), 0.0
	for i := range samples {
		s := &samples[i]
		net.Forward(s.Observation)
		usual := s.Usual()
		best, most := usual, float64(net.Bids[usual])
		for k, bid := range net.Bids[:s.Candidates] {
			if k == usual || s.Gone != nil && s.Gone[k] {
				continue
			}
			if v := float64(bid) - margin; v > most {
				best, most = k, v
			}
		}
		sum += s.Saved[best] - s.Saved[usual]
	}
	return sum / float64(len(samples))
}
