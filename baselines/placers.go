package baselines

import (
	"strings"

	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/placement"
)

// placer describes a placer and makes it.
type placer struct {
	name, about string
	amounts     bool // it may give jobs other amounts than they ask for
	new         func() placement.Placer
}

// bestFit is the default placer of most baselines.
const bestFit = "bestfit"

var placers = []placer{
	{bestFit, "on as few servers as it finds, the fullest that hold it", false, func() placement.Placer {
		return &placement.BestFit{}
	}},
	{"compact", "on the fewest servers that hold it, waiting for them where that is cheaper than to be scattered", true,
		func() placement.Placer {
			c := placement.DefaultMenu()
			c.Amounts, c.Share, c.Flex = false, false, false
			return placement.NewMenu(c)
		}},
	{"firstfit", "on the servers with the lowest ids", false, placement.NewFirstFit},
	{"random", "on servers in random order", false, placement.NewRandom},
	{"heavy-edge", "on few servers, workers that send each other most together (A-SRPT)", false, func() placement.Placer {
		return asrpt.NewHeavyEdge()
	}},
	{"fgd", "where it fragments the cluster least (FGD)", false, func() placement.Placer {
		return placement.NewFGD(placement.DefaultFGD())
	}},
	{"tune", "with CPU and memory by what they do to its speed (Synergy)", true, func() placement.Placer {
		return placement.NewTune(placement.DefaultTune())
	}},
	{"pack", "beside another job on the same GPUs where none are free (Lucid)", true, func() placement.Placer {
		return placement.NewPack(placement.DefaultPack())
	}},
	{"menu", "with whatever of the menu makes jobs end soonest, see +menu", true, func() placement.Placer {
		return placement.NewMenu(placement.DefaultMenu())
	}},
}

// Placer declares the option that chooses a placer. It returns a function that makes the chosen one and reports whether that
// placer may give jobs other amounts than they ask for. A baseline that calls Placer takes MenuSuffix, which replaces the placer
// by the menu.
func (s *Settings) Placer(byDefault string) func() (p placement.Placer, amounts bool) {
	s.orders = true
	name := byDefault
	var names, abouts []string
	for _, p := range placers {
		names, abouts = append(names, p.name), append(abouts, p.name+": "+p.about)
	}
	option.Choice(&s.Set, &name, "place", names, "where a job starts, and with how much: "+strings.Join(abouts, "; "),
		"each placer's own source")
	return func() (placement.Placer, bool) {
		if s.menu != "" {
			return placement.NewMenu(*options(menus, s.menu)), true
		}
		for _, p := range placers {
			if p.name == name {
				return p.new(), p.amounts
			}
		}
		panic("baselines: placer " + name)
	}
}

// menuers describes MenuSuffix.
func menuers() Baseline {
	return Baseline{
		MenuSuffix, "behind an order of jobs: amounts and workers from the menu instead of what jobs ask for",
		"The order says who is next; the job starts as requested where it fits so, else with what costs least: its own run time, a" +
			" price on the GPUs that it holds for so long, and the delay of those whose GPUs it shares, unless to wait is cheaper." +
			" What is left of CPU, memory and GPUs then goes to those that gain most by it.",
		"own, so that a learned policy is never credited for its menu; CPU and memory after Synergy (OSDI 2022)",
		"what profiles say of speed; estimates help", declares(menus),
	}
}

// menus declares the options of MenuSuffix.
func menus(s *option.Set) *placement.MenuConfig {
	c := placement.DefaultMenu()
	s.Bool(&c.Wait, "wait", "whether a gang may wait though it fits, on more servers than it must have",
		"own choice; on training windows it mattered most")
	s.Bool(&c.Amounts, "amounts", "whether jobs get other CPU and memory than they ask for", "own choice")
	s.Bool(&c.Share, "share", "whether jobs share GPUs", "own choice")
	s.Bool(&c.Flex, "flex", "whether elastic jobs get other numbers of workers than they ask for", "own choice")
	s.Int(&c.Tries, "tries", 1, 100, "models of hosts that are tried for a job", "own choice: it bounds the time of a decision")
	s.Int(&c.Places, "places", 0, 1000, "racks, and sets of racks, that a start is compared on; 0 leaves the choice to bestfit",
		"own choice; on training windows of coupled worlds 4, 8 and 16 were alike")
	s.Bool(&c.Tune.Idle, "idle",
		"whether jobs that start also get memory that nobody uses, up to a GPU's part of it for each worker",
		"own choice: it helps where jobs ask for too little memory and speeds are not told")
	s.Gone("price", "patience", "urgency", "knee", "floor", "resize", "gain", "left")
	return &c
}
