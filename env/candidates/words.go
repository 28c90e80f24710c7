package candidates

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/phrase"
)

// Does describes for a person what the candidate does. s is the state in which it was found.
func (c *Candidate) Does(s *cluster.View) string {
	var parts []string
	job := "the job"
	if c.Job >= 0 {
		job = s.Spec(c.Job).Name
	}
	switch c.Kind {
	case Veto:
		parts = append(parts, "stop nobody")
	case Drop:
		parts = append(parts, "give up the block that is held")
	case Rival:
		parts = append(parts, "as "+c.By)
	}
	for i := range c.Ops {
		parts = append(parts, operation(s, &c.Ops[i]))
	}
	if len(parts) > 0 {
		return strings.Join(parts, "; ")
	}
	text := c.Kind.About()
	switch c.Kind {
	case Own:
		text = "start nobody else"
	case Wait:
		text = "let " + job + " wait"
	case Stop:
		text = "start nobody now"
	case Reserve:
		text = "let " + job + " wait, hold servers for a gang"
	case Gather:
		text = "let " + job + " wait for fewer servers"
	}
	if c.Wait > 0 {
		text += ", for about " + phrase.Time(c.Wait)
	}
	return text
}

var verbs = map[cluster.OpKind]string{cluster.OpPlace: "start", cluster.OpResize: "resize", cluster.OpMigrate: "move"}

// operation describes what an operation does.
func operation(s *cluster.View, o *cluster.Proposal) string {
	switch o.Kind {
	case cluster.OpLoan:
		return "borrow " + s.Server(o.Server).Name
	case cluster.OpReclaim:
		return "give back " + s.Server(o.Server).Name
	case cluster.OpPreempt:
		return "stop " + s.Spec(o.Job).Name
	}
	return fmt.Sprintf("%s %s: %s (%s) on %s", verbs[o.Kind], s.Spec(o.Job).Name, phrase.Count(o.Placement.Workers(), "worker"),
		amounts(o.Placement, s.Spec(o.Job).Request), phrase.Few(o.Placement.Names(s.Server)))
}

// amounts describes the resources of a placement: its GPUs, and its CPU and memory if they differ from the request.
func amounts(p cluster.Placement, asked cluster.Amount) string {
	text, other, cpu, mem := phrase.Quantity(p.GPUs(), "GPU"), false, 0.0, 0.0
	for i := range p {
		a := &p[i]
		other = other || a.CPUMilli != asked.CPUMilli || a.MemMiB != asked.MemMiB
		cpu += float64(a.Workers) * float64(a.CPUMilli) / 1000
		mem += float64(a.Workers) * float64(a.MemMiB) / 1024
	}
	if other {
		text += fmt.Sprintf(", %s, %.4g GiB", phrase.Quantity(cpu, "core"), mem)
	}
	return text
}
