package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
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

// column adds the column of a quantity of all elements of a list.
func column[T any](p *packer, name string, list []T, of func(*T) uint32) {
	values := make([]uint32, len(list))
	for i := range list {
		values[i] = of(&list[i])
	}
	p.numbers(name, values)
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
		of   func(*trace.Job) string
	}{
		{"user", func(j *trace.Job) string { return j.User }}, {"tenant", func(j *trace.Job) string { return j.Tenant }},
		{"model", func(j *trace.Job) string { return j.Model }}, {"type", func(j *trace.Job) string { return j.GPUType }},
	} {
		list, index := []string{}, map[string]uint32{}
		for i := range log.Jobs {
			if text := c.of(&log.Jobs[i]); index[text] == 0 {
				list = append(list, text)
				index[text] = uint32(len(list))
			}
		}
		if err := p.text("jobs."+c.name, list); err != nil {
			return err
		}
		column(p, "jobs."+c.name+"Of", log.Jobs, func(j *trace.Job) uint32 { return index[c.of(j)] - 1 })
	}
	column(p, "jobs.submit", log.Jobs, func(j *trace.Job) uint32 { return p.ticks(j.Submit) })
	column(p, "jobs.estimate", log.Jobs, func(j *trace.Job) uint32 { return p.ticks(j.Estimate) })
	column(p, "jobs.workers", log.Jobs, func(j *trace.Job) uint32 { return uint32(j.Workers) })
	column(p, "jobs.least", log.Jobs, func(j *trace.Job) uint32 { return uint32(j.Least()) })
	column(p, "jobs.most", log.Jobs, func(j *trace.Job) uint32 { return uint32(j.Most()) })
	column(p, "jobs.milli", log.Jobs, func(j *trace.Job) uint32 { return uint32(j.Request.GPUMilli) })
	column(p, "jobs.work", log.Jobs, func(j *trace.Job) uint32 { return p.ticks(j.Work) })
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
	column(p, prefix+"server", held, func(b *eval.Piece) uint32 { return uint32(b.Server) })
	column(p, prefix+"gpu", held, func(b *eval.Piece) uint32 { return uint32(b.GPU) })
	column(p, prefix+"count", held, func(b *eval.Piece) uint32 { return uint32(b.Count) })
	column(p, prefix+"milli", held, func(b *eval.Piece) uint32 { return uint32(b.GPUMilli) })
	column(p, prefix+"slot", held, func(b *eval.Piece) uint32 { return uint32(b.Top) })
	p.states(prefix, log)
}

// states packs the states of servers over time: loans, failures, and the need of the inference pool.
func (p *packer) states(prefix string, log *sim.Log) {
	var loans, downs []eval.Spell
	for _, spell := range eval.Spells(log) {
		if spell.Lent {
			loans = append(loans, spell)
		} else {
			downs = append(downs, spell)
		}
	}
	server := func(s *eval.Spell) uint32 { return uint32(s.Server) }
	from, to := func(s *eval.Spell) uint32 { return p.ticks(s.From) }, func(s *eval.Spell) uint32 { return p.ticks(s.To) }
	column(p, prefix+"loan.server", loans, server)
	column(p, prefix+"loan.from", loans, from)
	column(p, prefix+"loan.to", loans, to)
	column(p, prefix+"down.server", downs, server)
	column(p, prefix+"down.gpu", downs, func(s *eval.Spell) uint32 { return uint32(s.GPU + 1) })
	column(p, prefix+"down.from", downs, from)
	column(p, prefix+"down.to", downs, to)
	var needs []sim.Record
	for i := range log.Records {
		if log.Records[i].Kind == sim.Need {
			needs = append(needs, log.Records[i])
		}
	}
	column(p, prefix+"need.at", needs, func(r *sim.Record) uint32 { return p.ticks(r.At) })
	column(p, prefix+"need.milli", needs, func(r *sim.Record) uint32 { return uint32(log.Config.Demand[r.Index].Need) })
}
