package placement

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// FGDConfig is the options of FGD.
type FGDConfig struct {
	// Cover is the fraction of the jobs seen so far whose shapes count as typical, the most frequent shapes first. Own choice; the
	// simulator that the authors published uses 0.6.
	Cover float64
	// Typical is the largest number of typical shapes. Own choice.
	Typical int
	// Consolidate puts a gang on as few servers as BestFit would, and uses the growth of fragmentation only to choose among servers
	// that are equal in that respect. If false, every worker goes where fragmentation grows least, as the paper does with pods; the
	// paper has no gangs. Own choice: gangs that are spread over servers run slowly.
	Consolidate bool
}

// DefaultFGD returns the default options.
func DefaultFGD() FGDConfig { return FGDConfig{Cover: 0.95, Typical: 32, Consolidate: true} }

// fgd is fragmentation gradient descent (Weng et al., "Beware of Fragmentation", USENIX ATC 2023): it starts a job where the
// expected fragmentation grows least.
//
// From the source: a server's fragmentation for a task is the amount of its free GPU capacity that the task cannot use. If the
// task does not fit on the server, or the server's GPU type does not suit it, that is all of the free capacity. Otherwise it is
// the free capacity of those GPUs that have less free than the task's share. A server's fragmentation is the mean over the
// typical tasks, weighted by their frequency.
//
// Reconstructed or own: a task is as much of a gang as one server can take. The typical tasks are the most frequent among the
// jobs that have arrived so far, not of a trace known beforehand; fgd chooses them again whenever it has seen an eighth more
// jobs. Among equal servers it takes the one with the fewest free GPUs, then the lowest id. A gang that must run on one GPU type
// takes the type on which its growth is least. The transaction chooses the GPUs of a server; a share goes to the fullest GPU
// that can hold it. The GPU memory that jobs hold and the limit on jobs per GPU decide what fits, but do not count as
// fragmentation.
type fgd struct {
	c       FGDConfig
	seen    []bool // by job
	told    int    // number of events of the decision at toldAt that fgd has read
	toldAt  time.Duration
	tasks   map[task]int
	counts  []typical // indexed by the values of tasks
	jobs    int       // seen so far
	recount int       // the value of jobs at which fgd chooses the typical tasks again
	typical []typical
	servers []footing
	after   map[taking][]known
	scratch []int16
	held    []int32 // by server: workers of the gang being placed
	filling
	best cluster.Placement
}

// NewFGD returns the placer of fragmentation gradient descent.
func NewFGD(c FGDConfig) Placer {
	f := &fgd{c: c}
	f.Reset(0)
	return f
}

// task is what FGD keeps of a job: how many workers can run on one server, and what each needs.
type task struct {
	workers int32
	cluster.Amount
	gpuType string
}

// typical is a task with the number of jobs that had it.
type typical struct {
	task
	jobs int64
}

// footing is what was free on a server when fgd last looked at it.
type footing struct {
	free     []int16 // thousandths, ascending
	use      []int16 // GPUs' use as the state returned it
	cpu, mem int64
	version  uint32 // increases with every change, from 1
}

// taking is a number of workers, with the amount of each, that are put on a server.
type taking struct {
	cluster.Amount
	workers int32
}

// known is a cached value: a server's fragmentation after a taking.
type known struct {
	version uint32 // of the server when frag was computed; 0: not computed
	frag    int64
}

// Reset implements Placer.
func (f *fgd) Reset(uint64) {
	*f = fgd{c: f.c, tasks: map[task]int{}, after: map[taking][]known{}, filling: f.filling, best: f.best}
}

// Kind implements Placer.
func (f *fgd) Kind(s *cluster.View, id cluster.JobID) Kind {
	f.see(s, id)
	return Plain(s, id)
}

// Place implements Placer.
func (f *fgd) Place(tx *cluster.Txn, id cluster.JobID) (bool, error) {
	s := tx.View()
	f.observe(s, tx.Events())
	f.see(s, id)
	if !f.open(s, id) {
		return false, nil
	}
	f.choose()
	if len(f.servers) != s.Servers() {
		f.servers, f.held = make([]footing, s.Servers()), make([]int32, s.Servers())
		clear(f.after)
	}
	f.best = f.best[:0]
	least := int64(0)
	for kinds := f.kinds(s, id); kinds != 0; kinds &= kinds - 1 {
		grows := f.lay(s, id, kinds&-kinds)
		if len(f.best) == 0 || grows < least {
			least, f.best = grows, append(f.best[:0], f.fit...)
		}
	}
	return true, tx.Place(id, f.best)
}

// observe counts the jobs that arrived or were found according to the events.
func (f *fgd) observe(s *cluster.View, events []cluster.Event) {
	if s.Now() != f.toldAt {
		f.told, f.toldAt = 0, s.Now()
	}
	if f.told == len(events) {
		return
	}
	f.told = len(events)
	for _, e := range events {
		if e.Kind == cluster.Arrived || e.Kind == cluster.Found {
			f.see(s, e.Job)
		}
	}
}

// see counts a job the first time that fgd sees it.
func (f *fgd) see(s *cluster.View, id cluster.JobID) {
	if len(f.seen) <= int(id) {
		f.seen = slices.Grow(f.seen, s.Jobs()-len(f.seen))[:s.Jobs()]
	}
	if f.seen[id] {
		return
	}
	f.seen[id] = true
	f.jobs++
	spec := s.Spec(id)
	here := max(spec.Together(), min(spec.Workers, s.MostGPUs()))
	t := task{here - here%spec.Together(), spec.Request, spec.GPUType}
	i, ok := f.tasks[t]
	if !ok {
		i = len(f.counts)
		f.tasks[t] = i
		f.counts = append(f.counts, typical{task: t})
	}
	f.counts[i].jobs++
}

// choose takes the most frequent tasks as the typical ones if enough new jobs have come, and then discards all cached
// fragmentation.
func (f *fgd) choose() {
	if f.jobs < f.recount {
		return
	}
	f.recount = f.jobs + max(1, f.jobs/8)
	f.typical = append(f.typical[:0], f.counts...)
	slices.SortStableFunc(f.typical, func(a, b typical) int { return cmp.Compare(b.jobs, a.jobs) })
	n, covered := 0, int64(0)
	for n < len(f.typical) && n < max(f.c.Typical, 1) && (n == 0 || float64(covered) < f.c.Cover*float64(f.jobs)) {
		covered += f.typical[n].jobs
		n++
	}
	f.typical = f.typical[:n]
	clear(f.after)
}

// kinds returns the ranks of the GPU types that have room for the gang, as a bit set. It has a single bit if the gang may use
// several types.
func (f *fgd) kinds(s *cluster.View, id cluster.JobID) (bits uint32) {
	for _, server := range f.order {
		bits |= 1 << s.TypeRank(id, server)
	}
	return bits
}

// lay writes the best placement of the gang on servers of one kind into fit, and returns by how much fragmentation grows.
func (f *fgd) lay(s *cluster.View, id cluster.JobID, kind uint32) (grows int64) {
	spec := s.Spec(id)
	f.fit = f.fit[:0]
	for left := spec.Workers; left > 0; {
		step := spec.Together()
		if f.c.Consolidate {
			step = f.stride(s, id, kind, left)
		}
		server, least := cluster.ServerID(-1), int64(0)
		for _, v := range f.order {
			at := f.held[v]
			if 1<<s.TypeRank(id, v)&kind == 0 || f.room[v] < at+step || f.c.Consolidate && at > 0 {
				continue
			}
			g := f.growth(s, v, spec.Request, at, step)
			if server < 0 || g < least || g == least && s.FreeGPUs(v) < s.FreeGPUs(server) {
				server, least = v, g
			}
		}
		f.put(server, step, spec.Request)
		grows += least
		left -= step
	}
	for i := range f.fit {
		f.held[f.fit[i].Server] = 0
	}
	return grows
}

// stride returns the number of workers in the gang's next piece: all workers left if one server takes them, otherwise as many as
// the roomiest server takes.
func (f *fgd) stride(s *cluster.View, id cluster.JobID, kind uint32, left int32) int32 {
	most := int32(0)
	for _, v := range f.order {
		if f.room[v] > most && 1<<s.TypeRank(id, v)&kind != 0 && f.held[v] == 0 {
			most = f.room[v]
		}
	}
	return min(most, left)
}

// put adds n workers on server v to the gang's placement.
func (f *fgd) put(v cluster.ServerID, n int32, a cluster.Amount) {
	if f.held[v] == 0 {
		f.fit = append(f.fit, cluster.Piece{Server: v, Amount: a})
	}
	f.held[v] += n
	for i := range f.fit {
		if f.fit[i].Server == v {
			f.fit[i].Workers = f.held[v]
		}
	}
}
