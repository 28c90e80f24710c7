package elastic

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// stock is what Lyra can give out: unused GPUs, and the GPUs of the flexible workers of running jobs. It counts them by GPU
// type. It ignores fragmentation, which matters only when the scheduler places jobs.
type stock struct {
	types   gpuTypes
	whole   []int64 // free whole GPUs, by type
	part    []int64 // free thousandths of GPUs that are partly used, by type
	tenants Allowance
	kind    []int8 // by job index: the type of the GPUs that the job holds or is promised, or mixed, or untold
}

// mixed stands for GPUs of any types at once; untold is the kind of a job that has no GPUs yet.
const (
	mixed  = -1
	untold = -2
)

// count counts what is free.
func (k *stock) count(s *cluster.View, jobs []Job) {
	if len(k.whole) == 0 {
		k.types = newGPUTypes(s)
		k.whole, k.part = make([]int64, k.types.count()), make([]int64, k.types.count())
		k.tenants = Allowance{}
	}
	clear(k.whole)
	clear(k.part)
	clear(k.tenants)
	k.kind = k.kind[:0]
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
		k.put(v, cluster.WholeGPU, int64(s.FreeGPUs(v)))
		if !shares {
			continue
		}
		for _, used := range s.GPUUse(v) {
			if used > 0 {
				k.put(v, 1, cluster.WholeGPU-int64(used))
			}
		}
	}
}

// occupied returns the kind of a running job's GPUs, and adds the GPUs of its flexible workers to the stock.
func (k *stock) occupied(s *cluster.View, j *Job) int8 {
	if j.Now == 0 {
		return untold
	}
	p, base := s.Placement(j.ID), j.Base
	for i := range p {
		n := max(p[i].Workers-base, 0)
		base -= p[i].Workers - n
		k.put(p[i].Server, int64(p[i].GPUMilli), int64(n))
		k.tenants.Take(s, j.ID, -int64(n)*int64(p[i].GPUMilli))
	}
	if k.types.mixes(s.Spec(j.ID)) {
		return mixed
	}
	return k.types.of[p[0].Server]
}

// put adds n shares of the given size, on GPUs of a server, to the stock.
func (k *stock) put(v cluster.ServerID, milli, n int64) {
	if t := k.types.of[v]; milli < cluster.WholeGPU {
		k.part[t] += milli * n
	} else {
		k.whole[t] += n
	}
}

// quota returns how many thousandths of GPUs the job's tenant may still take.
func (k *stock) quota(s *cluster.View, j *Job) int64 { return max(k.tenants.Left(s, j.ID), 0) }

// milli returns the sum of all that is left, in thousandths of GPUs.
func (k *stock) milli() (total int64) {
	for t := range k.whole {
		total += k.whole[t]*cluster.WholeGPU + k.part[t]
	}
	return total
}

// fits returns how many workers fit on the GPUs of the type.
func (k *stock) fits(t int8, milli int64) int64 {
	if milli >= cluster.WholeGPU {
		return k.whole[t] * cluster.WholeGPU / milli
	}
	return (k.whole[t]*cluster.WholeGPU + k.part[t]) / milli
}

// deduct removes the GPUs of n such workers from the stock. Workers that take shares use up partly used GPUs first.
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

// admit takes a waiting job's base out of the stock and returns true if there is enough. It takes the first type that has
// enough, as the later placement will. A job that mixes types takes what there is of each.
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
	k.tenants.Take(s, j.ID, n*j.GPUMilli)
	return true
}

// extend gives a job up to n more workers and returns how many. It may be fewer, because the tenant may meanwhile have given its
// quota to other jobs.
func (k *stock) extend(s *cluster.View, j *Job, index, n int32) int32 {
	n = int32(min(int64(n), k.quota(s, j)/j.GPUMilli))
	if t := k.kind[index]; t == mixed {
		k.deductMixed(s, j, int64(n))
	} else {
		k.deduct(t, j.GPUMilli, int64(n))
	}
	k.tenants.Take(s, j.ID, int64(n)*j.GPUMilli)
	return n
}

// sum returns how many workers fit on the GPUs of all these types.
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

// room returns the capacity of the knapsack for GPUs of a kind, in thousandths. Partly used GPUs count if a job can use them.
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
