package cluster

import (
	"slices"
	"strings"
)

// ledger is what is in use, recomputed from only the placements, the failed GPUs and the limits.
type ledger struct {
	s        *State
	used     [][]int32 // thousandths in use by server and GPU; WholeGPU for a failed GPU
	sharers  [][]int32 // workers by server and GPU
	gpuMem   [][]int32 // MiB in use by server and GPU
	cpu, mem []int64   // free, by server
	jobs     [][]JobID // by server
	held     map[string]int64
}

// recount computes the ledger of all jobs except one, or of all jobs if without is -1.
func recount(s *State, without JobID) *ledger {
	n := s.Servers()
	l := &ledger{
		s, make([][]int32, n), make([][]int32, n), make([][]int32, n), make([]int64, n), make([]int64, n), make([][]JobID, n),
		map[string]int64{},
	}
	for i := range l.used {
		v := s.Server(ServerID(i))
		l.used[i], l.sharers[i], l.gpuMem[i] = make([]int32, v.GPUs), make([]int32, v.GPUs), make([]int32, v.GPUs)
		l.cpu[i], l.mem[i] = v.CPUMilli, v.MemMiB
		for g := range v.GPUs {
			if s.Failed(ServerID(i), g) {
				l.used[i][g] = WholeGPU
			}
		}
	}
	for i := range s.Jobs() {
		id := JobID(i)
		if id == without {
			continue
		}
		gpus := s.GPUs(id)
		for _, p := range s.Placement(id) {
			for range p.Workers {
				l.used[p.Server][gpus[0]] += p.GPUMilli
				l.sharers[p.Server][gpus[0]]++
				l.gpuMem[p.Server][gpus[0]] += p.GPUMemMiB
				gpus = gpus[1:]
				l.cpu[p.Server] -= int64(p.CPUMilli)
				l.mem[p.Server] -= int64(p.MemMiB)
				l.held[s.Spec(id).Tenant] += int64(p.GPUMilli)
			}
			l.jobs[p.Server] = append(l.jobs[p.Server], id)
		}
	}
	return l
}

// open reports whether a server is up and serves training.
func (l *ledger) open(id ServerID) bool {
	return !l.s.Down(id) && (l.s.Server(id).Pool == Training || l.s.OnLoan(id))
}

// left returns how much a tenant may still take, in thousandths of a GPU.
func (l *ledger) left(tenant string) (milli int64, bound bool) {
	for _, q := range l.s.tenants {
		if q.name == tenant {
			return q.limit - l.held[tenant], true
		}
	}
	return Unlimited, false
}

// takes returns how many workers a server could take, counted one by one.
func (l *ledger) takes(id ServerID, j *JobSpec, a Amount) int32 {
	v := l.s.Server(id)
	will := j.GPUType == "" || v.GPUType == "" || slices.Contains(strings.Split(j.GPUType, "|"), v.GPUType)
	if !l.open(id) || !will || j.Where != nil && !j.Where.Has(id) {
		return 0
	}
	n, cpu, mem := int32(0), l.cpu[id], l.mem[id]
	quota, _ := l.left(j.Tenant)
	for g, u := range l.used[id] {
		share := u+a.GPUMilli <= WholeGPU && l.sharers[id][g] < l.s.servers[id].perGPU
		memory := v.GPUMemMiB == 0 || l.gpuMem[id][g]+a.GPUMemMiB <= v.GPUMemMiB
		if share && memory && cpu >= int64(a.CPUMilli) && mem >= int64(a.MemMiB) && quota >= int64(a.GPUMilli) {
			n, cpu, mem, quota = n+1, cpu-int64(a.CPUMilli), mem-int64(a.MemMiB), quota-int64(a.GPUMilli)
		}
	}
	for n%j.Together() != 0 {
		n--
	}
	return n
}

func (l *ledger) idle(id ServerID) int32 {
	n := int32(0)
	for _, u := range l.used[id] {
		if u == 0 {
			n++
		}
	}
	return n
}

// free returns the number of idle GPUs on open servers.
func (l *ledger) free() int64 {
	n := int64(0)
	for _, v := range serverIDs(l.s) {
		if l.open(v) {
			n += int64(l.idle(v))
		}
	}
	return n
}

// total returns the capacity of the open servers, added GPU by GPU.
func (l *ledger) total() (t Total) {
	for _, v := range serverIDs(l.s) {
		if !l.open(v) {
			continue
		}
		spec := l.s.Server(v)
		for g := range spec.GPUs {
			if !l.s.Failed(v, g) {
				t.GPUMilli += WholeGPU
			}
		}
		t.CPUMilli, t.MemMiB = min(t.CPUMilli+spec.CPUMilli, Unlimited), min(t.MemMiB+spec.MemMiB, Unlimited)
	}
	return t
}

// lent returns the number of servers on loan.
func (l *ledger) lent() int32 {
	n := int32(0)
	for _, v := range serverIDs(l.s) {
		if l.s.OnLoan(v) {
			n++
		}
	}
	return n
}

// crossing returns the running jobs with workers both in the rack and elsewhere.
func (l *ledger) crossing(rack int32) (jobs []JobID) {
	for i := range l.s.Jobs() {
		in, out := false, false
		for _, p := range l.s.Placement(JobID(i)) {
			here := l.s.Server(p.Server).Rack == rack
			in, out = in || here, out || !here
		}
		if in && out {
			jobs = append(jobs, JobID(i))
		}
	}
	return jobs
}

// typesOf returns the number of GPU types that a placement uses.
func typesOf(s *State, p Placement) int {
	types := map[string]bool{}
	for _, q := range p {
		types[s.Server(q.Server).GPUType] = true
	}
	return len(types)
}

// allows reports whether a placement is feasible, by plain loops. It ignores the pieces of the job without, -1 for none.
func allows(s *State, id JobID, p Placement, without JobID) bool {
	l, spec := recount(s, without), s.Spec(id)
	gang, seen := int32(0), map[ServerID]bool{}
	for _, q := range p {
		if q.Server < 0 || int(q.Server) >= s.Servers() || seen[q.Server] {
			return false
		}
		if q.Workers < 1 || q.GPUMilli < 1 || q.GPUMilli > 1000 || q.CPUMilli < 0 || q.MemMiB < 0 {
			return false
		}
		if q.GPUMemMiB < spec.Request.GPUMemMiB || q.Workers%spec.Together() != 0 || l.takes(q.Server, spec, q.Amount) < q.Workers {
			return false
		}
		seen[q.Server] = true
		gang += q.Workers
	}
	quota, _ := l.left(spec.Tenant)
	return gang >= spec.Least() && gang <= spec.Most() && p.GPUMilli() <= quota && (spec.Mixed || typesOf(s, p) <= 1)
}

// gangs returns the sets of servers from which a gang may choose: all servers for a Mixed job, otherwise the servers of each GPU
// type, in the order of the servers.
func gangs(s *State, spec *JobSpec) (sets [][]ServerID) {
	if spec.Mixed {
		return [][]ServerID{serverIDs(s)}
	}
	at := map[string]int{}
	for _, v := range serverIDs(s) {
		name := s.Server(v).GPUType
		if _, known := at[name]; !known {
			at[name] = len(sets)
			sets = append(sets, nil)
		}
		sets[at[name]] = append(sets[at[name]], v)
	}
	return sets
}

// room is View.Room by plain loops.
func room(s *State, id JobID, a Amount) (fits []int32, total int64) {
	l, spec := recount(s, -1), s.Spec(id)
	fits = make([]int32, s.Servers())
	sets := gangs(s, spec)
	for _, set := range sets {
		sum := int64(0)
		for _, v := range set {
			fits[v] = l.takes(v, spec, a)
			sum += int64(fits[v])
		}
		if len(sets) > 1 && sum < int64(spec.Workers) {
			for _, v := range set {
				fits[v] = 0
			}
		}
		total = max(total, sum)
	}
	quota, _ := l.left(spec.Tenant)
	return fits, min(total, quota/int64(a.GPUMilli))
}

// bestFit is View.bestFit by plain loops over all servers, one GPU type after the other: it places n workers that each hold the
// amount hold and need room for the amount need.
func bestFit(s *State, id JobID, n int32, hold, need Amount) (Placement, bool) {
	l, spec := recount(s, -1), s.Spec(id)
	if quota, _ := l.left(spec.Tenant); int64(n)*int64(hold.GPUMilli) > quota {
		return nil, false
	}
	for _, set := range gangs(s, spec) {
		if p, fits := l.bestFit(spec, set, n, hold, need); fits {
			return p, true
		}
	}
	return nil, false
}

func (l *ledger) bestFit(spec *JobSpec, set []ServerID, left int32, hold, need Amount) (Placement, bool) {
	var p Placement
	used := map[ServerID]bool{}
	for left > 0 {
		best, whole := ServerID(-1), false
		for _, v := range set {
			fits := l.takes(v, spec, need)
			if fits == 0 || used[v] {
				continue
			}
			switch all := fits >= left; {
			case best < 0, all && !whole, all && whole && l.idle(v) < l.idle(best), !all && !whole && l.idle(v) > l.idle(best):
				best, whole = v, all
			}
		}
		if best < 0 {
			return nil, false
		}
		used[best] = true
		n := min(left, l.takes(best, spec, need))
		p, left = append(p, Piece{best, n, hold}), left-n
	}
	return p, true
}
