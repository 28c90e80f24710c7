package pins

import (
	"strings"
	"sync"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/policy"
)

// seed is the seed of every episode and every scheduler.
const seed = 1

// window is an episode of a scenario's test split, with the policies that play it.
type window struct {
	name     string
	scenario string
	sets     []string
	index    int
	change   func(*sim.Episode) // a change that no scenario can express, nil for none
	shared   bool
	policies []string
	short    []string // policies that also play with -short
	choices  []string // learned policies whose every choice is pinned
}

// windows returns the windows. The generated ones have so much load that jobs wait and schedulers differ. Of the real traces it
// takes windows in which the released policy departs from its prior, if there are any.
func windows() []window {
	busy := []string{"window.arrivals=200", "window.warm=100", "workload.load=3"}
	real := strings.Fields("released prior srsf+menu+move a-srpt a-srpt+menu+move lyra+loan lyra+move las " +
		"las:levels=single:quantum=0 gittins lucid+menu synergy sjfskip fifo")
	short := append(all.Table().Names(), "srsf+menu+move+loan", "prior", "released")
	return []window{
		{name: "small", scenario: "embedded-small-v1", sets: busy, policies: everybody()},
		{name: "physics", scenario: "embedded-physics-v1", sets: busy, policies: everybody(), choices: []string{"released"}},
		{name: "loaning", scenario: "loaning-small-v1", sets: busy, policies: everybody(), choices: []string{"released+loan"}},
		{name: "hard", scenario: "testdata/hard.yaml", change: tenants, policies: everybody(), short: short, choices: []string{"released"}},
		{name: "untold", scenario: "embedded-physics-v1", sets: append(busy, "estimates.kind=none"),
			policies: strings.Fields("fifo fjf+menu las las+menu+loan las:levels=single:quantum=0 las:levels=single:quantum=0+menu+loan random gittins gittins+menu fgd fgd+menu " +
				"srtf+know srsf+menu+move+know sjfskip+know:time=history released+know:by=mean")},

		{name: "venus", scenario: "venus-contended-v1", sets: []string{"window.arrivals=300"}, shared: true, policies: real},
		{name: "philly", scenario: "philly-contended-v1", sets: []string{"window.arrivals=300"}, shared: true, policies: real},
		{name: "openb", scenario: "openb-load150-weak-moldable-v1", sets: []string{"window.arrivals=200"}, shared: true, policies: real},
		{name: "load150", scenario: "venus-load150-weak-moldable-warm-v1", index: 3, shared: true, policies: real},
		{name: "mixed", scenario: "mixed-load110-weak-moldable-v1", sets: []string{"window.arrivals=300"}, index: 2, shared: true, policies: real},
		{name: "hetero", scenario: "hetero-warm-venus-v1", index: 3, shared: true, policies: real, choices: []string{"released"}},
		{name: "uplinks", scenario: "uplinks-warm-venus-v1", index: 4, shared: true, policies: real},
		{name: "lent", scenario: "loaning-venus-v1", index: 1, shared: true, policies: append([]string{"released+loan", "prior+loan"}, real...)},
		{name: "quotas", scenario: "quotas-philly-v1", index: 1, shared: true, policies: real},
	}
}

// everybody returns the names of all policies to pin: every baseline with and without suffixes, every placer with an order that
// waits and one that preempts, and the built-in policies.
func everybody() (names []string) {
	for _, b := range all.Table().All() {
		names = append(names, b.Name, b.Name+baselines.MoveSuffix, b.Name+baselines.LoanSuffix)
		if b.Orders() {
			names = append(names, b.Name+baselines.MenuSuffix, b.Name+baselines.MenuSuffix+baselines.MoveSuffix)
		}
	}
	for _, place := range []string{"bestfit", "compact", "firstfit", "random", "heavy-edge", "fgd", "tune", "pack", "menu"} {
		names = append(names, "sjfskip:place="+place, "srsf:place="+place)
	}
	return append(names, "srsf+menu:places=8+move", "srsf+menu+move+loan", "lyra+move+loan", policy.Prior, policy.Prior+"+loan",
		"released", "released+loan")
}

// tenants assigns the jobs to three tenants, two of which have quotas.
func tenants(e *sim.Episode) {
	e.Config.Cluster.Quotas = []cluster.Quota{{Tenant: "ann", GPUs: 20}, {Tenant: "bob", GPUs: 36}}
	for i := range e.Jobs {
		e.Jobs[i].Tenant = []string{"ann", "bob", "eve"}[i%3]
	}
}

// open returns a function that creates the window's episode.
func (w *window) open() func() (*sim.Episode, error) {
	source := sync.OnceValues(func() (*scenario.Source, error) {
		s, err := scenario.Load(w.scenario, w.sets...)
		if err != nil {
			return nil, err
		}
		return s.Open()
	})
	return func() (*sim.Episode, error) {
		src, err := source()
		if err != nil {
			return nil, err
		}
		e, err := src.Episode(scenario.Test, w.index, seed)
		if err == nil && w.change != nil {
			w.change(&e.Episode)
		}
		return &e.Episode, err
	}
}
