package cli

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/serve/decide"
)

// jobPlan is the result of plan --job.
type jobPlan struct {
	Policy  string           `json:"policy"`
	Now     float64          `json:"now_s"`
	Job     string           `json:"job"`
	Ops     []explain.Op     `json:"ops"`               // operations on the job
	Waiting *explain.Waiting `json:"waiting,omitempty"` // if the job waits after the plan
	Where   []explain.Piece  `json:"runs_on,omitempty"` // if the job runs after the plan
	Servers []explain.Server `json:"servers"`           // what each server has for the job; none for a job that keeps running
	Choices []explain.Choice `json:"choices,omitempty"` // of a learned team, in which a candidate is about the job
	of      int              // how many choices the team made in all
}

// explainJob prints the policy's decision about one job of a state, and for every server whether the job could use it.
func explainJob(a *app, p *decide.Planned, before *cluster.View, name string) error {
	id, names := cluster.JobID(-1), []string{}
	for i := range cluster.JobID(before.Jobs()) {
		if names = append(names, before.Spec(i).Name); before.Spec(i).Name == name {
			id = i
		}
	}
	switch {
	case len(names) == 0:
		return cmdline.Usage("--job %q: the snapshot has no jobs", name)
	case id < 0:
		names = names[:min(len(names), 20)]
		return cmdline.Usage("--job %q: no such job in the snapshot%s", name, cmdline.DidYouMean(name, names))
	}
	s := p.Why.After()
	out := jobPlan{
		Policy: p.Policy, Now: p.Now, Job: name, Ops: []explain.Op{}, Servers: append([]explain.Server{}, p.Why.Servers(id)...),
		Choices: explain.About(p.Choices, name), of: len(p.Choices),
	}
	for _, o := range p.Ops {
		if o.Job == name {
			out.Ops = append(out.Ops, o)
		}
	}
	if i := slices.IndexFunc(p.Waiting, func(w explain.Waiting) bool { return w.Job == name }); i >= 0 {
		out.Waiting = &p.Waiting[i]
	}
	for _, piece := range s.Placement(id) {
		out.Where = append(out.Where, explain.Piece{
			Server: s.Server(piece.Server).Name, Workers: piece.Workers, GPUs: append([]int32{}, s.GPUsOn(id, piece.Server)...),
			Left: s.FreeGPUs(piece.Server),
		})
	}
	return a.PrintOr(out, func() error { return out.print(a) })
}

func (p *jobPlan) print(a *app) error {
	a.Printf("%s at %s: %s\n\n", p.Policy, clock(p.Now), p.Job)
	for _, o := range p.Ops {
		a.Printf("%s  %s  %s\n", o.Op, where(o.Placement), o.Text)
	}
	if p.Waiting != nil {
		a.Printf("wait  %s\n", p.Waiting.Text)
	} else if len(p.Ops) == 0 {
		a.Printf("goes on running on %s\n", where(p.Where))
	}
	if err := p.printServers(a); err != nil {
		return err
	}
	return p.printChoices(a)
}

func (p *jobPlan) printServers(a *app) error {
	if len(p.Servers) == 0 {
		return nil
	}
	a.Printf("\n")
	rows := [][]string{{"server", "free", "takes", "because"}}
	for _, v := range p.Servers {
		because := exclusions[v.Why]
		if v.Workers > 0 {
			because = fmt.Sprintf("chosen for %d", v.Workers)
		}
		rows = append(rows, []string{v.Server, fmt.Sprintf("%d of %d", v.Free, v.GPUs), fmt.Sprint(v.Takes), because})
	}
	return a.PrintRows(rows)
}

// exclusions says why a job cannot use a server.
var exclusions = map[explain.Exclusion]string{
	explain.Failed:      "it is down",
	explain.NotLent:     "it serves inference and is not on loan",
	explain.OtherType:   "its GPU type will not do",
	explain.SmallGPU:    "its GPUs have too little memory for the job",
	explain.QuotaLeft:   "the tenant's quota is used up",
	explain.NoGPU:       "no GPU is free for it",
	explain.TooFewGPUs:  "too few GPUs for workers that stand together",
	explain.FullGPU:     "its GPUs have as many jobs as they may",
	explain.NoGPUMemory: "too little memory free on its GPUs",
	explain.NoCPU:       "too little CPU",
	explain.NoMemory:    "too little memory",
}
