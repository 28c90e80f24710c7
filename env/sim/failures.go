package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Failures are random failures of servers and of single GPUs, each unit by itself: exponential times between a repair and the
// next failure, and exponential times to repair. 0 between failures: none.
type Failures struct {
	ServerBetween time.Duration `yaml:"server_between"` // means
	ServerRepair  time.Duration `yaml:"server_repair"`
	GPUBetween    time.Duration `yaml:"gpu_between"`
	GPURepair     time.Duration `yaml:"gpu_repair"`
}

// Validate reports the first field that is not usable.
func (f *Failures) Validate() error {
	for _, p := range []struct {
		unit            string
		between, repair time.Duration
	}{{"server", f.ServerBetween, f.ServerRepair}, {"gpu", f.GPUBetween, f.GPURepair}} {
		if p.between != 0 && (p.between < time.Minute || p.repair < time.Second) || p.between == 0 && p.repair != 0 {
			return fmt.Errorf("%s failures every %v, repaired after %v: want at least 1m and 1s, or both 0", p.unit, p.between, p.repair)
		}
	}
	return nil
}

// Draw returns the outages that begin before an instant, in order of time. Every unit draws in turn, so the same generator
// gives the same outages.
func (f *Failures) Draw(spec *cluster.Spec, until time.Duration, draw *rand.Rand) []Outage {
	var all []Outage
	unit := func(server, gpu int32, between, repair time.Duration) {
		if between == 0 {
			return
		}
		for at := exponential(between, draw); at < until; {
			back := at + max(exponential(repair, draw), time.Second)
			all = append(all, Outage{From: at, To: back, Server: cluster.ServerID(server), GPU: gpu})
			at = back + exponential(between, draw)
		}
	}
	for i := range spec.Servers {
		unit(int32(i), -1, f.ServerBetween, f.ServerRepair)
		for g := range spec.Servers[i].GPUs {
			unit(int32(i), g, f.GPUBetween, f.GPURepair)
		}
	}
	slices.SortStableFunc(all, func(a, b Outage) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Server, b.Server), cmp.Compare(a.GPU, b.GPU))
	})
	return all
}

// exponential draws whole seconds, at least one.
func exponential(mean time.Duration, draw *rand.Rand) time.Duration {
	return max(time.Duration(draw.ExpFloat64()*mean.Seconds()), 1) * time.Second
}
