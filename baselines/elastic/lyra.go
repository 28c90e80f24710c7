package elastic

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// NewLyra returns the allocation of Lyra (Li et al., EuroSys 2023, §5.2), which has two phases. The first phase gives GPUs to
// waiting jobs, shortest first: all workers of a job that is not elastic, the base of one that is. It passes over a job that
// does not fit. The flexible workers of running jobs count as free, so running jobs shrink for waiting ones. The second phase
// gives what is left to flexible workers so that the sum of the times saved is the largest: a multiple-choice knapsack. Lyra
// needs estimates.
//
// Reconstructed: the time saved of a running job refers to the work left, not to all of its work; ties go to fewer GPUs, then
// lower ids; waiting elastic jobs are sorted by their run time with the most workers; jobs that may mix GPU types come last,
// about which the paper has only one sentence (§5.3). Own choice: each GPU type is counted separately and a job takes GPUs of
// one type; otherwise jobs that must have V100s would use up what T4s add, although a worker takes one GPU of either type.
func NewLyra() Policy { return &lyra{} }

type lyra struct {
	stock    stock
	queue    []entrant
	admitted []int32 // indexes into jobs
	groups   []group
	of       []int32 // the job of each group
	moved    []Job
	knapsack knapsack
}

// entrant is a waiting job in the first phase.
type entrant struct {
	last bool // the job mixes GPU types
	time float64
	id   cluster.JobID
	job  int32
}

func (e *entrant) before(f *entrant) bool {
	if e.last != f.last {
		return f.last
	}
	if e.time != f.time {
		return e.time < f.time
	}
	return e.id < f.id
}

func (*lyra) Name() string         { return "lyra" }
func (*lyra) NeedsEstimates() bool { return true }
func (l *lyra) Reset(uint64)       { *l = lyra{} }

func (l *lyra) Allocate(s *cluster.View, jobs []Job) {
	l.stock.count(s, jobs)
	l.admit(s, jobs)
	l.extend(s, jobs)
	l.reorder(jobs)
}

// admit is the first phase: it gives running jobs their base and decides which waiting jobs start.
func (l *lyra) admit(s *cluster.View, jobs []Job) {
	l.queue, l.admitted = l.queue[:0], l.admitted[:0]
	smallest := int64(1) << 62
	for i := range jobs {
		j := &jobs[i]
		if j.Want = 0; j.Now > 0 {
			j.Want = j.Base
			continue
		}
		time := float64(j.Left) * float64(j.Workers) / float64(j.Most)
		l.queue = append(l.queue, entrant{l.stock.types.mixes(s.Spec(j.ID)), time, j.ID, int32(i)})
		smallest = min(smallest, int64(j.Base)*j.GPUMilli)
	}
	for q := heapify(l.queue, (*entrant).before); q.len() > 0 && l.stock.milli() >= smallest; {
		i := q.pop().job
		if j := &jobs[i]; l.stock.admit(s, j, i) {
			j.Want = j.Base
			l.admitted = append(l.admitted, i)
		}
	}
}

// extend is the second phase: one knapsack for each GPU type, then one for the jobs that mix types.
func (l *lyra) extend(s *cluster.View, jobs []Job) {
	for t := range l.stock.whole {
		l.pack(s, jobs, int8(t))
	}
	l.pack(s, jobs, mixed)
}

// pack solves the knapsack of the jobs whose GPUs are of one kind.
func (l *lyra) pack(s *cluster.View, jobs []Job, kind int8) {
	l.of, l.groups = l.of[:0], l.groups[:0]
	for i := range jobs {
		if j := &jobs[i]; j.Want > 0 && j.Base < j.Most && l.stock.kind[i] == kind {
			l.of = append(l.of, int32(i))
		}
	}
	slices.SortFunc(l.of, func(a, b int32) int { return cmp.Compare(jobs[a].ID, jobs[b].ID) })
	shares := false
	for _, i := range l.of {
		j := &jobs[i]
		shares = shares || j.GPUMilli%cluster.WholeGPU != 0
		l.groups = append(l.groups, group{
			weight: j.GPUMilli, base: j.Base, extra: int32(min(int64(j.Most-j.Base), l.stock.quota(s, j)/j.GPUMilli)),
			work: float64(j.Left) * float64(j.Workers),
		})
	}
	for n, k := range l.knapsack.solve(l.groups, l.stock.room(kind, shares)) {
		jobs[l.of[n]].Want += l.stock.extend(s, &jobs[l.of[n]], l.of[n], k)
	}
}

// reorder sorts the admitted jobs in the order of their admission. Together they keep their places among the other jobs.
func (l *lyra) reorder(jobs []Job) {
	l.moved = l.moved[:0]
	for _, i := range l.admitted {
		l.moved = append(l.moved, jobs[i])
	}
	slices.Sort(l.admitted)
	for n, i := range l.admitted {
		jobs[i] = l.moved[n]
	}
}
