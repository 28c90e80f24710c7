package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Failures describes random failures of servers and of single GPUs. Every unit fails independently, with exponentially
// distributed times to failure and times to repair. With a time between failures of 0 that kind of unit never fails.
type Failures struct {
	ServerBetween time.Duration `yaml:"server_between"` // all four fields are means
	ServerRepair  time.Duration `yaml:"server_repair"`
	GPUBetween    time.Duration `yaml:"gpu_between"`
	GPURepair     time.Duration `yaml:"gpu_repair"`
}

// Validate returns an error about the first field that is not usable.
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

// Draw returns the outages that begin before the instant until, in order of time. It draws for one unit after another, so the
// same generator state gives the same outages.
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

// exponential draws an exponentially distributed time in whole seconds, at least one.
func exponential(mean time.Duration, draw *rand.Rand) time.Duration {
	return max(time.Duration(draw.ExpFloat64()*mean.Seconds()), 1) * time.Second
}
