package inference

import (
	"fmt"
	"time"
)

// Predictor predicts usage one step ahead. The caller passes it each sample of a series in order with Observe, and Predict
// returns its estimate of the next one. A Predictor gets no other input. Samples are fractions of the pool; predictions may lie
// outside [0,1]. A Predictor is not safe for concurrent use.
type Predictor interface {
	Name() string
	Reset()            // forgets all samples but keeps fitted parameters
	Observe(u float64) // takes the current sample
	Predict() float64  // returns the predicted next sample; 0 before the first Observe
}

// Forecast resets p and passes the values to it one by one. Element i of the result is p's prediction of value i before it
// observed that value; element 0 is 0.
func Forecast(p Predictor, values []float64) []float64 {
	said := make([]float64, len(values))
	p.Reset()
	for i, u := range values {
		if i > 0 {
			said[i] = p.Predict()
		}
		p.Observe(u)
	}
	return said
}

// history contains the newest samples, oldest first, at most keep of them.
type history struct {
	keep int
	u    []float64
}

func (h *history) reset() { h.u = h.u[:0] }

func (h *history) add(u float64) {
	if len(h.u) < h.keep {
		h.u = append(h.u, u)
		return
	}
	copy(h.u, h.u[1:])
	h.u[len(h.u)-1] = u
}

// last returns the sample k steps before the newest, the oldest one if there are fewer, or 0 if there is none.
func (h *history) last(k int) float64 {
	if len(h.u) == 0 {
		return 0
	}
	return h.u[max(0, len(h.u)-1-k)]
}

// lastValue predicts the newest sample.
type lastValue struct{ u float64 }

// NewLastValue returns the predictor that predicts the newest sample.
func NewLastValue() Predictor { return &lastValue{} }

func (p *lastValue) Name() string      { return "last" }
func (p *lastValue) Reset()            { p.u = 0 }
func (p *lastValue) Observe(u float64) { p.u = u }
func (p *lastValue) Predict() float64  { return p.u }

// ewma predicts the exponentially weighted mean of the samples.
type ewma struct {
	weight, mean float64
	any          bool
}

// NewEWMA returns the predictor that predicts the exponentially weighted mean of all samples: the newest has the given weight,
// and each older one 1-weight times that of the sample after it. NewEWMA panics if weight is not in (0,1].
func NewEWMA(weight float64) Predictor {
	if !(weight > 0 && weight <= 1) {
		panic(fmt.Sprintf("inference: EWMA of weight %g, want above 0 and at most 1", weight))
	}
	return &ewma{weight: weight}
}

func (p *ewma) Name() string { return "ewma" }
func (p *ewma) Reset()       { p.mean, p.any = 0, false }
func (p *ewma) Observe(u float64) {
	if !p.any {
		p.mean, p.any = u, true
		return
	}
	p.mean += p.weight * (u - p.mean)
}
func (p *ewma) Predict() float64 { return p.mean }

// seasonal predicts the sample of the same time on the previous day.
type seasonal struct {
	perDay int
	ring   []float64
	seen   int
}

// NewSeasonal returns the predictor that predicts the sample of the same time on the previous day, or the newest sample while it
// has observed less than a day. NewSeasonal panics if a day is not a multiple of step.
func NewSeasonal(step time.Duration) Predictor {
	if step <= 0 || day%step != 0 {
		panic(fmt.Sprintf("inference: steps of %v, want a part of a day", step))
	}
	n := int(day / step)
	return &seasonal{perDay: n, ring: make([]float64, n)}
}

func (p *seasonal) Name() string { return "seasonal" }
func (p *seasonal) Reset()       { p.seen = 0 }

func (p *seasonal) Observe(u float64) {
	p.ring[p.seen%p.perDay] = u
	p.seen++
}

func (p *seasonal) Predict() float64 {
	switch {
	case p.seen == 0:
		return 0
	case p.seen < p.perDay:
		return p.ring[p.seen-1]
	}
	return p.ring[p.seen%p.perDay]
}

// oracle predicts from the true series.
type oracle struct {
	values []float64
	next   int
}

// NewOracle returns the predictor that returns the true next value. values must be the series that the caller passes to Observe.
// NewOracle does not copy it. The oracle is an upper bound for what prediction can achieve. After the end it predicts the last
// value.
func NewOracle(values []float64) Predictor { return &oracle{values: values} }

func (p *oracle) Name() string    { return "oracle" }
func (p *oracle) Reset()          { p.next = 0 }
func (p *oracle) Observe(float64) { p.next++ }

func (p *oracle) Predict() float64 {
	if p.next == 0 || len(p.values) == 0 {
		return 0
	}
	return p.values[min(p.next, len(p.values)-1)]
}
