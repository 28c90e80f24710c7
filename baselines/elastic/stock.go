package elastic

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// stock is what Lyra hands out: GPUs that nobody uses, and those of workers beyond the base of running jobs. It is counted
// by type of GPU, or all together. It knows no fragments; these show when jobs are placed.
type stock struct {
	types   gpuTypes
	whole   []int64 // GPUs, by type
	part    []int64 // thousandths of GPUs of which others hold a part, by type
	tenants allowance
	kind    []int8  // of the GPUs that a job holds or is promised, by its index: a type, or mixed
	lent    float64 // GPUs on loan, counted together with the others
	cfg     LyraConfig
}

// mixed stands for GPUs of any types at once, untold for those of a job that has none yet.
const (
	mixed  = -1
	untold = -2
)

// count takes stock.
func (k *stock) count(s *cluster.View, jobs []Job, c LyraConfig) {
	if k.cfg = c; len(k.whole) == 0 {
		if k.types = newGPUTypes(s); c.Together {
			k.types = oneType(s)
		}
		k.whole, k.part = make([]int64, k.types.count()), make([]int64, k.types.count())
		k.tenants = allowance{}
	}
	clear(k.whole)
	clear(k.part)
	clear(k.tenants)
	k.kind, k.lent = k.kind[:0], 0
	shares := false
	for i := range jobs {
		shares = shares || jobs[i].GPUMilli < cluster.WholeGPU
		k.kind = append(k.kind, k.occupied(s, &jobs[i]))
	}
	for i := range s.Servers() {
		v := cluster.ServerID(i)
		if !s.Open(v) {
			continue
		}
		k.put(s, v, cluster.WholeGPU, int64(s.FreeGPUs(v)))
		if !shares {
			continue
		}
		for _, used := range s.GPUUse(v) {
			if used > 0 {
				k.put(s, v, 1, cluster.WholeGPU-int64(used))
			}
		}
	}
	k.whole[0] += int64(k.lent * k.cfg.Loaned)
}

// occupied returns the kind of a running job's GPUs and puts those beyond its base into stock.
func (k *stock) occupied(s *cluster.View, j *Job) int8 {
	if j.Now == 0 {
		return untold
	}
	p, base := s.Placement(j.ID), j.Base
	for i := range p {
		n := max(p[i].Workers-base, 0)
		base -= p[i].Workers - n
		k.put(s, p[i].Server, int64(p[i].GPUMilli), int64(n))
		k.tenants.take(s, j.ID, -int64(n)*int64(p[i].GPUMilli))
	}
	if k.types.mixes(s.Spec(j.ID)) {
		return mixed
	}
	return k.types.of[p[0].Server]
}

// put adds n shares of GPUs of a server.
func (k *stock) put(s *cluster.View, v cluster.ServerID, milli, n int64) {
	switch t := k.types.of[v]; {
	case milli < cluster.WholeGPU:
		k.part[t] += milli * n
	case k.cfg.Together && s.OnLoan(v):
		k.lent += float64(n)
	default:
		k.whole[t] += n
	}
}

// quota is how many thousandths of GPUs the job's tenant may still take.
func (k *stock) quota(s *cluster.View, j *Job) int64 { return max(k.tenants.left(s, j.ID), 0) }

// milli counts all that is left.
func (k *stock) milli() (total int64) {
	for t := range k.whole {
		total += k.whole[t]*cluster.WholeGPU + k.part[t]
	}
	return total
}

// fits counts the workers that GPUs of the type take.
func (k *stock) fits(t int8, milli int64) int64 {
	if milli >= cluster.WholeGPU {
		return k.whole[t] * cluster.WholeGPU / milli
	}
	return (k.whole[t]*cluster.WholeGPU + k.part[t]) / milli
}

// deduct takes n such workers' GPUs out of stock: parts of GPUs first, for those who can use them.
func (k *stock) deduct(t int8, milli, n int64) {
	if milli >= cluster.WholeGPU {
		k.whole[t] -= n * milli / cluster.WholeGPU
		return
	}
	k.part[t] -= n * milli
	if short := -k.part[t]; short > 0 {
		opened := (short + cluster.WholeGPU - 1) / cluster.WholeGPU
		k.whole[t] -= opened
		k.part[t] += opened * cluster.WholeGPU
	}
}

// admit takes a waiting job's base out of stock and reports true, if it is there: on the first type that has it, as the job
// will be placed. A job that mixes types takes what is there of each.
func (k *stock) admit(s *cluster.View, j *Job, index int32) bool {
	spec, n := s.Spec(j.ID), int64(j.Base)
	if n*j.GPUMilli > k.quota(s, j) {
		return false
	}
	allowed := k.types.allowed(s, j.ID)
	if k.types.mixes(spec) {
		if k.sum(j.GPUMilli, allowed) < n {
			return false
		}
		k.kind[index] = mixed
		k.deductMixed(s, j, n)
	} else {
		order := k.types.training
		if j.Loan {
			order = k.types.loan
		}
		for _, t := range order {
			if k.kind[index] == untold && allowed>>t&1 == 1 && k.fits(t, j.GPUMilli) >= n {
				k.kind[index] = t
				k.deduct(t, j.GPUMilli, n)
			}
		}
	}
	if k.kind[index] == untold {
		return false
	}
	k.tenants.take(s, j.ID, n*j.GPUMilli)
	return true
}

// extend gives a job up to n more workers and returns how many: its tenant may have given its GPUs to others meanwhile.
func (k *stock) extend(s *cluster.View, j *Job, index, n int32) int32 {
	n = int32(min(int64(n), k.quota(s, j)/j.GPUMilli))
	if t := k.kind[index]; t == mixed {
		k.deductMixed(s, j, int64(n))
	} else {
		k.deduct(t, j.GPUMilli, int64(n))
	}
	k.tenants.take(s, j.ID, int64(n)*j.GPUMilli)
	return n
}

// sum counts the workers that GPUs of all these types take.
func (k *stock) sum(milli int64, types uint16) (n int64) {
	for t := range k.whole {
		if types>>t&1 == 1 {
			n += k.fits(int8(t), milli)
		}
	}
	return n
}

func (k *stock) deductMixed(s *cluster.View, j *Job, n int64) {
	allowed := k.types.allowed(s, j.ID)
	for _, t := range k.types.training {
		if allowed>>t&1 == 1 {
			m := min(n, k.fits(t, j.GPUMilli))
			k.deduct(t, j.GPUMilli, m)
			n -= m
		}
	}
}

// room is the capacity of the knapsack for GPUs of a kind, in thousandths; parts of GPUs count where some job can use them.
func (k *stock) room(kind int8, shares bool) (milli int64) {
	for t := range k.whole {
		if kind == mixed || int(kind) == t {
			milli += k.whole[t] * cluster.WholeGPU
			if shares {
				milli += k.part[t]
			}
		}
	}
	return milli
}
