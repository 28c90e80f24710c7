package agents

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// The prior is shortest job first with skip on best-fitting servers, holding GPUs for the first job that cannot start
// (baselines' sjfskip and sjfhold), as logits: its job has 0 in all and the others less, by the weights below, so that sampling
// stays near the heuristic and the most likely job on the most likely server is the heuristic's.
const (
	priorWeight = 8.0   // logits for a job that takes e times as long (beyond the first minute)
	placeWeight = 0.8   // logits for a server with one free GPU more than the best fit
	rankWeight  = 8e-3  // logits for a place in the window: keeps the order where times are equal
	blindWeight = 1.0   // the same where there are no estimates and the window is in order of submission
	levelWeight = 0.1   // logits for a level further down the menu
	against     = -4.0  // logit of stopping against the rule, and of the best start against it
	illegal     = -1e30 // prior of a masked choice; never added to
)

// prior fills dst [servers*tokens+1] for the legal choices of a micro-step, in which the job of a token still lacks so many
// workers and none that takes longer than bound should start. The last entry is the stop choice.
func prior(dst []float32, spec *env.Spec, ts *env.TimeStep, legal []bool, bound float64, lacking func(token int) int32) {
	tokens, levels, stop := spec.Items(), len(spec.Menu), len(dst)-1
	best, bestHeld := float32(illegal), float32(illegal)
	for t := range tokens {
		id := ts.Window[t/levels]
		if id < 0 {
			for i := range spec.Agents {
				dst[i*tokens+t] = illegal
			}
			continue
		}
		base := jobPrior(ts.State, id, t/levels) - levelWeight*float32(t%levels)
		amount := spec.Menu[t%levels].Of(ts.State.Spec(id).Request)
		switch some := place(dst, ts.State, ts.Window[t/len(spec.Menu)], legal, amount, lacking(t), base, t, tokens); {
		case !some:
		case beyond(ts.State, id, bound):
			bestHeld = max(bestHeld, base)
		default:
			best = max(best, base)
		}
	}
	dst[stop] = against
	if best == illegal {
		dst[stop] = 0
	}
	for a, ok := range legal[:stop] {
		switch {
		case !ok:
		case beyond(ts.State, ts.Window[a%tokens/levels], bound):
			dst[a] += against - bestHeld
		default:
			dst[a] -= best
		}
	}
}

// holdBound is the longest remaining time that may start while the first job of the window that cannot start waits; less than
// 0 for no bound.
func holdBound(spec *env.Spec, ts *env.TimeStep, legal []bool, hold float64, shadow *cluster.Shadow) float64 {
	tokens, levels := spec.Items(), len(spec.Menu)
	if hold == 0 {
		return -1
	}
	for k, id := range ts.Window {
		if id < 0 {
			break
		}
		if left, known := ts.State.Remaining(id); known && !startable(legal, k*levels, levels, tokens) {
			return max(hold*float64(left), float64(shadow.Wait(ts.State, id)))
		}
	}
	return -1
}

func beyond(s *cluster.State, id cluster.JobID, bound float64) bool {
	if bound < 0 {
		return false
	}
	left, known := s.Remaining(id)
	return known && float64(left) > bound
}

// startable reports whether any server may take the tokens from first on.
func startable(legal []bool, first, levels, tokens int) bool {
	for at := first; at < len(legal)-1; at += tokens {
		for l := range levels {
			if legal[at+l] {
				return true
			}
		}
	}
	return false
}

func jobPrior(s *cluster.State, id cluster.JobID, rank int) float32 {
	left, known := s.Remaining(id)
	if !known {
		return -blindWeight * float32(rank)
	}
	return -priorWeight*float32(math.Log1p(float64(left)/float64(time.Minute))) - rankWeight*float32(rank)
}

// place fills the column of a token with the logarithms of shares, most for the server that cluster.State.BestFit would take
// next and less elsewhere, that add up to the weight of base: how many servers would do says nothing of whether to start a job.
// It reports whether any is legal.
func place(
	dst []float32, s *cluster.State, id cluster.JobID, legal []bool, a cluster.Amount, lacking int32, base float32, t, tokens int,
) bool {
	rank := int32(math.MaxInt32) // of the type of GPUs that BestFit would take
	for i := range s.Servers() {
		if legal[i*tokens+t] {
			rank = min(rank, s.TypeRank(id, cluster.ServerID(i)))
		}
	}
	tightest, roomiest := int32(math.MaxInt32), int32(-1)
	for i := range s.Servers() {
		if !legal[i*tokens+t] || s.TypeRank(id, cluster.ServerID(i)) > rank {
			continue
		}
		free := s.FreeGPUs(cluster.ServerID(i))
		if s.Fits(cluster.ServerID(i), id, a) >= lacking {
			tightest = min(tightest, free)
		}
		roomiest = max(roomiest, free)
	}
	sum := 0.0
	for i := range s.Servers() {
		at := i*tokens + t
		if !legal[at] {
			dst[at] = illegal
			continue
		}
		free, worse := s.FreeGPUs(cluster.ServerID(i)), int32(0)
		switch {
		case s.TypeRank(id, cluster.ServerID(i)) > rank:
			worse = 2 + 3*s.MostGPUs()
		case tightest == math.MaxInt32: // no server takes all: the roomiest takes most
			worse = roomiest - free
		case s.Fits(cluster.ServerID(i), id, a) >= lacking:
			worse = free - tightest
		default:
			worse = 1 + 2*s.MostGPUs() - free
		}
		dst[at] = -placeWeight * float32(worse)
		sum += math.Exp(float64(dst[at]))
	}
	share := base - float32(math.Log(sum))
	for at := t; at < len(legal)-1; at += tokens {
		if legal[at] {
			dst[at] += share
		}
	}
	return sum > 0
}
