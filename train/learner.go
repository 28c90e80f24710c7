package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/train/adam"
)

// chunk is the number of rows that one machine processes at a time. The learner sums gradients chunk by chunk, in order, so the
// result does not depend on the number of machines.
const chunk = 64

// far is the multiple of MaxKL at which an update ends within an epoch: a single batch may overshoot to weights from which no
// gradient leads back.
const far = 4

// learner contains the weights and Adam's moments, and updates them.
type learner struct {
	cfg      *Config
	shape    agents.Shape
	params   agents.Params
	adam     adam.State
	experts  []*learn.Machine[float32] // these learn from labels
	ppo      []*learn.Machine[float32]
	machines []*learn.Machine[float32] // experts or ppo, whichever is in use
	grads    [][]float32               // one for each chunk of a batch
	stats    []learn.Stats
}

func newLearner(cfg *Config, p *agents.Policy, servers, workers int) (*learner, error) {
	n := p.Params.Count()
	l := &learner{cfg: cfg, shape: p.Shape, params: p.Params, adam: adam.New(n)}
	chunks := (cfg.Batch + chunk - 1) / chunk
	for range chunks {
		l.grads = append(l.grads, make([]float32, n))
	}
	l.stats = make([]learn.Stats, chunks)
	candidates := p.Candidates()
	build := func(loss learn.Loss) (list []*learn.Machine[float32], err error) {
		for range min(workers, chunks) {
			m, err := learn.NewMachine[float32](p.Shape, min(chunk, cfg.Batch), servers, max(cfg.Window, candidates), candidates, loss)
			if err != nil {
				return list, err
			}
			list = append(list, m)
		}
		return list, nil
	}
	var err error
	if cfg.Expert > 0 {
		loss := learn.Loss{Kind: learn.Expert, Temperature: cfg.temperature()}
		if cfg.Learner == valueLearner {
			loss = learn.Loss{Kind: learn.Value, Huber: huber, Temperature: cfg.temperature()}
		}
		l.experts, err = build(loss)
	}
	if err == nil && cfg.Expert < cfg.Updates {
		l.ppo, err = build(learn.Loss{Kind: learn.PPO, Clip: cfg.Clip, Temperature: cfg.temperature()})
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// forget begins Adam's moments anew.
func (l *learner) forget() { l.adam = adam.New(l.params.Count()) }

// huber is the size of an error, in units of the mean saving, at which the value learner's loss turns from quadratic to linear.
const huber = 1

func (l *learner) close() {
	for _, m := range append(l.experts, l.ppo...) {
		_ = m.Close() // a machine contains nothing to lose
	}
}

// improve learns from the samples, which have labels or advantages. progress, in [0,1), sets the learning rate and the entropy
// bonus.
func (l *learner) improve(samples []learn.Sample, labels bool, progress float64, draw *rand.Rand, out *Metrics) error {
	if l.machines = l.ppo; labels {
		l.machines = l.experts
		out.Scale = scaleSavings(samples)
	} else {
		scaleGains(samples)
	}
	rate := l.cfg.Rate * (1 - 0.9*progress)
	if !labels {
		rate *= min(1, l.cfg.temperature()) // because a step changes the logits over Temperature
	}
	spread := l.cfg.Entropy * (1 - progress)
	order := make([]int, len(samples))
	for i := range order {
		order[i] = i
	}
	batches := 0
	for range l.cfg.Epochs {
		if labels {
			l.connect(samples)
		}
		draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		st, norms, err := l.epoch(samples, order, rate, spread)
		if err != nil {
			return err
		}
		for _, x := range norms {
			out.Norm += x
		}
		batches += len(norms)
		n := float64(st.Rows)
		out.Entropy, out.KL, out.Clipped = st.Entropy/n, st.KL/n, float64(st.Clipped)/n
		if labels {
			out.Agree, out.Value = float64(st.Agree)/n, st.Value/n*out.Scale
		}
		if out.KL > l.cfg.MaxKL || st.Rows < len(order) {
			break
		}
	}
	out.Norm /= float64(batches)
	return nil
}

// connect sets the samples' coordination graphs to those of the current policy. It is needed for labels, which were made by other
// policies.
func (l *learner) connect(samples []learn.Sample) {
	if l.shape.Graph == agents.GraphNone {
		return
	}
	var wait sync.WaitGroup
	for w := range l.machines {
		wait.Go(func() {
			net := agents.NewNet(l.shape, l.params)
			for i := w; i < len(samples); i += len(l.machines) {
				s := &samples[i]
				net.Forward(s.Observation)
				nodes := l.shape.Nodes(s.Observation)
				s.Adjacent = make([]float32, nodes*nodes)
				net.Adjacency(s.Adjacent)
			}
		})
	}
	wait.Wait()
}

// epoch takes one step for each batch of the samples, in order, and returns the sum of the statistics and the gradients' norms.
// It ends early if a batch finds the policy far beyond MaxKL.
func (l *learner) epoch(samples []learn.Sample, order []int, rate, spread float64) (sum learn.Stats, norms []float64, err error) {
	batch := make([]learn.Sample, 0, l.cfg.Batch)
	for from := 0; from < len(order); from += l.cfg.Batch {
		batch = batch[:0]
		for _, i := range order[from:min(from+l.cfg.Batch, len(order))] {
			batch = append(batch, samples[i])
		}
		st, err := l.gradient(batch, spread)
		if err != nil {
			return sum, norms, err
		}
		norm, err := l.step(rate)
		if err != nil {
			return sum, norms, err
		}
		add(&sum, st)
		norms = append(norms, norm)
		if st.KL > far*l.cfg.MaxKL*float64(st.Rows) {
			break
		}
	}
	return sum, norms, nil
}

// gradient computes the mean gradient of the batch into grads[0].
func (l *learner) gradient(batch []learn.Sample, spread float64) (learn.Stats, error) {
	chunks := (len(batch) + chunk - 1) / chunk
	errs := make([]error, len(l.machines))
	var wait sync.WaitGroup
	for w, m := range l.machines {
		wait.Go(func() {
			for c := w; c < chunks && errs[w] == nil; c += len(l.machines) {
				part := batch[c*chunk : min((c+1)*chunk, len(batch))]
				l.stats[c], errs[w] = m.Run(l.params, part, 1/float64(len(batch)), spread, l.grads[c])
			}
		})
	}
	wait.Wait()
	var sum learn.Stats
	for _, err := range errs {
		if err != nil {
			return sum, err
		}
	}
	for c := range chunks {
		add(&sum, l.stats[c])
		if c > 0 {
			for i, g := range l.grads[c] {
				l.grads[0][i] += g
			}
		}
	}
	return sum, nil
}

func add(sum *learn.Stats, s learn.Stats) {
	sum.Rows += s.Rows
	sum.Loss += s.Loss
	sum.Entropy += s.Entropy
	sum.KL += s.KL
	sum.Clipped += s.Clipped
	sum.Agree += s.Agree
	sum.Kept += s.Kept
	sum.Value += s.Value
}

// step takes a step for the gradient in grads[0]. It returns the gradient's norm before clipping.
func (l *learner) step(rate float64) (float64, error) {
	return descend(l.params, &l.adam, l.grads[0], l.cfg.MaxNorm, rate)
}

// descend clips the norm of the gradient g at most and takes a step of Adam. It returns the norm before clipping.
func descend(params agents.Params, state *adam.State, g []float32, most, rate float64) (float64, error) {
	if err := finite("gradient of", params, g); err != nil {
		return 0, err
	}
	square := 0.0
	for _, x := range g {
		square += float64(x) * float64(x)
	}
	norm := math.Sqrt(square)
	scale := min(1, most/(norm+1e-12))
	state.Next()
	at := 0
	for i := range params {
		data := params[i].Data
		state.Step(data, g[at:at+len(data)], at, scale, rate, 0)
		at += len(data)
	}
	return norm, params.Finite()
}

// finite returns an error that names the tensor with the first number that is not finite.
func finite(what string, params agents.Params, x []float32) error {
	at := 0
	for i := range params {
		for j := range params[i].Data {
			if v := float64(x[at]); math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%s %s: number %d is %v, want a finite number", what, params[i].Name, j, v)
			}
			at++
		}
	}
	return nil
}

// scaleGains divides advantages by their mean size, see scale. A few decisions may cost a hundred times as much as the others: a
// standard deviation would leave nothing of the others.
func scaleGains(samples []learn.Sample) {
	var all []*float64
	for i := range samples {
		all = append(all, &samples[i].Gain)
	}
	scale(all)
}

// scaleSavings divides labels by their mean size, see scale, so that single episodes do not dominate. It returns that mean.
func scaleSavings(samples []learn.Sample) float64 {
	var all []*float64
	for i := range samples {
		for k := range samples[i].Saved {
			all = append(all, &samples[i].Saved[k])
		}
	}
	return scale(all)
}

// scale divides numbers by their mean absolute value, zeros excluded, and clips them at 5. It returns that mean, or 0 if all are
// 0. Numbers count as 0 below what the sums over two equal futures may differ by.
func scale(all []*float64) float64 {
	const rounding = 1e-9
	sum, n := 0.0, 0.0
	for _, x := range all {
		if math.Abs(*x) < rounding {
			*x = 0
			continue
		}
		sum += math.Abs(*x)
		n++
	}
	if n == 0 {
		return 0
	}
	mean := sum / n
	for _, x := range all {
		*x = min(max(*x/mean, -5), 5)
	}
	return mean
}
