package agents

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// Choice is one draw of the decoder among several legal ones: what training needs to know of it. The slices belong to the
// decoder and are valid during the call that hands it out.
type Choice struct {
	Observation *Observation // shared by the choices of a round
	Legal       []bool       // [servers*tokens+1], the last is stop
	Prior       []float32    // likewise
	Graph       *coordgraph.Graph[float32]
	Committed   []int // items committed before in this round
	Action      int
	LogProb     float64
}

// Decoder turns bids into joint actions. A round starts one job or none: the first draw is among all legal items and, while
// any job runs, stop; a gang that its first server cannot hold alone goes on drawing among the other servers that take workers
// of the same job at the same level, each commit adding its payoffs to the bids of the neighbours in the coordination graph,
// until it is complete. Nothing that it proposes is ever refused.
type Decoder struct {
	spec      env.Spec
	hold      float64 // of the prior
	shadow    cluster.Shadow
	net       *Net // nil: the prior alone
	obs       Observation
	legal     []bool
	prior     []float32
	bids      []float32
	logits    []float32
	committed []int
}

// NewDecoder returns a decoder for environments of that shape, with the bound of the prior (see Policy.Hold); a nil net stands
// for residuals of zero.
func NewDecoder(spec env.Spec, hold float64, net *Net) *Decoder {
	items := spec.Agents * spec.Items()
	return &Decoder{
		spec: spec, hold: hold, net: net, legal: make([]bool, items+1), prior: make([]float32, items+1),
		bids: make([]float32, items+1), logits: make([]float32, items+1),
	}
}

// Round fills joint for the time step: with the likeliest job on its likeliest server, or none, if draw is nil, else by
// sampling. record, if
// not nil, is told of every draw among more than one legal choice.
func (d *Decoder) Round(ts *env.TimeStep, draw *rand.Rand, joint []env.Action, record func(*Choice)) {
	clear(joint)
	tokens := d.spec.Items()
	stop := len(d.legal) - 1
	if !d.open(ts) {
		return
	}
	d.committed = d.committed[:0]
	lacking := func(t int) int32 { return ts.State.Spec(ts.Window[t/len(d.spec.Menu)]).Workers }
	for bound := holdBound(&d.spec, ts, d.legal, d.hold, &d.shadow); ; bound = -1 { // a gang that began is not held back
		prior(d.prior, &d.spec, ts, d.legal, bound, lacking)
		for a, ok := range d.legal {
			d.logits[a] = d.prior[a]
			if ok {
				d.logits[a] += d.bids[a]
			}
		}
		a := d.choose(draw, record)
		if a == stop {
			return
		}
		i, t := a/tokens, a%tokens
		joint[i] = env.Action(1 + t)
		left := lacking(t) - d.takes(ts, i, t)
		if left <= 0 {
			return
		}
		lacking = func(int) int32 { return left }
		d.commit(ts, a)
	}
}

// open reads the time step; false means that there is nothing to decide.
func (d *Decoder) open(ts *env.TimeStep) bool {
	tokens, actions := d.spec.Items(), d.spec.Actions()
	some := false
	for i := range d.spec.Agents {
		for t, ok := range ts.Mask[i*actions+1 : (i+1)*actions] {
			d.legal[i*tokens+t] = ok
			some = some || ok
		}
	}
	// Where nothing runs, nobody may come to change what was decided, and idling would end the episode.
	d.legal[len(d.legal)-1] = len(ts.State.Running()) > 0
	if !some {
		return false
	}
	clear(d.bids)
	if d.net != nil {
		d.obs.Fill(&d.spec, ts)
		d.net.Forward(&d.obs)
		copy(d.bids, d.net.Bids)
		d.bids[len(d.bids)-1] = d.net.Stop
	}
	return true
}

// takes is how many workers of the token's job the server would take.
func (d *Decoder) takes(ts *env.TimeStep, i, t int) int32 {
	id := ts.Window[t/len(d.spec.Menu)]
	request := ts.State.Spec(id).Request
	return ts.State.Fits(serverID(i), id, d.spec.Menu[t%len(d.spec.Menu)].Of(request))
}

// commit leaves legal only the same token on servers of the same type that have not been drawn, and adds the payoffs of the
// item drawn.
func (d *Decoder) commit(ts *env.TimeStep, a int) {
	tokens := d.spec.Items()
	id := ts.Window[a%tokens/len(d.spec.Menu)]
	d.committed = append(d.committed, a)
	d.legal[len(d.legal)-1] = false
	for b := range d.legal {
		d.legal[b] = d.legal[b] && b%tokens == a%tokens && ts.State.SameType(id, serverID(a/tokens), serverID(b/tokens))
	}
	d.legal[a] = false
	if d.net != nil {
		coordgraph.AddPayoff(d.bids[:len(d.bids)-1], &d.net.Graph, &d.net.Payoffs, a/tokens, a%tokens)
	}
}

func (d *Decoder) choose(draw *rand.Rand, record func(*Choice)) int {
	count, top := 0, float32(math.Inf(-1))
	for a, ok := range d.legal {
		if ok {
			count++
			top = max(top, d.logits[a])
		}
	}
	chosen := -1
	if count == 1 || draw == nil {
		if chosen = d.likeliest(top); count == 1 || record == nil {
			return chosen
		}
	}
	norm := 0.0
	for a, ok := range d.legal {
		if ok {
			norm += math.Exp(float64(d.logits[a] - top))
		}
	}
	if draw != nil {
		chosen = d.sample(draw.Float64()*norm, top)
	}
	if record != nil {
		c := Choice{
			Observation: &d.obs, Legal: d.legal, Prior: d.prior, Committed: d.committed, Action: chosen,
			LogProb: float64(d.logits[chosen]-top) - math.Log(norm),
		}
		if d.net != nil {
			c.Graph = &d.net.Graph
		}
		record(&c)
	}
	return chosen
}

// likeliest returns the most likely server of the most likely token, or stop if that is likelier than any token: a job that
// would do well on many servers must not lose to stopping because they share its weight. The lower index wins a tie.
func (d *Decoder) likeliest(top float32) int {
	tokens, stop := d.spec.Items(), len(d.legal)-1
	best, weight := -1, 0.0
	if d.legal[stop] {
		best, weight = stop, math.Exp(float64(d.logits[stop]-top))
	}
	for t := range tokens {
		at, sum := -1, 0.0
		for a := t; a < stop; a += tokens {
			if d.legal[a] {
				sum += math.Exp(float64(d.logits[a] - top))
				if at < 0 || d.logits[a] > d.logits[at] {
					at = a
				}
			}
		}
		if at >= 0 && sum > weight {
			best, weight = at, sum
		}
	}
	return best
}

// sample returns the choice at which the cumulative weight passes x.
func (d *Decoder) sample(x float64, top float32) int {
	last := -1
	for a, ok := range d.legal {
		if !ok {
			continue
		}
		last = a
		if x -= math.Exp(float64(d.logits[a] - top)); x < 0 {
			return a
		}
	}
	return last
}

// Clone returns a copy of the choice that owns its slices, but shares the observation and drops the graph.
func (c *Choice) Clone() Choice {
	k := *c
	k.Legal, k.Prior, k.Committed = slices.Clone(c.Legal), slices.Clone(c.Prior), slices.Clone(c.Committed)
	k.Graph = nil
	return k
}
