package inference

import (
	"fmt"
	"math"
	"time"
)

// DefaultHeadroom is the share of the pool that is never lent: Lyra's median burst in five minutes (EuroSys 2023, §7.1).
const DefaultHeadroom = 0.02

// Pool is what the inference scheduler decides about. Servers is the size of the pool.
type Pool struct {
	Servers  int
	Headroom float64 // share never lent, see DefaultHeadroom
	Margin   float64 // share by which need may exceed what is seen and foreseen; see Calibrate
}

// Point is the inference side from At on, until the next point.
type Point struct {
	At    time.Duration
	Need  int64 // thousandths of servers in use
	Offer int32 // servers that may be on loan; what is lent above it is to come back within a step
}

// maxServers bounds a pool so that sums of Need over any series fit.
const maxServers = 1 << 20

// maxMargin is a margin that lends nothing from any pool worth the name.
const maxMargin = 1000

// Reserve is the number of servers that are never lent.
func (p Pool) Reserve() int { return int(ceil(p.Headroom * float64(p.Servers))) }

// ceil is math.Ceil but for rounding errors: 0.07*100 servers are seven.
func ceil(x float64) float64 { return math.Ceil(x - 1e-9) }

// check reports sizes and shares out of range.
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

// Offer is the number of servers lent while usage is u and foreseen to be said next, both fractions of the pool: what the
// larger of the two, with the margin on top, does not need, less the reserve (Lyra, EuroSys 2023, §4, has no margin). A
// prediction that is not a number lends nothing.
func (p Pool) Offer(u, said float64) int32 {
	need := max(u, said) * (1 + p.Margin) // NaN if one is
	if !(need < 1) {
		return 0
	}
	lend := p.Servers - int(ceil(need*float64(p.Servers))) - p.Reserve()
	return int32(max(lend, 0))
}

// Plan is the inference scheduler over a whole series of usage, fractions of the pool as Usage gives them: at each step
// it sees the sample of now, asks the predictor for the next one and offers what neither needs. So the offer of a step
// already leaves room for the next step's predicted usage, and servers called back within a step are there before usage
// rises. It resets the predictor first.
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

// Outcome is what a plan comes to for inference if training takes all that is offered and gives back at the last moment.
type Outcome struct {
	Lent     float64 // mean servers offered
	Unserved float64 // servers of demand that found none, over the servers of demand
	Short    int     // steps with unserved demand
	Steps    int     // steps counted
}

// Account follows lent servers through points: servers are lent as soon as they are offered, and one called back stays
// away until the next point, so that over a step the larger of the step's own offer and the one before is away. Demand
// beyond the rest of the pool is unserved; as all points last equally long, shares of servers are shares of
// server-time. count says which points to count, nil all; the first never is, for what went before it is not known.
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
