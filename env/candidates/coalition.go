package candidates

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Member is a server that takes part in a candidate.
type Member struct {
	Server cluster.ServerID
	// Weight is the server's part of the candidate's workers. These are the workers that the operations place and, for jobs that
	// they stop, the workers of those jobs where they ran. A job that is stopped and starts again counts only where it is in the
	// end. A server that is lent or returned counts as one more worker.
	Weight float32
}

// coalitions computes the members of candidates. It reuses its memory from one list to the next.
type coalitions struct {
	load    []int64            // by server: number of workers
	on      []cluster.ServerID // the servers with a load
	jobs    []cluster.JobID
	members []Member // of all candidates of a list, one after the other
}

// clear discards the members of the last list and reuses their memory.
func (c *coalitions) clear(servers int) {
	c.load = slices.Grow(c.load[:0], servers)[:servers]
	c.members = c.members[:0]
}

// tried returns the members of a candidate whose operations, those after the mark, have just been carried out.
func (c *coalitions) tried(tx *cluster.Txn, mark int) []Member {
	s, ops := tx.View(), tx.Ops()[mark:]
	c.jobs = c.jobs[:0]
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case cluster.OpLoan, cluster.OpReclaim:
			c.put(o.Server, 1)
		case cluster.OpPreempt:
			if s.Phase(o.Job) != cluster.Running {
				c.place(o.Before())
				continue
			}
			fallthrough
		default:
			if s.Phase(o.Job) == cluster.Running && !slices.Contains(c.jobs, o.Job) {
				c.jobs = append(c.jobs, o.Job)
				c.place(s.Placement(o.Job))
			}
		}
	}
	return c.take()
}

func (c *coalitions) place(p cluster.Placement) {
	for i := range p {
		c.put(p[i].Server, int64(p[i].Workers))
	}
}

func (c *coalitions) put(id cluster.ServerID, workers int64) {
	if c.load[id] == 0 {
		c.on = append(c.on, id)
	}
	c.load[id] += workers
}

// take returns the servers with a load as members, ascending, and resets the load.
func (c *coalitions) take() []Member {
	slices.Sort(c.on)
	sum := int64(0)
	for _, id := range c.on {
		sum += c.load[id]
	}
	from := len(c.members)
	for _, id := range c.on {
		c.members = append(c.members, Member{id, float32(float64(c.load[id]) / float64(sum))})
		c.load[id] = 0
	}
	c.on = c.on[:0]
	return c.members[from:len(c.members):len(c.members)]
}
