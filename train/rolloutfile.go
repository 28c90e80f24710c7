package train

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/candidates"
)

const (
	maxSent    = 6 << 20     // bytes of a rollout in an answer, compressed
	maxRollout = 256 << 20   // bytes of the rollout itself
	tooLarge   = "too large" // the answer about a rollout that has more bytes: the run itself plays it then
)

// encodeRollout returns a rollout as bytes: compressed tensors. Among them are those of a label file, without labels. It returns
// tooLarge if there are more than most bytes, or more than maxRollout before compression.
func (r *run) encodeRollout(g *rollout, most int) ([]byte, error) {
	s, n := &r.policy.Shape, len(g.samples)
	action, logProb, gone, adjacent := make([]int64, n), make([]float64, n), []int64(nil), []float32(nil)
	at, value, saved := make([]int64, n), make([]float64, n), make([]float64, n)
	for i := range g.samples {
		x := &g.samples[i]
		action[i], logProb[i], adjacent = int64(x.Action), x.LogProb, append(adjacent, x.Adjacent...)
		if !s.Joint {
			gone = appendGone(gone, x)
		}
		at[i], value[i], saved[i] = int64(g.steps[i].at), g.steps[i].value, g.steps[i].saved
	}
	times := make([]int64, len(g.curve.at))
	for i, t := range g.curve.at {
		times[i] = int64(t)
	}
	var kinds, offered, taken []int64
	for _, n := range g.kinds {
		kinds = append(kinds, int64(n))
	}
	for _, name := range r.policy.Wide.Rivals {
		offered, taken = append(offered, int64(g.offered[name])), append(taken, int64(g.taken[name]))
	}
	all := append(observations(s, g.samples), column("action", action), column("log_prob", logProb), column("adjacent", adjacent),
		column("step_at", at), column("step_value", value), column("step_saved", saved), column("rates", g.rates),
		column("curve_at", times), column("curve_rate", g.curve.rate), column("curve_sums", []float64{g.curve.total, g.curve.figure}),
		column("kinds", kinds), column("offered", offered), column("proposals_taken", taken))
	if !s.Joint {
		all = append(all, column("gone", gone))
	}
	var plain, file bytes.Buffer
	if err := checkpoints.WriteTensors(&plain, all, nil); err != nil {
		return nil, err
	}
	z, err := gzip.NewWriterLevel(&file, gzip.BestSpeed)
	if err == nil {
		_, err = z.Write(plain.Bytes())
	}
	if err == nil {
		err = z.Close()
	}
	if plain.Len() > maxRollout || file.Len() > most {
		return []byte(tooLarge), err
	}
	return file.Bytes(), err
}

// column returns a tensor with one dimension.
func column[E checkpoints.Element](name string, data []E) checkpoints.Tensor {
	return checkpoints.Tensor{Name: name, Shape: []int{len(data)}, Data: data}
}

// decodeRollout is the inverse of encodeRollout. It checks every number that the run would use as an index, and that all numbers
// are finite.
func (r *run) decodeRollout(data []byte) (*rollout, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	file, err := io.ReadAll(io.LimitReader(z, maxRollout+1))
	if err != nil {
		return nil, err
	}
	tensors, _, err := checkpoints.ReadTensors(file, checkpoints.Limits{Bytes: maxRollout, Header: 1 << 16, Tensors: 64})
	if err != nil {
		return nil, err
	}
	for _, t := range tensors {
		if i := notFinite(t.Data); i >= 0 {
			return nil, fmt.Errorf("tensor %q: element %d is not a finite number", t.Name, i)
		}
	}
	g := &rollout{curve: &curve{memory: r.goal.memory}, tailed: r.cfg.drawsEstimate()}
	if g.samples, err = unobserve(&r.policy.Shape, tensors); err != nil {
		return nil, err
	}
	t := &taker{tensors: tensors}
	for _, part := range []func(*taker, *rollout) error{r.decodeSamples, r.decodeSteps, r.decodeCurve, r.decodeCounts} {
		if err := part(t, g); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (r *run) decodeSamples(t *taker, g *rollout) error {
	s, n := &r.policy.Shape, len(g.samples)
	nodes := 0
	if s.Graph != agents.GraphNone {
		for i := range g.samples {
			k := s.Nodes(g.samples[i].Observation)
			nodes += k * k
		}
	}
	action, logProb := take[int64](t, "action", n), take[float64](t, "log_prob", n)
	adjacent := take[float32](t, "adjacent", nodes)
	var gone []int64
	if !s.Joint {
		gone = take[int64](t, "gone", allCandidates(g.samples))
	}
	if t.err != nil {
		return t.err
	}
	for i := range g.samples {
		x := &g.samples[i]
		if action[i] < 0 || action[i] >= int64(x.Candidates) {
			return fmt.Errorf("choice %d: candidate %d of %d was taken", i, action[i], x.Candidates)
		}
		x.Action, x.LogProb = int(action[i]), logProb[i]
		if s.Graph != agents.GraphNone {
			k := s.Nodes(x.Observation)
			x.Adjacent = cut(&adjacent, k*k)
		}
		if !s.Joint {
			x.Gone = goneOf(cut(&gone, x.Candidates))
		}
	}
	return nil
}

func (r *run) decodeSteps(t *taker, g *rollout) error {
	n := len(g.samples)
	at, value, saved := take[int64](t, "step_at", n), take[float64](t, "step_value", n), take[float64](t, "step_saved", n)
	if r.cfg.learnsCritic() {
		g.rates = take[float64](t, "rates", n)
	}
	if t.err != nil {
		return t.err
	}
	if !ascends(at) {
		return errors.New("the times of choices do not ascend from 0")
	}
	g.steps = make([]step, n)
	for i := range g.steps {
		g.steps[i] = step{time.Duration(at[i]), value[i], saved[i]}
	}
	return nil
}

// ascends reports whether times are at least 0 and none is smaller than the one before.
func ascends(times []int64) bool { return slices.IsSorted(times) && (len(times) == 0 || times[0] >= 0) }

func (r *run) decodeCurve(t *taker, g *rollout) error {
	i := slices.IndexFunc(t.tensors, func(t checkpoints.Tensor) bool { return t.Name == "curve_at" })
	if i < 0 || len(t.tensors[i].Shape) != 1 {
		return errors.New("no list of the curve's times")
	}
	n := t.tensors[i].Shape[0]
	at, sums := take[int64](t, "curve_at", n), take[float64](t, "curve_sums", 2)
	g.curve.rate = take[float64](t, "curve_rate", max(n-1, 0))
	if t.err != nil {
		return t.err
	}
	if !ascends(at) || len(slices.Compact(slices.Clone(at))) < n {
		return errors.New("the times of the curve do not ascend from 0")
	}
	for _, x := range at {
		g.curve.at = append(g.curve.at, time.Duration(x))
	}
	g.curve.total, g.curve.figure = sums[0], sums[1]
	g.curve.closed()
	return nil
}

func (r *run) decodeCounts(t *taker, g *rollout) error {
	rivals := r.policy.Wide.Rivals
	kinds, offered := take[int64](t, "kinds", candidates.Kinds), take[int64](t, "offered", len(rivals))
	taken := take[int64](t, "proposals_taken", len(rivals))
	if t.err != nil {
		return t.err
	}
	for _, n := range slices.Concat(kinds, offered, taken) {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("count %d, want 0 to %d", n, math.MaxInt32)
		}
	}
	for i := range g.kinds {
		g.kinds[i] = int(kinds[i])
	}
	g.proposals = newProposals(rivals)
	for i, name := range rivals {
		g.offered[name], g.taken[name] = int(offered[i]), int(taken[i])
	}
	return nil
}

// appendGone appends for each candidate of a sample 1 if it is gone, and 0 otherwise.
func appendGone(list []int64, s *learn.Sample) []int64 {
	for i := range s.Candidates {
		gone := int64(0)
		if s.Gone != nil && s.Gone[i] {
			gone = 1
		}
		list = append(list, gone)
	}
	return list
}

// goneOf is the inverse of appendGone.
func goneOf(list []int64) (gone []bool) {
	for i, v := range list {
		if v == 0 {
			continue
		}
		if gone == nil {
			gone = make([]bool, len(list))
		}
		gone[i] = true
	}
	return gone
}
