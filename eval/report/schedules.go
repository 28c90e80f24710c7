package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// head is the head of a section's pack. Times in the pack's columns are in ticks. The columns are
//
//	jobs.name .user .tenant .model .type   texts: JSON lists; the last four name each value once, jobs.userOf and so on are
//	                                       indices into them by job
//	jobs.submit .work .estimate            times; estimate is 0 for none
//	jobs.workers .least .most .milli       gang size, its bounds, and thousandths of a GPU per worker
//
// and for each schedule k, with the prefix "k." and with jobs in the order of their ids:
//
//	stays            per job: how many stays it has
//	gap, length      per stay: time since the end of the job's last stay (since its submission for the first), and how long
//	why              per stay: what ended it, an index into Ends
//	boxes            per stay: how many boxes it has
//	server, gpu, count, milli, slot   per box: where it is; slot is the Top of a share of a GPU: see eval.Piece
//	loan.server .from .to             servers on loan
//	down.server .gpu .from .to        out of service: gpu counts from 1, 0 is the whole server
//	need.at .milli                    what the inference pool needs from then on, in thousandths of servers
type head struct {
	*pack
	Tick      float64    `json:"tick"` // seconds
	Until     uint32     `json:"until"`
	Warm      int        `json:"warm"` // number of warm jobs, which only fill the cluster at the start
	Ends      []string   `json:"ends"`
	Servers   []server   `json:"servers"`
	Schedules []schedule `json:"schedules"`
}

type server struct {
	Name      string `json:"name"`
	GPUs      int32  `json:"gpus"`
	Inference bool   `json:"inference,omitempty"`
	Type      string `json:"type,omitempty"`
	Rack      int32  `json:"rack,omitempty"`
}

type schedule struct {
	Name      string  `json:"name"`
	Until     uint32  `json:"until"`
	MeanJCT   float64 `json:"meanJCT"` // seconds
	Makespan  float64 `json:"makespan"`
	Used      float64 `json:"used"` // utilisation, a fraction
	Finished  int     `json:"finished"`
	Truncated string  `json:"truncated,omitempty"`
}

// ends lists the kinds of records that end a stay. The page refers to them by name.
func ends() []sim.Kind {
	return []sim.Kind{sim.Finish, sim.Preempt, sim.Interrupt, sim.Resize, sim.Migrate, sim.End}
}

// packer converts logs to a pack.
type packer struct {
	head
	tick time.Duration
}

// packSchedules returns the encoded data of schedules of the same jobs on the same cluster.
func packSchedules(logs []*sim.Log) (string, error) {
	first := logs[0]
	for _, log := range logs[1:] {
		if err := alike(first, log); err != nil {
			return "", fmt.Errorf("show schedules of %s and %s: %w", first.Scheduler, log.Scheduler, err)
		}
	}
	p := packer{head: head{pack: &pack{}, Warm: first.Config.Warm, Servers: []server{}}, tick: tickOf(logs)}
	p.Tick = p.tick.Seconds()
	for _, k := range ends() {
		p.Ends = append(p.Ends, k.String())
	}
	for i := range first.Config.Cluster.Servers {
		s := &first.Config.Cluster.Servers[i]
		p.Servers = append(p.Servers, server{s.Name, s.GPUs, s.Pool == cluster.Inference, s.GPUType, s.Rack})
	}
	if err := p.jobs(first); err != nil {
		return "", err
	}
	for i, log := range logs {
		p.schedule(strconv.Itoa(i)+".", log)
	}
	return p.encode(&p.head)
}

// alike returns an error unless two schedules have equal jobs, up to their estimates, and equal clusters, so that they can be
// shown together.
func alike(a, b *sim.Log) error {
	if len(a.Jobs) != len(b.Jobs) {
		return fmt.Errorf("%d and %d jobs, want the same", len(a.Jobs), len(b.Jobs))
	}
	for i := range a.Jobs {
		x, y := a.Jobs[i].JobSpec, b.Jobs[i].JobSpec
		if x.Estimate = y.Estimate; x != y { // policies may be told other run times
			return fmt.Errorf("job %d is %s and %s, or differs in what it asks for: want the same", i, a.Jobs[i].Name, b.Jobs[i].Name)
		}
	}
	if !slices.Equal(a.Config.Cluster.Servers, b.Config.Cluster.Servers) {
		return fmt.Errorf("the clusters differ, want the same")
	}
	return nil
}

// tickOf returns the shortest tick with which all times fit into 32 bits: a millisecond times a power of ten.
func tickOf(logs []*sim.Log) time.Duration {
	var most time.Duration
	for _, log := range logs {
		most = max(most, end(log))
		for i := range log.Jobs {
			j := &log.Jobs[i]
			most = max(most, j.Submit, j.Work, j.Estimate)
		}
	}
	tick := time.Millisecond
	for most/tick >= math.MaxUint32 {
		tick *= 10
	}
	return tick
}

func end(log *sim.Log) time.Duration {
	if n := len(log.Records); n > 0 {
		return log.Records[n-1].At
	}
	return 0
}

func (p *packer) ticks(d time.Duration) uint32 { return uint32(d.Round(p.tick) / p.tick) }

// names is a list of distinct texts.
type names struct {
	list  []string
	index map[string]uint32
}

func (n *names) add(s string) uint32 {
	i, ok := n.index[s]
	if !ok {
		i = uint32(len(n.list))
		n.index[s], n.list = i, append(n.list, s)
	}
	return i
}

func (p *packer) jobs(log *sim.Log) error {
	ids := make([]string, len(log.Jobs))
	for i := range log.Jobs {
		ids[i] = log.Jobs[i].Name
	}
	if err := p.text("jobs.name", ids); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		of   func(*cluster.JobSpec) string
	}{
		{"user", func(j *cluster.JobSpec) string { return j.User }}, {"tenant", func(j *cluster.JobSpec) string { return j.Tenant }},
		{"model", func(j *cluster.JobSpec) string { return j.Model }}, {"type", func(j *cluster.JobSpec) string { return j.GPUType }},
	} {
		known := names{[]string{}, map[string]uint32{}}
		values := make([]uint32, len(log.Jobs))
		for i := range log.Jobs {
			values[i] = known.add(c.of(&log.Jobs[i].JobSpec))
		}
		if err := p.text("jobs."+c.name, known.list); err != nil {
			return err
		}
		p.numbers("jobs."+c.name+"Of", values)
	}
	for _, c := range []struct {
		name string
		of   func(*cluster.JobSpec) uint32
	}{
		{"submit", func(j *cluster.JobSpec) uint32 { return p.ticks(j.Submit) }},
		{"estimate", func(j *cluster.JobSpec) uint32 { return p.ticks(j.Estimate) }},
		{"workers", func(j *cluster.JobSpec) uint32 { return uint32(j.Workers) }},
		{"least", func(j *cluster.JobSpec) uint32 { return uint32(j.Least()) }},
		{"most", func(j *cluster.JobSpec) uint32 { return uint32(j.Most()) }},
		{"milli", func(j *cluster.JobSpec) uint32 { return uint32(j.Request.GPUMilli) }},
	} {
		values := make([]uint32, len(log.Jobs))
		for i := range log.Jobs {
			values[i] = c.of(&log.Jobs[i].JobSpec)
		}
		p.numbers("jobs."+c.name, values)
	}
	work := make([]uint32, len(log.Jobs))
	for i := range log.Jobs {
		work[i] = p.ticks(log.Jobs[i].Work)
	}
	p.numbers("jobs.work", work)
	return nil
}

func (p *packer) schedule(prefix string, log *sim.Log) {
	m := eval.Measure(log)
	p.Schedules = append(p.Schedules, schedule{log.Scheduler, p.ticks(end(log)), m.MeanJCT, m.Makespan, m.Utilisation,
		m.Finished, m.Truncated})
	p.Until = max(p.Until, p.ticks(end(log)))

	var stays, gap, length, why, counts []uint32
	var held []eval.Piece
	kinds := ends()
	for id, all := range eval.Stays(log) {
		stays = append(stays, uint32(len(all)))
		last := p.ticks(log.Jobs[id].Submit)
		for _, s := range all {
			from, to := p.ticks(s.From), p.ticks(s.To)
			gap, length, last = append(gap, from-last), append(length, to-from), to
			why = append(why, uint32(slices.Index(kinds, s.End)))
			counts, held = append(counts, uint32(len(s.Pieces))), append(held, s.Pieces...)
		}
	}
	p.numbers(prefix+"stays", stays)
	p.numbers(prefix+"gap", gap)
	p.numbers(prefix+"length", length)
	p.numbers(prefix+"why", why)
	p.numbers(prefix+"boxes", counts)
	for _, c := range []struct {
		name string
		of   func(*eval.Piece) uint32
	}{
		{"server", func(b *eval.Piece) uint32 { return uint32(b.Server) }},
		{"gpu", func(b *eval.Piece) uint32 { return uint32(b.GPU) }},
		{"count", func(b *eval.Piece) uint32 { return uint32(b.Count) }},
		{"milli", func(b *eval.Piece) uint32 { return uint32(b.GPUMilli) }},
		{"slot", func(b *eval.Piece) uint32 { return uint32(b.Top) }},
	} {
		values := make([]uint32, len(held))
		for i := range held {
			values[i] = c.of(&held[i])
		}
		p.numbers(prefix+c.name, values)
	}
	p.states(prefix, log)
}

// states packs the states of servers over time: loans, failures, and the need of the inference pool.
func (p *packer) states(prefix string, log *sim.Log) {
	var loan, down struct{ server, gpu, from, to []uint32 }
	for _, spell := range eval.Spells(log) {
		to := &down
		if spell.Lent {
			to = &loan
		}
		to.server, to.gpu = append(to.server, uint32(spell.Server)), append(to.gpu, uint32(spell.GPU+1))
		to.from, to.to = append(to.from, p.ticks(spell.From)), append(to.to, p.ticks(spell.To))
	}
	var needAt, need []uint32
	for i := range log.Records {
		if r := &log.Records[i]; r.Kind == sim.Need {
			needAt, need = append(needAt, p.ticks(r.At)), append(need, uint32(log.Config.Demand[r.Index].Need))
		}
	}
	p.numbers(prefix+"loan.server", loan.server)
	p.numbers(prefix+"loan.from", loan.from)
	p.numbers(prefix+"loan.to", loan.to)
	p.numbers(prefix+"down.server", down.server)
	p.numbers(prefix+"down.gpu", down.gpu)
	p.numbers(prefix+"down.from", down.from)
	p.numbers(prefix+"down.to", down.to)
	p.numbers(prefix+"need.at", needAt)
	p.numbers(prefix+"need.milli", need)
}
