package cli

import (
	"fmt"
	"io"
	"time"

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
	Choices []decide.Choice  `json:"choices,omitempty"` // of a learned team, in which a candidate is about the job
	of      int              // how many choices the team made in all
}

// findJob returns the job with the given name.
func findJob(s *cluster.View, name string) (cluster.JobID, error) {
	var names []string
	for i := range s.Jobs() {
		if id := cluster.JobID(i); s.Spec(id).Name == name {
			return id, nil
		}
		names = append(names, s.Spec(cluster.JobID(i)).Name)
	}
	if len(names) == 0 {
		return 0, cmdline.Usage("--job %q: the snapshot has no jobs", name)
	}
	names = names[:min(len(names), 20)]
	return 0, cmdline.Usage("--job %q: no such job in the snapshot%s", name, cmdline.DidYouMean(name, names))
}

// explainJob prints the policy's decision about one job, and for every server whether the job could use it.
func explainJob(a *app, p *decide.Planned, id cluster.JobID) error {
	s := p.Why.After()
	out := jobPlan{Policy: p.Policy, Now: p.Now, Job: s.Spec(id).Name, Ops: []explain.Op{}, Servers: p.Why.Servers(id)}
	out.Choices, out.of = decide.About(p.Choices, out.Job), len(p.Choices)
	for _, o := range p.Ops {
		if o.Job == out.Job {
			out.Ops = append(out.Ops, o)
		}
	}
	for i := range p.Waiting {
		if p.Waiting[i].Job == out.Job {
			out.Waiting = &p.Waiting[i]
		}
	}
	for _, piece := range s.Placement(id) {
		out.Where = append(out.Where, explain.Piece{
			Server: s.Server(piece.Server).Name, Workers: piece.Workers, GPUs: append([]int32{}, s.GPUsOn(id, piece.Server)...),
			Left: s.FreeGPUs(piece.Server),
		})
	}
	if out.Servers == nil {
		out.Servers = []explain.Server{}
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	return out.print(a)
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

// writeExample writes a snapshot of a small busy cluster.
func writeExample(w io.Writer) error {
	s, err := exampleState()
	if err != nil {
		return err
	}
	return s.WriteSnapshot(w)
}

// exampleState returns the state of four servers with eight GPUs each, at 9:00 on the second day: three jobs have run since their
// submission, and five wait.
func exampleState() (*cluster.State, error) {
	const now = 33 * time.Hour
	jobs := []struct {
		name, user string
		workers    int32
		ago        time.Duration // time since submission
		estimate   time.Duration
		at         cluster.Placement // nil if the job waits
	}{
		{"pretrain-7b", "ada", 16, 20 * time.Hour, 48 * time.Hour, pieces(8, 0, 1)},
		{"resnet-sweep-3", "grace", 3, 2 * time.Hour, 3 * time.Hour, pieces(3, 2)},
		{"finetune-70b", "ada", 16, 90 * time.Minute, 12 * time.Hour, nil},
		{"bert-large", "edsger", 8, 70 * time.Minute, 5 * time.Hour, nil},
		{"eval-nightly", "alan", 2, 40 * time.Minute, time.Hour, pieces(2, 3)},
		{"debug-loader", "grace", 1, 10 * time.Minute, 5 * time.Minute, nil},
		{"gan-ablation", "barbara", 4, 8 * time.Minute, 90 * time.Minute, nil},
		{"tokenizer-test", "alan", 2, time.Minute, 20 * time.Minute, nil},
	}
	s, err := cluster.NewState(cluster.Uniform(4, 8), len(jobs))
	if err != nil {
		return nil, err
	}
	for i, j := range jobs {
		id := cluster.JobID(i)
		s.Advance(now - j.ago)
		s.Submit(id, &cluster.JobSpec{
			Name: j.name, User: j.user, Workers: j.workers, Submit: s.Now(), Estimate: j.estimate,
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
		})
		if j.at == nil {
			continue
		}
		var gpus []int32
		for _, p := range j.at {
			for g := range p.Workers {
				gpus = append(gpus, g)
			}
		}
		if err := s.Restore(id, j.at, gpus); err != nil {
			return nil, err
		}
	}
	s.Advance(now)
	return s, nil
}

// pieces places the given number of whole-GPU workers on each of the servers.
func pieces(workers int32, servers ...cluster.ServerID) cluster.Placement {
	var p cluster.Placement
	for _, id := range servers {
		p = append(p, cluster.Piece{Server: id, Workers: workers, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}})
	}
	return p
}
