package pollux

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

func TestPollux(t *testing.T) {
	c := Default()
	linear := New(c)
	any := asked{base: 1, most: 8}
	c.Jobs = 2
	narrow := New(c)
	tell(t, []story{
		{name: "equal jobs share evenly", policy: linear, gpus: 8, jobs: []asked{any, any, any, any}, want: []int32{2, 2, 2, 2}},
		{name: "one job takes all that it can", policy: linear, gpus: 8, jobs: []asked{{base: 2, most: 6}}, want: []int32{6}},
		{name: "small jobs start before one that keeps several out", policy: linear, gpus: 4,
			jobs: []asked{{base: 4, most: 4}, {base: 1, most: 1}, {base: 2, most: 2}}, want: []int32{0, 1, 2}},
		{name: "a job that has just come does not change", policy: linear, gpus: 8,
			jobs: []asked{{base: 1, most: 8, now: 2}}, want: []int32{2}},
		{name: "an old one shrinks so that others can start", policy: linear, gpus: 8, age: time.Hour,
			jobs: []asked{{base: 1, most: 8, now: 8}, {base: 1, most: 1}, {base: 1, most: 1}}, want: []int32{6, 1, 1}},
		{name: "a quota bounds a job", policy: linear, gpus: 8, quota: 3,
			jobs: []asked{{base: 1, most: 8, tenant: "a"}, any}, want: []int32{3, 5}},
		{name: "jobs beyond the bound get their base, or keep what they have", policy: narrow, gpus: 8,
			jobs: []asked{
				{base: 1, most: 1}, {base: 1, most: 8, now: 1}, {base: 1, most: 8, now: 2}, {base: 1, most: 8, now: 2}, any,
			},
			want: []int32{1, 1, 2, 2, 1}},
	})
}

// TestPolluxPaysForChanges checks that a change costs a job that has run for an hour 30 s of it, and more after earlier changes.
func TestPolluxPaysForChanges(t *testing.T) {
	s, jobs := stand(t, cluster.Uniform(1, 8), []asked{{base: 1, most: 8, now: 2}})
	s.Advance(time.Hour)
	p := New(Default()).(*pollux)
	p.follow(&s.View, jobs)
	if got, want := p.penalty(&s.View, 0), 3600.0/3630; got != want {
		t.Errorf("factor %v, want %v", got, want)
	}
	jobs[0].Now = 3
	p.follow(&s.View, jobs)
	if got, want := p.penalty(&s.View, 0), 3570.0/3630; got != want {
		t.Errorf("after a change, factor %v, want %v", got, want)
	}
	jobs[0].Now = 2
	if got := wants(p, s, jobs); got[0] != 8 {
		t.Errorf("%d workers, want all 8", got[0])
	}
}

// TestPolluxMeans checks that the terms of speedups are those of their harmonic mean.
func TestPolluxMeans(t *testing.T) {
	sum := term(1-polluxFloor) + term(2-polluxFloor) + term(4-polluxFloor)
	if got, want := fitness(sum, 3), 3/(1+1/2.+1/4.); math.Abs(got-want) > 1e-12 {
		t.Errorf("mean %g, want %g", got, want)
	}
}

// searchOf returns a search over all jobs that is prepared and has not run.
func searchOf(p *pollux, s *cluster.State, jobs []elastic.Job) *search {
	p.follow(&s.View, jobs)
	left := newBudget(&s.View, jobs)
	left.keep(jobs)
	chosen, _ := p.choose(left, jobs)
	return newSearch(p, &s.View, left, chosen)
}

// TestPolluxAgainstAllAllocations checks that the result of the search is never worse than what runs now, never better than the
// best of all allocations, and mostly equal to the latter.
func TestPolluxAgainstAllAllocations(t *testing.T) {
	reached, cases := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		spec, list := drawStand(r)
		list = list[:min(len(list), 5)]
		s, jobs := stand(t, spec, list)
		s.Advance(time.Duration(rapid.IntRange(0, 1000).Draw(r, "age")) * time.Second)
		p := New(Default()).(*pollux)
		g := searchOf(p, s, jobs)
		if len(g.jobs) == 0 {
			return
		}
		plain := func(genes []int32) (sum float64, fits bool) { // sum of the terms
			used := int64(0)
			mine := make([]int64, len(g.quota))
			for i, k := range genes {
				e := &g.genes[i]
				sum += g.steps[g.at[i]+k].term
				used += int64(e.workers(k)) * e.milli
				if e.owner >= 0 {
					mine[e.owner] += int64(e.workers(k)) * e.milli
				}
			}
			fits = used <= g.room
			for i := range mine {
				fits = fits && mine[i] <= g.quota[i]
			}
			return sum, fits
		}
		genes := make([]int32, len(g.genes))
		for i := range genes {
			genes[i] = g.genes[i].now
		}
		now, fits := plain(genes)
		if !fits {
			r.Fatalf("what runs now does not fit: %v", genes)
		}
		best := math.Inf(-1)
		var try func(i int)
		try = func(i int) {
			if i < len(genes) {
				for genes[i] = g.genes[i].least; genes[i] <= g.genes[i].most; genes[i]++ {
					try(i + 1)
				}
				return
			}
			if sum, fits := plain(genes); fits {
				best = max(best, sum)
			}
		}
		try(0)
		g.run()
		got, fits := plain(g.alive[0].genes)
		if !fits || math.Abs(got-g.alive[0].sum) > 1e-6*math.Abs(got) {
			r.Fatalf("the result %v fits: %v, its terms add up to %g, want %g", g.alive[0].genes, fits, got, g.alive[0].sum)
		}
		if eps := 1e-9 * math.Abs(best); got < now-eps || got > best+eps {
			r.Fatalf("fitness %g, from %g, of at most %g", fitness(got, len(genes)), fitness(now, len(genes)),
				fitness(best, len(genes)))
		}
		cases++
		if got >= best-1e-9*math.Abs(best) {
			reached++
		}
	})
	t.Logf("the optimum was reached in %d of %d cases", reached, cases)
	if cases >= 50 && reached*10 < cases*8 {
		t.Errorf("the optimum was reached in %d of %d cases, want 8 of 10", reached, cases)
	}
}

// TestPolluxDrawsFromItsSeed checks that all random choices follow from the seed.
func TestPolluxDrawsFromItsSeed(t *testing.T) {
	var list []asked
	for i := range 40 {
		list = append(list, asked{base: 1 + int32(i%3), most: 20})
	}
	c := Default()
	c.Generations = 3
	results := map[int32]bool{}
	for seed := range uint64(5) {
		play := func() []int32 {
			s, jobs := stand(t, cluster.Uniform(40, 8), list)
			p := New(c)
			p.Reset(seed)
			return wants(p, s, jobs)
		}
		one, two := play(), play()
		if !slices.Equal(one, two) {
			t.Errorf("seed %d: %v, then %v", seed, one, two)
		}
		hash := int32(0)
		for _, w := range one {
			hash = hash*31 + w
		}
		results[hash] = true
	}
	if len(results) != 5 {
		t.Errorf("5 seeds gave %d allocations", len(results))
	}
}

// fitness returns the harmonic mean of n speedups from the sum of their terms.
func fitness(sum float64, n int) float64 { return -float64(n) / sum }
