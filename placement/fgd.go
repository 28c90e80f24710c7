package placement

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// FGDConfig is the options of FGD.
type FGDConfig struct {
	// Cover is the share of the jobs seen so far whose shapes, the most frequent first, count as typical. Own choice; the
	// simulator that the authors published has 0.6.
	Cover float64
	// Typical bounds the number of typical shapes. Own choice.
	Typical int
	// Consolidate puts a gang on as few servers as BestFit would, and lets the growth of fragmentation choose among servers
	// that are equal in that. Otherwise every worker goes where fragmentation grows least, as the paper does with pods, which
	// know no gangs. Own choice: gangs that are spread are slow.
	Consolidate bool
}

// DefaultFGD returns the default options.
func DefaultFGD() FGDConfig { return FGDConfig{Cover: 0.95, Typical: 32, Consolidate: true} }

// fgd is fragmentation gradient descent (Weng et al., "Beware of Fragmentation", USENIX ATC 2023): a job starts where it
// makes the expected fragmentation grow least.
//
// From the source: a server's fragmentation for a task is what is free of its GPUs and of no use to the task: all of it, if
// the task does not fit the server, else what is free of the GPUs that have less free than the task's share. A server's
// fragmentation is the mean over the typical tasks, by how frequent they are. A task that the server's GPU type will not do
// for does not fit.
//
// Reconstructed or own: a task is as much of a gang as one server can take; the typical ones are the most frequent among the
// jobs that arrived so far, not of a trace known beforehand, and are counted anew when an eighth more jobs were seen; among
// equal servers the one with the fewest free GPUs, then the lowest id; a gang that must be of one GPU type takes the type on
// which its growth is least. The transaction chooses the GPUs of a server, for shares the fullest that will do. What jobs
// hold of the memory of a GPU, and bounds on the jobs of a GPU, decide what fits but do not count as fragmentation.
type fgd struct {
	c       FGDConfig
	seen    []bool // by job
	told    int    // events of the decision at toldAt that were read
	toldAt  time.Duration
	tasks   map[task]int
	counts  []typical // by index in tasks
	jobs    int       // seen
	recount int       // jobs seen at which typical tasks are chosen anew
	typical []typical
	servers []footing
	after   map[taking][]known
	scratch []int16
	held    []int32 // by server, workers of the gang that is laid
	filling
	best cluster.Placement
}

// NewFGD returns the placer.
func NewFGD(c FGDConfig) Placer {
	f := &fgd{c: c}
	f.Reset(0)
	return f
}

// task is what FGD knows of a job: how many workers may stand on one server, and what each needs.
type task struct {
	workers int32
	cluster.Amount
	gpuType string
}

// typical is a task and the number of jobs that were such.
type typical struct {
	task
	jobs int64
}

// footing is what was free on a server when it was last looked at.
type footing struct {
	free     []int16 // thousandths, ascending
	use      []int16 // as the state had it
	cpu, mem int64
	version  uint32 // counts the changes, from 1
}

// taking is so many workers with an amount each that are put on a server.
type taking struct {
	cluster.Amount
	workers int32
}

// known is a server's fragmentation after a taking.
type known struct {
	version uint32 // of the server, 0: not known
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

// observe counts the jobs that events tell of.
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

// see counts a job the first time that it is seen.
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

// choose takes the most frequent tasks for the typical ones, if it is time to. All that was known of fragmentation is then
// forgotten.
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

// kinds returns the ranks of the GPU types that have room for the gang, as bits; one bit for all if it may hold several.
func (f *fgd) kinds(s *cluster.View, id cluster.JobID) (bits uint32) {
	for _, server := range f.order {
		bits |= 1 << s.TypeRank(id, server)
	}
	return bits
}

// lay places the gang on servers of one kind into fit and returns by how much fragmentation grows.
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

// stride is the size of the gang's next piece: all workers left if a server takes them, else as many as one takes.
func (f *fgd) stride(s *cluster.View, id cluster.JobID, kind uint32, left int32) int32 {
	most := int32(0)
	for _, v := range f.order {
		if f.room[v] > most && 1<<s.TypeRank(id, v)&kind != 0 && f.held[v] == 0 {
			most = f.room[v]
		}
	}
	return min(most, left)
}

// put adds workers to the gang.
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
