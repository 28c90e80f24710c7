package placement

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// pack lets two jobs of equally many GPUs share these where profiles say that they hardly disturb each other (the sharing of
// Lucid; Hu et al., ASPLOS 2023: at most two jobs a GPU, equal numbers of GPUs, only mild pairs). A job goes to GPUs of its own
// while there are any, where BestFit puts it, with a share that admits a guest if a share is no cap to it; else beside the best
// of the partners that are tried, if one passes the thresholds. Where sharing caps, as under ideal physics, it is BestFit.
//
// Lucid scores jobs by their utilisation of GPUs; here the profile is asked for the speeds of both. With estimates, a job joins
// only a partner that has as long to go or longer, so that short ones pass by long ones and not the other way round.
type pack struct {
	PackConfig
	bench    bench
	partners partners
	trial    trial
	fit      cluster.Placement
	gpus     []int32
	guest    []int32
}

// PackConfig are the options of Pack. Lucid's thresholds are on its own score; all numbers are own choices: of a
// few settings tried on training windows none was clearly better.
type PackConfig struct {
	MinSum     float64 // of the speeds of both, relative to what each had alone: from 1, where sharing brings nothing, to 2
	MinOwn     float64 // of the speed of the job that joins
	MinPartner float64 // of the speed of the one that it joins
	Shorter    bool    // only beside a partner that has as long to go or longer, where estimates tell
	Trim       bool    // jobs hold the least CPU and memory that is as fast as what they asked for, so that two find room
	Tries      int     // models of partners that are tried for a job
}

// DefaultPack returns Pack's defaults.
func DefaultPack() PackConfig {
	return PackConfig{MinSum: 1.2, MinOwn: 0.5, MinPartner: 0.6, Shorter: true, Trim: true, Tries: 8}
}

// NewPack returns the placer.
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
func (*pack) Kind(s *cluster.View, id cluster.JobID) Kind {
	return Kind{Shape: s.Shape(id), Model: s.Spec(id).Model}
}

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

// amount is what a worker gets of CPU and memory.
func (p *pack) amount(want cluster.Amount, r *response) cluster.Amount {
	if p.Trim {
		return r.lean
	}
	return want
}

// search puts the best placement beside a partner into fit, each worker holding the amount.
func (p *pack) search(tx *cluster.Txn, id cluster.JobID, a cluster.Amount) error {
	s := tx.View()
	left, known := s.Remaining(id)
	best := p.MinSum
	return p.partners.each(s, id, s.Spec(id).Workers, a, true, p.Tries, func(h host, at cluster.Placement) (float64, error) {
		if p.Shorter && known && h.left > 0 && left > h.left {
			return 2, nil // says nothing of the pair
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
		p.guest = append(p.guest[:0], s.GPUs(id)...)
		if err := tx.Preempt(h.job); err != nil {
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
