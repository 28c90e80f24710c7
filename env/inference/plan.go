package inference

import (
	"fmt"
	"math"
	"time"
)

// DefaultHeadroom is the fraction of the pool that is never lent: Lyra's median burst within five minutes (EuroSys 2023, §7.1).
const DefaultHeadroom = 0.02

// Pool contains the size and the rules of the inference pool, about whose servers the inference scheduler decides.
type Pool struct {
	Servers  int
	Headroom float64 // fraction never lent, see DefaultHeadroom
	Margin   float64 // spare capacity as a fraction of the larger of current and predicted usage; see Calibrate
}

// Point is the demand and the offer of the inference pool from At until the next point.
type Point struct {
	At    time.Duration
	Need  int64 // thousandths of servers in use
	Offer int32 // servers that may be on loan; training must return what exceeds it within one step
}

// maxServers is the maximum size of a pool, so that sums of Need over any series fit into an int64.
const maxServers = 1 << 20

// maxMargin is a margin with which no realistic pool lends anything.
const maxMargin = 1000

// Reserve returns the number of servers that are never lent.
func (p Pool) Reserve() int { return int(ceil(p.Headroom * float64(p.Servers))) }

// ceil is math.Ceil without the effect of rounding errors: 0.07*100 servers are seven.
func ceil(x float64) float64 { return math.Ceil(x - 1e-9) }

// check returns an error about the first field out of range.
func (p Pool) check() error {
	if p.Servers < 1 || p.Servers > maxServers {
		return fmt.Errorf("check inference pool: %d servers, want 1 to %d", p.Servers, maxServers)
	}
	if !(p.Headroom >= 0 && p.Headroom <= 1) {
		return fmt.Errorf("check inference pool: headroom %g, want 0 to 1", p.Headroom)
	}
	if !(p.Margin >= 0 && p.Margin <= maxMargin) {
		return fmt.Errorf("check inference pool: margin %g, want 0 to %d", p.Margin, maxMargin)
	}
	return nil
}

// Offer returns the number of servers to lend if the usage is u and the predicted usage of the next step is said, both fractions
// of the pool. It lends the servers that the larger of the two, increased by the margin, does not need, except for the reserve
// (Lyra, EuroSys 2023, §4, has no margin). If the prediction is NaN it lends nothing.
func (p Pool) Offer(u, said float64) int32 {
	need := max(u, said) * (1 + p.Margin) // NaN if u or said is NaN
	if !(need < 1) {
		return 0
	}
	lend := p.Servers - int(ceil(need*float64(p.Servers))) - p.Reserve()
	return int32(max(lend, 0))
}

// Plan runs the inference scheduler over a series of usage, as fractions of the pool from Series.Usage. At each step the
// scheduler observes the current sample, asks the predictor for the next one and offers the servers that neither needs. The offer
// of a step therefore already leaves room for the predicted usage of the next step, and servers called back within one step
// return before usage rises. Plan resets the predictor first.
func Plan(usage Series, predictor Predictor, pool Pool) ([]Point, error) {
	if err := usage.Check(); err != nil {
		return nil, err
	}
	if err := pool.check(); err != nil {
		return nil, err
	}
	predictor.Reset()
	points := make([]Point, len(usage.Values))
	for i, u := range usage.Values {
		if u > 1 {
			return nil, fmt.Errorf("plan inference: usage %g at %v, want at most the pool, 1", u, usage.at(i))
		}
		predictor.Observe(u)
		points[i] = Point{
			At:    usage.at(i),
			Need:  int64(math.Round(u * float64(pool.Servers) * 1000)),
			Offer: pool.Offer(u, predictor.Predict()),
		}
	}
	return points, nil
}

// Outcome summarises what a plan costs inference if training borrows every offered server and returns it at the last moment.
type Outcome struct {
	Lent     float64 // mean number of servers offered
	Unserved float64 // unserved demand as a fraction of all demand
	Short    int     // number of steps with unserved demand
	Steps    int     // number of steps counted
}

// Account computes the outcome of a plan for a pool of the given number of servers. It assumes that servers are on loan as soon
// as they are offered, and that a server called back stays on loan until the next point. So in each step as many servers are on
// loan as the larger of this step's offer and the previous one. Demand that exceeds the remaining servers is unserved. All points
// last equally long, so fractions of servers are fractions of server-time. The function count selects the points to count; nil
// means all. The first point never counts because the offer before it is unknown.
func Account(points []Point, servers int, count func(i int) bool) Outcome {
	var o Outcome
	var demand, unserved, lent int64
	for i := 1; i < len(points); i++ {
		if count != nil && !count(i) {
			continue
		}
		away := max(points[i].Offer, points[i-1].Offer)
		short := max(0, points[i].Need-1000*(int64(servers)-int64(away)))
		if short > 0 {
			o.Short++
		}
		o.Steps++
		demand += points[i].Need
		unserved += short
		lent += int64(points[i].Offer)
	}
	if demand > 0 {
		o.Unserved = float64(unserved) / float64(demand)
	}
	if o.Steps > 0 {
		o.Lent = float64(lent) / float64(o.Steps)
	}
	return o
}
