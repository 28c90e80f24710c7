package pollux

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
)

// search is the genetic search of one allocation. A gene is the step of a job: step 0 is to wait, step k is to run with base+k-1
// workers. A running job never goes below step 1.
type search struct {
	*pollux
	jobs  []*elastic.Job
	genes []gene
	at    []int32 // index in steps of each job's step 0
	steps []step
	left  *budget
	room  int64   // thousandths of GPUs for all jobs together
	quota []int64 // thousandths of GPUs for each tenant that has a quota
	alive []allotment
}

// gene contains what the search needs to know about a job.
type gene struct {
	least, most int32 // in steps
	now         int32 // step before the search
	base, owner int32 // owner: index into quota, -1 for none
	milli       int64 // thousandths of a GPU per worker
}

// step is what a number of workers contributes to the sum of terms and to the GPUs that are held.
type step struct {
	term  float64
	milli int64
}

// allotment is an allocation: its genes, the sum of their terms, and what it leaves of room and quotas.
type allotment struct {
	genes []int32
	sum   float64
	free  int64
	quota []int64
}

// newSearch prepares the search. The budget left contains what there is beside the base of the running jobs.
func newSearch(p *pollux, s *cluster.View, left *budget, jobs []*elastic.Job) *search {
	g := &search{pollux: p, jobs: jobs, left: left, room: left.gpuMilli}
	owners := map[string]int32{}
	for _, j := range jobs {
		e := gene{base: j.Base, milli: max(j.GPUMilli, 1), owner: -1}
		e.most = max(min(j.Most, j.Want+left.fits(j)), j.Now, j.Base) - j.Base + 1
		if j.Now > 0 {
			e.least, e.now = 1, j.Now-j.Base+1
		}
		g.room += int64(j.Want) * e.milli
		if s.Quota(j.ID) >= 0 {
			tenant, known := s.Spec(j.ID).Tenant, false
			if e.owner, known = owners[tenant]; !known {
				e.owner = int32(len(g.quota))
				owners[tenant] = e.owner
				g.quota = append(g.quota, left.tenants.Left(s, j.ID))
			}
			g.quota[e.owner] += int64(j.Want) * e.milli
		}
		g.genes = append(g.genes, e)
	}
	for i := range g.genes {
		g.weigh(s, i)
	}
	return g
}

// weigh computes the steps of a job.
func (g *search) weigh(s *cluster.View, i int) {
	j, e := g.jobs[i], &g.genes[i]
	t := throughputOf(s, j.ID)
	share := g.room / int64(len(g.jobs)) / e.milli
	fair := t.at(int32(min(max(share, 1), int64(j.Most))))
	changed := 1.0
	if j.Now > 0 {
		changed = g.penalty(s, j.ID)
	}
	g.at = append(g.at, int32(len(g.steps)))
	g.steps = append(g.steps, step{term(0), 0})
	for k := int32(1); k <= e.most; k++ {
		speedup := t.at(e.workers(k)) / fair
		if k != e.now {
			speedup *= changed
		}
		g.steps = append(g.steps, step{term(speedup), int64(e.workers(k)) * e.milli})
	}
}

func (e *gene) workers(step int32) int32 {
	if step == 0 {
		return 0
	}
	return e.base + step - 1
}

// run sets Want of the jobs and subtracts what they get from the budget.
func (g *search) run() {
	if len(g.jobs) == 0 {
		return
	}
	g.populate()
	best, since := g.alive[0].sum, 0
	for range g.Generations {
		if g.Patience > 0 && since >= g.Patience {
			break
		}
		g.generation()
		since++
		if g.alive[0].sum > best {
			best, since = g.alive[0].sum, 0
		}
	}
	for i, j := range g.jobs {
		g.left.must(j, g.genes[i].workers(g.alive[0].genes[i])-j.Want)
	}
}

// populate makes the first allotments: what runs now, least demand, and mutants of the two. The second half of alive has room
// for the children of a generation.
func (g *search) populate() {
	n, q := len(g.jobs), len(g.quota)
	genes, quotas := make([]int32, 2*g.Population*n), make([]int64, 2*g.Population*q)
	g.alive = make([]allotment, 2*g.Population)
	for k := range g.alive {
		g.alive[k].genes, g.alive[k].quota = genes[k*n:(k+1)*n:(k+1)*n], quotas[k*q:(k+1)*q:(k+1)*q]
	}
	for k := range g.alive[:g.Population] {
		c := &g.alive[k]
		for i := range g.genes {
			if c.genes[i] = g.genes[i].now; k%2 == 1 {
				c.genes[i] = g.genes[i].least
			}
		}
		g.rate(c)
		if k%2 == 1 {
			g.fill(c, 0, func(int) int32 { return 1 })
		}
		if k > 1 {
			g.mutate(c)
		}
		g.trim(c)
	}
	best(g.alive[:g.Population])
}

// generation makes as many children as there are allotments, and keeps the better half of all.
func (g *search) generation() {
	for k := range g.Population {
		child, mother, father := &g.alive[g.Population+k], g.parent(), g.parent()
		cut := g.draw.IntN(len(g.jobs) + 1)
		copy(child.genes[:cut], mother.genes[:cut])
		copy(child.genes[cut:], father.genes[cut:])
		g.rate(child)
		g.mutate(child)
		g.trim(child)
		if child.free > 0 && g.draw.IntN(2) == 0 {
			g.fill(child, g.draw.IntN(len(g.jobs)), func(i int) int32 { return 1 + g.draw.Int32N(g.genes[i].most) })
		}
	}
	best(g.alive)
}

// best sorts the allotments, best first; among equals the older one is first.
func best(c []allotment) {
	slices.SortStableFunc(c, func(a, b allotment) int { return cmp.Compare(b.sum, a.sum) })
}

// parent returns the better of two allotments drawn at random.
func (g *search) parent() *allotment {
	return &g.alive[min(g.draw.IntN(g.Population), g.draw.IntN(g.Population))]
}

// rate computes the sum of terms of the genes, and what they leave free.
func (g *search) rate(c *allotment) {
	c.sum, c.free = 0, g.room
	for i, k := range c.genes {
		v := &g.steps[g.at[i]+k]
		c.sum += v.term
		c.free -= v.milli
	}
	if len(g.quota) == 0 {
		return
	}
	copy(c.quota, g.quota)
	for i, k := range c.genes {
		if e := &g.genes[i]; e.owner >= 0 {
			c.quota[e.owner] -= g.steps[g.at[i]+k].milli
		}
	}
}

// set changes gene i to the step to.
func (g *search) set(c *allotment, i int, to int32) {
	e := &g.genes[i]
	was, is := &g.steps[g.at[i]+c.genes[i]], &g.steps[g.at[i]+to]
	c.genes[i] = to
	c.sum += is.term - was.term
	c.free += was.milli - is.milli
	if e.owner >= 0 {
		c.quota[e.owner] += was.milli - is.milli
	}
}

// mutate draws the steps of a few jobs again. With a probability of one in ten, such a job goes back to its present step.
func (g *search) mutate(c *allotment) {
	n := len(g.jobs)
	for range 1 + g.draw.IntN(1+int(2*mutations*float64(n))) {
		i := g.draw.IntN(n)
		if e := &g.genes[i]; g.draw.IntN(10) == 0 {
			g.set(c, i, e.now)
		} else {
			g.set(c, i, e.least+g.draw.Int32N(e.most-e.least+1))
		}
	}
}

// trim makes an allotment feasible. Beginning at a random job, it takes flexible workers away; if that is not enough, it begins
// at another job and makes waiting jobs wait, until the rest fits.
func (g *search) trim(c *allotment) {
	n := len(g.jobs)
	for floor := int32(1); floor >= 0 && c.exceeds(); floor-- {
		for k, i := 0, g.draw.IntN(n); k < n && (c.free < 0 || len(c.quota) > 0); k, i = k+1, (i+1)%n {
			g.cut(c, i, floor)
		}
	}
}

// exceeds reports whether the allotment gives out more than there is, in total or to one tenant.
func (c *allotment) exceeds() bool {
	return c.free < 0 || slices.ContainsFunc(c.quota, func(milli int64) bool { return milli < 0 })
}

// cut takes from a job what the allotment gives out too much, but not below the step floor.
func (g *search) cut(c *allotment, i int, floor int32) {
	e, over := &g.genes[i], -c.free
	if e.owner >= 0 {
		over = max(over, -c.quota[e.owner])
	}
	low := max(floor, e.least)
	switch k := c.genes[i]; {
	case over <= 0 || k <= low:
	case k == 1:
		g.set(c, i, 0)
	default:
		g.set(c, i, max(low, 1, k-int32(min((over+e.milli-1)/e.milli, int64(k)))))
	}
}

// fill raises the jobs from the one at index from on, each to the step that want returns or as far as there is room.
func (g *search) fill(c *allotment, from int, want func(i int) int32) {
	n := len(g.jobs)
	for k, i := 0, from; k < n && c.free > 0; k, i = k+1, (i+1)%n {
		e := &g.genes[i]
		if c.genes[i] == e.most {
			continue
		}
		room := c.free
		if e.owner >= 0 {
			room = min(room, c.quota[e.owner])
		}
		had := e.workers(c.genes[i])
		more := int32(min(int64(e.workers(want(i))-had), max(room, 0)/e.milli))
		if more > 0 && had+more >= e.base {
			g.set(c, i, had+more-e.base+1)
		}
	}
}
