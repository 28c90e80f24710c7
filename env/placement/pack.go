package placement

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// pack lets two jobs with equal numbers of GPUs share them if profiles say that they hardly slow each other down (the sharing of
// Lucid; Hu et al., ASPLOS 2023: at most two jobs per GPU, equal numbers of GPUs, only mild pairs). A job goes to unused GPUs
// while there are any, where BestFit puts it. If a smaller share of the GPU does not slow it down, it takes only a share, so
// that a second job can join later. If no unused GPUs are left, the job joins the best of the partners tried that passes the
// thresholds. Where a smaller share slows jobs down, as under ideal physics, pack equals BestFit.
//
// Lucid scores jobs by their GPU utilisation; pack asks the profile for the speeds of both. If estimates exist, a job joins only
// a partner that has at least as long to go, so that short jobs run beside long ones and do not wait for them.
type pack struct {
	PackConfig
	bench    bench
	partners partners
	trial    trial
	fit      cluster.Placement
	gpus     []int32
	guest    []int32
}

// PackConfig are the options of Pack. Lucid's thresholds refer to a score of its own, so all numbers are own choices: of the few
// settings tried on training windows none was clearly better.
type PackConfig struct {
	MinSum     float64 // least sum of both speeds, each relative to the speed alone: 1 (sharing gains nothing) to 2
	MinOwn     float64 // least relative speed of the job that joins
	MinPartner float64 // least relative speed of the job that it joins
	Shorter    bool    // join only a partner with at least as long to go, where estimates exist
	Trim       bool    // jobs hold the least CPU and memory that is as fast as what they asked for, so that two fit
	Tries      int     // number of kinds of partners that are tried for a job
}

// DefaultPack returns the default options of Pack.
func DefaultPack() PackConfig {
	return PackConfig{MinSum: 1.2, MinOwn: 0.5, MinPartner: 0.6, Shorter: true, Trim: true, Tries: 8}
}

// NewPack returns the placer pack.
func NewPack(c PackConfig) Placer {
	p := &pack{PackConfig: c}
	p.Reset(0)
	return p
}

// Reset implements Placer.
func (p *pack) Reset(uint64) {
	p.bench.reset(1, 1)
	p.partners.reset()
}

// Kind implements Placer.
func (*pack) Kind(s *cluster.View, id cluster.JobID) Kind { return tuned(s, id) }

// Place implements Placer.
func (p *pack) Place(tx *cluster.Txn, id cluster.JobID) (bool, error) {
	s := tx.View()
	want := s.Spec(id).Request
	r, err := p.bench.of(s, id)
	if err != nil {
		return false, err
	}
	p.partners.refresh(tx)
	var fits bool
	if p.fit, fits = s.BestFit(id, p.fit[:0]); !fits {
		if p.fit = p.fit[:0]; want.GPUMilli < cluster.WholeGPU || !r.sliced {
			return false, nil
		}
		if err := p.search(tx, id, p.amount(want, r)); err != nil || len(p.fit) == 0 {
			return false, err
		}
	} else if want.GPUMilli == cluster.WholeGPU && r.sliced {
		Alone(s, p.fit)
	}
	for i := range p.fit {
		p.fit[i].CPUMilli, p.fit[i].MemMiB = p.amount(want, r).CPUMilli, p.amount(want, r).MemMiB
	}
	if err := tx.Place(id, p.fit); err != nil {
		return false, err
	}
	p.partners.started(tx, id)
	return true, nil
}

// amount returns the CPU and memory of each worker.
func (p *pack) amount(want cluster.Amount, r *response) cluster.Amount {
	if p.Trim {
		return r.lean
	}
	return want
}

// search writes the best placement beside a partner into fit; each worker gets the amount a. It leaves fit empty if no partner
// passes the thresholds.
func (p *pack) search(tx *cluster.Txn, id cluster.JobID, a cluster.Amount) error {
	s := tx.View()
	left, known := s.Remaining(id)
	best := p.MinSum
	return p.partners.each(s, id, s.Spec(id).Workers, a, true, p.Tries, func(h host, at cluster.Placement) (float64, error) {
		if p.Shorter && known && h.left > 0 && left > h.left {
			return 2, nil // no measurement: this says nothing about other pairs of these models
		}
		p.gpus = append(p.gpus[:0], s.GPUs(h.job)...)
		least, mark := 1.0, tx.Mark()
		own, ok, err := p.trial.try(tx, id, at)
		if !ok || err != nil {
			return 2, err
		}
		for _, h := range p.trial.harms {
			least = min(least, h.after/h.before)
		}
		if err := tx.Place(id, at); err != nil {
			return 0, err
		}
		p.guest = append(p.guest[:0], s.GPUs(id)...)
		if err := tx.Suppose(&cluster.Proposal{Kind: cluster.OpPreempt, Job: h.job}); err != nil {
			return 0, err
		}
		own /= Profile(s).Speed(s, id)
		tx.Rollback(mark)
		slices.Sort(p.gpus)
		slices.Sort(p.guest)
		if sum := own + least; slices.Equal(p.gpus, p.guest) && sum >= best && own >= p.MinOwn && least >= p.MinPartner {
			best = sum
			p.fit = append(p.fit[:0], at...)
		}
		return own + least, nil
	})
}
