package physics

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/comm"
)

// interleaved is network for gangs that compute and communicate in turn. On an uplink such a gang waits for another one only
// while both communicate. Gangs whose iterations keep step are shifted against each other so that their communication overlaps
// as little as possible; the others overlap by chance. So a gang's speed depends on which gangs share its uplinks, not only on
// their number. The idea is that of CASSINI (Rajasekaran, Ghobadi and Akella, NSDI 2024), which shifts jobs in this way.
//
// Our simplifications: a gang communicates once in an iteration, without a break, and the times are those that it would have
// alone in its placement. Two gangs keep step if their iteration times are within inStep of a ratio of whole numbers up to
// mostTurns. Each pair of gangs is at its best shift, also where three gangs have no shift that is best for all pairs. A gang's
// demand on an uplink counts in full for the gang itself, and for another gang by the part of that gang's communication during
// which both communicate. As in network, a gang gets the fraction of its NICs' bandwidth by which the uplink falls short of the
// sum.
//
// If all gangs communicate all the time, interleaved is network; otherwise no gang is slower than there.
type interleaved struct{ network }

// Two gangs keep step if the logarithm of the ratio of their iteration times differs by at most inStep from that of a ratio of
// whole numbers up to mostTurns. Both are assumptions: CASSINI rounds iteration times to find a common period.
const (
	inStep    = 0.05
	mostTurns = 4
)

// NewInterleaved returns the part for gangs that communicate in turns over links with the given bandwidths in GB/s, as in
// NewNetwork.
func NewInterleaved(intra, nic, uplink float64) Part {
	return interleaved{NewNetwork(intra, nic, uplink).(network)}
}

// Name implements Part.
func (m interleaved) Name() string {
	return fmt.Sprintf("interleaved(%g,%g,%g)", m.gb[0], m.gb[1], m.gb[2])
}

// Factor implements Part.
func (m interleaved) Factor(s *cluster.View, job cluster.JobID) float64 {
	return m.factor(s, job, m.through)
}

// through returns the fraction of its NIC bandwidth that a gang gets through the most contended uplink it uses.
func (m interleaved) through(s *cluster.View, job cluster.JobID) float64 {
	p := s.Placement(job)
	if !s.Crosses(p) {
		return 1
	}
	own := m.rhythm(s, job)
	return m.least(s, p, func(rack int32) float64 {
		want := m.links.NIC * nics(s, p, rack)
		for _, other := range s.Crossing(rack) {
			if other != job {
				want += m.links.NIC * nics(s, s.Placement(other), rack) * own.overlap(m.rhythm(s, other))
			}
		}
		return want
	})
}

// nics returns the NICs of the rack's servers that belong to the placement: for each server in proportion to the GPUs that it
// uses there.
func nics(s *cluster.View, p cluster.Placement, rack int32) (sum float64) {
	for i := range p {
		if v := s.Server(p[i].Server); v.Rack == rack {
			sum += float64(p[i].Workers) / float64(v.GPUs)
		}
	}
	return sum
}

// rhythm is how a gang alone in its placement computes and communicates in turn.
type rhythm struct {
	period float64 // seconds of an iteration
	busy   float64 // the fraction of it in which the gang communicates between servers
}

func (m interleaved) rhythm(s *cluster.View, job cluster.JobID) rhythm {
	p, ref := s.Placement(job), m.traffic(s, job)
	if ref.best == 0 {
		return rhythm{}
	}
	alone := m.least(s, p, func(rack int32) float64 { return m.links.NIC * nics(s, p, rack) })
	period := ref.alpha(s, p, m.links, alone)
	quiet := ref.alpha(s, p, comm.Links{Intra: m.links.Intra, NIC: math.Inf(1)}, 1)
	return rhythm{period, max(1-quiet/period, 0)}
}

// overlap returns the fraction of r's communication during which q communicates as well.
func (r rhythm) overlap(q rhythm) float64 {
	if r.busy == 0 || q.busy == 0 {
		return 0
	}
	a, b, ok := turns(q.period / r.period)
	if !ok {
		return q.busy
	}
	// Cut r's iteration into a steps and q's into b steps of the same length. Until both gangs repeat, each step of r meets each
	// step of q once. r communicates during some whole steps and during a part of one more, and so does q. Only where these two
	// parts meet does the shift matter: then they overlap by as much as they are together longer than a step.
	rWhole, rPart := math.Modf(r.busy * float64(a))
	qWhole, qPart := math.Modf(q.busy * float64(b))
	both := rWhole*qWhole + rWhole*qPart + qWhole*rPart + max(rPart+qPart-1, 0)
	return min(both/(float64(a*b)*r.busy), 1)
}

// turns returns whole numbers with b/a near the ratio, the smallest first.
func turns(ratio float64) (a, b int, ok bool) {
	for sum := 2; sum <= 2*mostTurns; sum++ {
		for a := max(1, sum-mostTurns); a <= min(mostTurns, sum-1); a++ {
			if b := sum - a; math.Abs(math.Log(ratio*float64(a)/float64(b))) <= inStep {
				return a, b, true
			}
		}
	}
	return 0, 0, false
}

// affected implements precise. Demands are not simply added up, so it adds all that Coupled does.
func (m interleaved) affected(s *cluster.View, job cluster.JobID, dst []cluster.JobID) []cluster.JobID {
	return m.Coupled(s, s.Placement(job), dst)
}
