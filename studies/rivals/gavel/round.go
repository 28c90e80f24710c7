package gavel

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// attempts is how often the scheduler plans a round because gangs that fit the totals of a type found no servers there. After
// that such a gang waits, even if other jobs were stopped for it. Own choice.
const attempts = 4

// round is the plan of one round.
type round struct {
	live   []cluster.JobID
	wants  []claim
	order  []cluster.JobID // the jobs that are to run, in the order in which they were chosen
	barred map[bar]bool    // claims for which search found no servers
	room   room
}

// claim is the claim of a job to run with an option.
type claim struct {
	job      cluster.JobID
	option   int
	fresh    bool // the job has never run
	priority float64
	share    float64
	submit   time.Duration
}

type bar struct {
	job    cluster.JobID
	option int
}

// compare orders claims: first jobs that have never run, by submission, then the others by priority.
func (a claim) compare(b claim) int {
	switch {
	case a.fresh != b.fresh:
		if a.fresh {
			return -1
		}
		return 1
	case a.fresh:
		return cmp.Or(cmp.Compare(a.submit, b.submit), cmp.Compare(a.job, b.job), cmp.Compare(b.share, a.share),
			cmp.Compare(a.option, b.option))
	}
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.submit, b.submit), cmp.Compare(a.job, b.job),
		cmp.Compare(a.option, b.option))
}

// slivers is the share below which a share is only rounding.
const slivers = 1e-6

// decide plans a round and carries it out.
func (p *gavel) decide(tx *cluster.Txn) error {
	s := tx.View()
	p.claim(s)
	clear(p.barred)
	mark := tx.Mark()
	for try := 1; ; try++ {
		p.choose(s)
		missed, err := p.apply(tx)
		if err != nil {
			return err
		}
		if missed && try < attempts {
			tx.Rollback(mark)
			continue
		}
		break
	}
	// Among the jobs that still wait, the one that has run the least part of its time comes first.
	p.waiting = append(p.waiting[:0], s.Pending()...)
	slices.SortFunc(p.waiting, func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(p.served(s, a), p.served(s, b)), cmp.Compare(s.Spec(a).Submit, s.Spec(b).Submit),
			cmp.Compare(a, b))
	})
	if err := p.fill(tx); err != nil {
		return err
	}
	for _, id := range p.live {
		p.know(s, id)
	}
	return nil
}

// served returns the fraction of its time that a job has run.
func (p *gavel) served(s *cluster.View, id cluster.JobID) float64 {
	j := p.jobs[id]
	return float64(j.total) / float64(s.Now()-j.seen+1)
}

// claim lists the claims of all live jobs.
func (p *gavel) claim(s *cluster.View) {
	p.live = append(append(p.live[:0], s.Pending()...), s.Running()...)
	for _, id := range p.live {
		p.know(s, id).count(s.Now())
	}
	if p.stale {
		p.allocate()
	}
	p.wants = p.wants[:0]
	for _, id := range p.live {
		j := p.jobs[id]
		class := p.kinds[j.kind].class
		if class < 0 {
			continue
		}
		for o, share := range p.share[class] {
			if share > slivers {
				age := float64(s.Now() - j.seen + p.every)
				p.wants = append(p.wants, claim{
					job: id, option: o, fresh: j.total == 0, share: share, submit: s.Spec(id).Submit,
					priority: share * age / float64(j.got[o]+p.every/2),
				})
			}
		}
	}
	slices.SortFunc(p.wants, claim.compare)
}

// choose picks an option for every job that is to run, by the totals of the types.
func (p *gavel) choose(s *cluster.View) {
	p.room.open(s, &p.market)
	p.order = p.order[:0]
	for _, id := range p.live {
		j := p.jobs[id]
		j.pick = -1
		if s.Phase(id) == cluster.Running && (s.NoPreemption() || s.Now() < j.until) {
			p.pick(s, id, j.on)
		}
	}
	for i := range p.wants {
		p.pick(s, p.wants[i].job, p.wants[i].option)
	}
	for _, id := range p.live {
		if s.Phase(id) == cluster.Running {
			p.pick(s, id, p.jobs[id].on)
		}
	}
}

// pick picks the option for the job if it has none yet and there is room.
func (p *gavel) pick(s *cluster.View, id cluster.JobID, option int) {
	j := p.jobs[id]
	if j.pick >= 0 || p.barred[bar{id, option}] {
		return
	}
	stays := s.Phase(id) == cluster.Running && j.on == option
	if p.room.take(s, &p.market, id, option, stays) {
		j.pick = option
		p.order = append(p.order, id)
	}
}

// apply stops, moves and starts jobs as chosen, and reports whether a job found no servers.
func (p *gavel) apply(tx *cluster.Txn) (missed bool, err error) {
	s := tx.View()
	changes := func(id cluster.JobID) bool { return s.Phase(id) == cluster.Running && !s.NoPreemption() }
	for _, id := range p.live {
		if changes(id) && p.jobs[id].pick < 0 {
			if err := tx.Preempt(id); err != nil {
				return false, err
			}
		}
	}
	for _, id := range p.order {
		j := p.jobs[id]
		if !changes(id) || j.pick == j.on {
			continue
		}
		if p.search(s, id, j.pick) && s.Placement(id).Workers() == s.Spec(id).Workers {
			err = tx.Migrate(id, p.fit)
		} else {
			err = tx.Preempt(id)
		}
		if err != nil {
			return false, err
		}
	}
	for _, id := range p.order {
		if s.Phase(id) != cluster.Pending {
			continue
		}
		if !p.search(s, id, p.jobs[id].pick) {
			if p.barred == nil {
				p.barred = map[bar]bool{}
			}
			p.barred[bar{id, p.jobs[id].pick}] = true
			missed = true
			continue
		}
		if err := tx.Place(id, p.fit); err != nil {
			return false, err
		}
	}
	return missed, nil
}

// fill starts waiting jobs on unused GPUs, each on the type with room where it is fastest.
func (p *gavel) fill(tx *cluster.Txn) error {
	s := tx.View()
	p.refused = append(p.refused[:0], make([]bool, len(p.kinds))...)
	left := p.waiting[:0]
	for _, id := range p.waiting {
		if s.Phase(id) != cluster.Pending {
			continue
		}
		if int(id) < len(p.jobs) && p.jobs[id] != nil && p.refused[p.jobs[id].kind] {
			left = append(left, id)
			continue
		}
		kind := p.know(s, id).kind
		if len(p.refused) < len(p.kinds) {
			p.refused = append(p.refused, make([]bool, len(p.kinds)-len(p.refused))...)
		}
		if p.refused[kind] || !p.somewhere(s, id) {
			p.refused[kind] = true
			left = append(left, id)
			continue
		}
		if err := tx.Place(id, p.fit); err != nil {
			return err
		}
		p.know(s, id)
	}
	p.waiting = left
	return nil
}

// somewhere searches for servers with any option, the fastest first.
func (p *gavel) somewhere(s *cluster.View, id cluster.JobID) bool {
	k := &p.kinds[p.jobs[id].kind]
	for tried := uint32(0); ; {
		best, most := -1, math.Inf(-1)
		for o, speed := range k.speed {
			if (k.mask&^tried)>>o&1 == 1 && speed > most {
				best, most = o, speed
			}
		}
		if best < 0 || p.search(s, id, best) {
			return best >= 0
		}
		tried |= 1 << best
	}
}
