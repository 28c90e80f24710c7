package control

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	soakFaults = flag.Int("soak", 2000, "the number of faults that TestSoak injects")
	soakSeed   = flag.Uint64("soak-seed", 1, "the seed of the faults of TestSoak")
)

// soakPiece is the number of faults after which a soak continues with a new cluster and the next seed, so that each failure can be
// repeated in seconds.
const soakPiece = 2000

// TestSoak injects random faults into an API server in memory, the objects that it stores, the clock and the program, and makes
// rounds. It checks the invariants of soakcheck_test.go at each write and after each round. Equal seeds give equal faults.
//
// The log lists the faults by kind. A fault in a request counts when it strikes.
func TestSoak(t *testing.T) {
	total, done := map[string]int{}, 0
	for seed := *soakSeed; done < *soakFaults; seed++ {
		synctest.Test(t, func(t *testing.T) {
			s := newSoak(t, seed)
			for s.struck < min(soakPiece, *soakFaults-done) && len(s.broken) == 0 {
				s.step()
			}
			done += s.struck
			s.drain()
			for kind, n := range s.counts {
				total[kind] += n
			}
			for _, text := range s.broken[:min(len(s.broken), 5)] {
				t.Errorf("seed %d, after %d faults: %s", seed, s.struck, text)
			}
		})
		if t.Failed() {
			break
		}
		if done%10000 < soakPiece {
			t.Logf("%d faults", done)
		}
	}
	if total["# gangs that ended"] == 0 {
		t.Error("no gang has ended")
	}
	var text strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(total)) {
		fmt.Fprintf(&text, "\n%8d %s", total[kind], kind)
	}
	t.Logf("%d faults, from seed %d:%s", done, *soakSeed, text.String())
}

// TestSoakRepeats checks that equal seeds give equal faults and equal writes.
func TestSoakRepeats(t *testing.T) {
	var counts []string
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			s := newSoak(t, 7)
			for s.struck < 300 {
				s.step()
			}
			s.drain()
			counts = append(counts, fmt.Sprint(s.counts))
		})
	}
	if counts[0] != counts[1] {
		t.Errorf("the same seed gave\n%s and\n%s", counts[0], counts[1])
	}
}

// step injects one fault, lets time pass, shows the program what has changed, and lets it make a round.
func (s *soak) step() {
	s.inject()
	passed := time.Duration(1+s.draw.IntN(20)) * time.Second
	time.Sleep(passed)
	s.tend()
	s.round()
}

// drain lets the program work without faults for a while, and checks that afterwards no gang is partly bound.
func (s *soak) drain() {
	s.troubles, s.lag, s.quiet = nil, 0, true
	s.repair()
	for range 240 {
		time.Sleep(10 * time.Second)
		s.tend()
		s.round()
	}
	for _, g := range s.gangs {
		if bound := s.bound(g); bound > 0 && bound < g.pods && len(s.broken) == 0 && s.since(g.half) > time.Minute {
			s.fault("%s has %d of %d pods bound, long after the last fault", g.key(), bound, g.pods)
		}
	}
	s.stop()
}
