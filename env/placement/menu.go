package placement

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Menu gives a job the amounts and the number of workers that it predicts to be best for the sum of completion times. It chooses
// from the same menu as learned policies:
//
//   - GPUs: unused GPUs, of which the job takes only a share if its speed does not suffer, so that another job can join; or
//     what a running job leaves of its GPUs
//   - CPU and memory: the amounts of Tune
//   - workers of an elastic job: as requested, the fewest, twice as many, the most
//   - with Places, where: each type of GPU, several racks and, for a gang, several sets of racks
//
// The cost of a choice, in seconds, is
//
//	run·(1 + price·GPUs) + Σ over the jobs that it slows down: delay·(1 + price·their GPUs)
//
// where GPUs counts the unused GPUs that the job takes, and price = Price·(other waiting jobs)/(GPUs of the cluster). The jobs
// that it slows down are those on the same GPUs and, by the physics, those that share an uplink or the power of a rack with it.
// Menu takes the cheapest choice, unless it estimates that waiting for running jobs to end is cheaper still: waiting for unused
// GPUs, or, for a gang that would have to spread over more servers than necessary, for fewer servers; with Places also, for a
// gang that would have to spread over several racks, for one rack. Menu assumes that a job without an estimate has an hour of
// work left.
type Menu struct {
	MenuConfig
	tune     *Tune
	partners partners
	trial    trial
	ends     ends
	places   places
	gpus     float64 // of the cluster
	best     choice
	fit      cluster.Placement
}

// MenuConfig are the options of Menu, all own choices. On training windows of venus and philly, Wait, Amounts, Share and Flex
// mattered; the values of the numbers hardly did.
type MenuConfig struct {
	Tune     TuneConfig
	Price    float64 // of a GPU, from 0; 1 is the value in fluid theory
	Patience float64 // factor on the expected wait for GPUs in the cost of waiting
	Urgency  float64 // factor on the time waited so far in the cost of waiting
	Wait     bool    // whether a gang that fits only on more servers, or with Places racks, than necessary may wait
	Amounts  bool    // whether jobs get other amounts of CPU and memory than requested
	Share    bool    // whether jobs share GPUs
	Flex     bool    // whether elastic jobs get other numbers of workers than requested
	Tries    int     // number of kinds of running jobs that Menu tries as partners for a job
	Places   int     // number of racks, and of sets of racks, that Menu tries for a job; 0 leaves the choice to BestFit
}

// DefaultMenu returns the default options of Menu.
func DefaultMenu() MenuConfig {
	tune := DefaultTune()
	tune.Reserve = 0 // better than 1 on most training windows of philly, no different on those of venus
	return MenuConfig{
		Tune: tune, Price: 0.1, Patience: 1, Urgency: 0.3, Wait: true, Amounts: true, Share: true, Flex: true, Tries: 4,
	}
}

// NewMenu returns the placer Menu.
func NewMenu(c MenuConfig) *Menu {
	m := &Menu{MenuConfig: c, tune: NewTune(c.Tune)}
	m.Reset(0)
	return m
}

// Reset implements Placer.
func (m *Menu) Reset(seed uint64) {
	m.tune.Reset(seed)
	m.partners.reset()
	m.gpus = 0
}

// Kind implements Placer.
func (*Menu) Kind(s *cluster.View, id cluster.JobID) Kind { return Flexible(s, id) }

// choice is the best placement so far.
type choice struct {
	fit  cluster.Placement
	cost float64 // seconds
}

// Place implements Placer.
func (m *Menu) Place(tx *cluster.Txn, id cluster.JobID) (bool, error) {
	s := tx.View()
	if m.partners.refresh(tx) {
		m.ends.known = false
		m.count(s)
	}
	own, r, err := m.find(tx, id)
	if err != nil {
		return false, err
	}
	c := m.caseOf(s, id, r)
	flex, share := m.Flex && c.spec.Least() < c.spec.Most(), m.Share && r.sliced
	if own == nil && !flex && !share {
		return false, nil // it waits, whatever that costs: there is nothing to choose
	}
	m.best = choice{m.best.fit[:0], math.Inf(1)}
	if own == nil || m.Wait && spread(s, own) && len(s.Running()) > 0 {
		if wait := m.ends.wait(s, c.spec.Workers); own == nil || wait > 0 {
			m.best.cost = m.waiting(s, &c, wait)
		}
	}
	if own != nil {
		if err := m.compare(tx, &c, own, c.spec.Workers); err != nil {
			return false, err
		}
	}
	if flex {
		if err := m.resized(tx, &c); err != nil {
			return false, err
		}
	}
	if share {
		if err := m.shared(tx, &c); err != nil {
			return false, err
		}
	}
	if len(m.best.fit) == 0 {
		return false, nil
	}
	if m.awaitsRack(s, &c) {
		return false, nil
	}
	if err := tx.Place(id, m.best.fit); err != nil {
		return false, err
	}
	m.partners.started(tx, id)
	m.ends.started(s, m.best.fit)
	return true, nil
}

// find returns a placement of the job on unused GPUs, nil if there is none, and the response of its speed to amounts.
func (m *Menu) find(tx *cluster.Txn, id cluster.JobID) (cluster.Placement, *response, error) {
	if m.Amounts {
		return m.tune.find(tx, id)
	}
	s := tx.View()
	var fits bool
	if m.fit, fits = s.BestFit(id, m.fit[:0]); !fits {
		m.fit = nil
	}
	r, err := m.tune.bench.of(s, id)
	return m.fit, r, err
}

// amount returns the CPU and memory that each worker gets when the job starts.
func (m *Menu) amount(c *waiter) cluster.Amount {
	if m.Amounts {
		return c.response.lean
	}
	return c.spec.Request
}

// Finish implements finisher.
func (m *Menu) Finish(tx *cluster.Txn) error {
	if !m.Amounts {
		return nil
	}
	return m.tune.Finish(tx)
}

func (m *Menu) count(s *cluster.View) {
	if m.gpus == 0 {
		for i := range s.Servers() {
			m.gpus += float64(s.Server(cluster.ServerID(i)).GPUs)
		}
	}
}

// waiting returns the cost of waiting until GPUs are free, wait seconds from now. It grows with the time that the job has
// waited.
func (m *Menu) waiting(s *cluster.View, c *waiter, wait float64) float64 {
	if c.left == 0 || math.IsInf(wait, 1) {
		wait = c.work
	}
	return c.cost(c.work/c.response.fair, c.workers) + m.Patience*wait + m.Urgency*waited(s, c.id).Seconds()
}

// awaitsRack reports whether a gang whose best placement uses several racks had better wait for a rack that takes it whole.
func (m *Menu) awaitsRack(s *cluster.View, c *waiter) bool {
	if m.Places == 0 || !m.Wait || len(s.Running()) == 0 || !s.Crosses(m.best.fit) {
		return false
	}
	wait := m.ends.rack(s, c.id, m.best.fit)
	return wait > 0 && !math.IsInf(wait, 1) && m.waiting(s, c, wait) < m.best.cost
}

// waiter is the job that Menu is placing.
type waiter struct {
	id       cluster.JobID
	spec     *cluster.JobSpec
	response *response
	left     time.Duration // by the estimate; 0 without one
	work     float64       // seconds
	workers  float64
	price    float64 // of a GPU, relative to a second of run time
}

func (m *Menu) caseOf(s *cluster.View, id cluster.JobID, r *response) waiter {
	c := waiter{id: id, spec: s.Spec(id), response: r, work: time.Hour.Seconds()}
	if left, known := s.Remaining(id); known {
		c.left = max(left, time.Second)
		c.work = c.left.Seconds()
	}
	c.workers = c.spec.GPUs()
	c.price = m.Price * float64(len(s.Pending())-1) / m.gpus
	return c
}

// cost returns the cost of holding so many GPUs for so many seconds.
func (c *waiter) cost(seconds, gpus float64) float64 { return seconds * (1 + c.price*gpus) }

// consider makes a placement on unused GPUs the best choice if it costs less than the best so far.
func (m *Menu) consider(tx *cluster.Txn, c *waiter, p cluster.Placement) error {
	s := tx.View()
	if m.Share && c.response.sliced && c.spec.Request.GPUMilli == cluster.WholeGPU {
		Alone(s, p)
	}
	_, err := m.measure(tx, c, p, float64(p.Workers())*float64(c.spec.Request.GPUMilli)/cluster.WholeGPU)
	return err
}

// measure does the same for any placement; gpus is the number of unused GPUs that it takes. It returns how well the job and
// those beside it run: the product of all their speeds relative to their speeds without the other, above 0.
func (m *Menu) measure(tx *cluster.Txn, c *waiter, p cluster.Placement, gpus float64) (float64, error) {
	s, delay := tx.View(), 0.0
	v, ok, err := m.trial.try(tx, c.id, p)
	if err != nil || !ok {
		return 1, err
	}
	seconds, fit := c.work/v, v/c.response.fair
	for _, h := range m.trial.harms {
		overlap := seconds
		if s.Knows(h.job) && c.left > 0 {
			overlap = min(overlap, max((s.ExpectedFinish(h.job)-s.Now()).Seconds(), 1)*h.before/h.after)
		}
		fit *= h.after / h.before
		delay += c.cost(overlap*(1-h.after/h.before), s.Placement(h.job).GPUs())
	}
	if cost := c.cost(seconds, gpus) + delay; cost < m.best.cost {
		m.best = choice{append(m.best.fit[:0], p...), cost}
	}
	return fit, nil
}

// compare considers a placement on unused GPUs and, with Places, other places for as many workers.
func (m *Menu) compare(tx *cluster.Txn, c *waiter, p cluster.Placement, workers int32) error {
	if err := m.consider(tx, c, p); err != nil || m.Places == 0 {
		return err
	}
	return m.places.each(tx.View(), c.id, workers, m.amount(c), m.Places, func(at cluster.Placement) error {
		return m.consider(tx, c, at)
	})
}

// resized considers placements with other numbers of workers.
func (m *Menu) resized(tx *cluster.Txn, c *waiter) error {
	s := tx.View()
	sizes := [...]int32{c.spec.Least(), 2 * c.spec.Workers, c.spec.Most()}
	for i, n := range sizes {
		if n == c.spec.Workers || n > c.spec.Most() || slices.Contains(sizes[:i], n) {
			continue
		}
		var fits bool
		if m.fit, fits = s.BestFitAlone(c.id, n, m.amount(c), m.fit[:0]); fits {
			if err := m.compare(tx, c, m.fit, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// shared considers the GPUs of running jobs that hold only a share of them, and unused GPUs for a job that asked for a share.
func (m *Menu) shared(tx *cluster.Txn, c *waiter) error {
	s := tx.View()
	if c.spec.Request.GPUMilli < cluster.WholeGPU {
		var fits bool
		if m.fit, fits = s.BestFitAlone(c.id, c.spec.Workers, m.amount(c), m.fit[:0]); fits {
			Alone(s, m.fit)
			if _, err := m.measure(tx, c, m.fit, float64(c.spec.Workers)); err != nil {
				return err
			}
		}
	}
	return m.partners.each(s, c.id, c.spec.Workers, m.amount(c), false, m.Tries,
		func(h host, at cluster.Placement) (float64, error) { return m.measure(tx, c, at, 0) })
}
