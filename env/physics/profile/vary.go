package profile

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// mostWithin is the largest value of Vary's parameter within.
const mostWithin = 1

// Vary returns the name of a variant of a family, such as "bert-large~0.5~3" for within 0.5 and the seed 3. Lookup knows it. The
// variant is the same kind of job on a cluster with other hardware and software. Each of its constants is that of the family,
// times a factor from 1/(1+within) to 1+within, log-uniform and drawn from the seed: the speeds on GPU types other than the V100,
// the sensitivity and the pressure of jobs that share a GPU, the rates at which CPU and memory limit the speed, the times of
// communication within and between servers, the time of an iteration, and the bytes that it sends. Memory and layers stay the
// same, a worker with a fair share of CPU and memory keeps the speed 1, and two replicas on a server never make less than one.
// All batch sizes of a model get the same factors. Vary returns the name itself if within is 0 or the name is not in Names.
// Within must be at most 1.
func Vary(name string, within float64, seed uint64) string {
	if within == 0 || load().byName.find(name) == nil {
		return name
	}
	return fmt.Sprintf("%s~%g~%d", name, within, seed)
}

// mostVariants is the largest number of variants that are kept. Others are computed at each call of Lookup, more slowly.
const mostVariants = 1 << 10

// variants are the variants of families that Lookup was asked for, by name.
type variants struct {
	mu     sync.RWMutex
	byName map[string]*Family
}

// lookup returns the variant of that name, nil if the name is not one that Vary returns.
func (v *variants) lookup(name string) *Family {
	v.mu.RLock()
	f, known := v.byName[name]
	v.mu.RUnlock()
	if known {
		return f
	}
	base, rest, _ := strings.Cut(name, "~")
	amount, number, _ := strings.Cut(rest, "~")
	within, err := strconv.ParseFloat(amount, 64)
	seed, bad := strconv.ParseUint(number, 10, 64)
	if err != nil || bad != nil || !(within > 0 && within <= mostWithin) || Vary(base, within, seed) != name {
		return nil
	}
	f = load().byName.find(base).vary(name, within, seed)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch same := v.byName[name]; {
	case same != nil:
		return same
	case len(v.byName) < mostVariants:
		f.memo, f.scaled = newMemo(1<<12), newMemo(1<<8)
		v.byName[name] = f
	}
	return f
}

// vary returns the variant of the family.
func (f *Family) vary(name string, within float64, seed uint64) *Family {
	h := fnv.New64a()
	h.Write([]byte(strings.TrimSuffix(strings.TrimRight(f.name, "0123456789"), "-")))
	draw := rand.New(rand.NewPCG(seed, h.Sum64()))
	factor := func() float64 { return math.Exp((2*draw.Float64() - 1) * math.Log1p(within)) }
	v := *f
	v.name, v.memo, v.scaled = name, nil, nil
	for g := range v.speed {
		if x := factor(); g != V100 {
			v.speed[g] *= x
		}
	}
	v.other *= factor()
	sensitivity, pressure := factor(), factor()
	for g := range v.s {
		for i := range v.s[g] {
			v.s[g][i] *= sensitivity
			v.p[g][i] *= pressure
		}
	}
	v.surface.cpu += math.Log(factor()) / v.surface.root
	v.surface.fetch += math.Log(factor()) / v.surface.root
	v.surface.hold += math.Log(factor()) / v.surface.root
	v.surface.normalise()
	inside, between := min(factor(), f.scaling.slowest(f.step)), factor()
	v.scaling.LocalBase *= inside
	v.scaling.LocalPerReplica *= inside
	v.scaling.RemoteBase *= between
	v.scaling.RemotePerReplica *= between
	v.compute *= factor()
	sends := factor()
	v.param *= sends
	v.activation *= sends
	return &v
}

// normalise divides the rates by the speed with a fair share.
func (s *surface) normalise() {
	log := -math.Log(s.at(FairCores, FairMemGiB)) / s.root
	s.cpu, s.fetch, s.hold, s.gpu = s.cpu+log, s.fetch+log, s.hold+log, s.gpu*math.Exp(log)
}

// slowest returns the largest factor of the communication on one server with which two replicas make as much as one, at least 1.
func (s *Scaling) slowest(compute float64) float64 {
	return max(1, compute*math.Pow(math.Pow(2, s.Gamma)-1, 1/s.Gamma)/s.LocalBase)
}
