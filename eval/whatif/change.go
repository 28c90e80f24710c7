package whatif

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/phrase"
)

// Change says what is different in a play. The servers and quotas of a log stay as they are.
type Change struct {
	Add    []Servers
	Remove []string // names of servers that fail now for good; jobs on them are interrupted and wait
	Quotas []cluster.Quota

	// At most one of these alters the first decision: what a policy would do, or a log has. Then the policy is asked again at the
	// next event, or when the log's was, or ten minutes after a snapshot.
	Nothing   bool   // nothing is done
	Leave     string // what would be done with this job is left out
	Start     string // this job, which waits, starts by best fit, before all else as far as it then fits
	Candidate int    // the learned team takes this candidate, counted from 1, in its first choice
}

// Servers are Count equal servers of the training pool, with GPUs each.
type Servers struct {
	Count, GPUs int32
	Type        string // GPU type, "" if unknown
}

// ParseServers parses "4x8" or "4x8:V100": four servers of eight GPUs each, of type V100.
func ParseServers(text string) (Servers, error) {
	size, kind, typed := strings.Cut(text, ":")
	n, gpus, ok := strings.Cut(size, "x")
	count, err := strconv.ParseInt(n, 10, 32)
	each, err2 := strconv.ParseInt(gpus, 10, 32)
	if !ok || err != nil || err2 != nil || count < 1 || count > cluster.MaxServers || each < 1 || each > cluster.MaxGPUs ||
		typed && kind == "" {
		return Servers{}, fmt.Errorf("servers %q: want SERVERSxGPUS or SERVERSxGPUS:TYPE, for example 4x8", text)
	}
	return Servers{int32(count), int32(each), kind}, nil
}

// ParseQuota parses "team-a=16": from now on the running jobs of the tenant may hold 16 GPUs together.
func ParseQuota(text string) (cluster.Quota, error) {
	at := strings.LastIndexByte(text, '=')
	if at >= 0 {
		if n, err := strconv.ParseInt(text[at+1:], 10, 32); err == nil && n >= 0 && n <= cluster.MaxServers*cluster.MaxGPUs {
			return cluster.Quota{Tenant: text[:at], GPUs: int32(n)}, nil
		}
	}
	return cluster.Quota{}, fmt.Errorf("quota %q: want TENANT=GPUS, for example team-a=16", text)
}

// alterations says how the first decision is made differently: not at all, or in one way if the change is valid.
func (c *Change) alterations() (ways []string) {
	if c.Nothing {
		ways = append(ways, "nothing now")
	}
	if c.Leave != "" {
		ways = append(ways, "leaving "+c.Leave)
	}
	if c.Start != "" {
		ways = append(ways, "starting "+c.Start)
	}
	if c.Candidate > 0 {
		ways = append(ways, fmt.Sprintf("candidate %d", c.Candidate))
	}
	return ways
}

func (c *Change) alters() bool { return len(c.alterations()) > 0 }

func (c *Change) check() error {
	if ways := c.alterations(); len(ways) > 1 {
		return fmt.Errorf("%d ways to decide otherwise (%s), want one", len(ways), strings.Join(ways, ", "))
	}
	return nil
}

// None reports whether nothing is different.
func (c *Change) None() bool { return len(c.Add)+len(c.Remove)+len(c.Quotas) == 0 && !c.alters() }

// String describes the change: "as it is", "4 servers more", "4 servers more, 1 less, 16 GPUs for team-a", "leaving job-7".
func (c *Change) String() string {
	if c.None() {
		return "as it is"
	}
	parts := c.alterations()
	more := int64(0)
	for _, a := range c.Add {
		more += int64(a.Count)
	}
	if more > 0 {
		parts = append(parts, phrase.Count(more, "server")+" more")
	}
	switch n := len(c.Remove); {
	case n > 0 && more > 0:
		parts = append(parts, fmt.Sprintf("%d less", n))
	case n > 0:
		parts = append(parts, phrase.Count(n, "server")+" less")
	}
	for _, q := range c.Quotas {
		parts = append(parts, fmt.Sprintf("%s for %s", phrase.Count(q.GPUs, "GPU"), q.Tenant))
	}
	return strings.Join(parts, ", ")
}

// apply applies the change to a state and returns the jobs that it stops.
func (c *Change) apply(s *cluster.State) (stopped []cluster.JobID, err error) {
	for _, q := range c.Quotas {
		if !s.SetQuota(q.Tenant, q.GPUs) {
			return nil, fmt.Errorf("quota of %q: want a tenant that has a quota in the snapshot", q.Tenant)
		}
	}
	ids := map[string]cluster.ServerID{}
	for i := range s.Servers() {
		ids[s.Server(cluster.ServerID(i)).Name] = cluster.ServerID(i)
	}
	var removed []cluster.ServerID
	for _, name := range c.Remove {
		id, known := ids[name]
		if !known || slices.Contains(removed, id) {
			return nil, fmt.Errorf("remove server %q: want the name of a server in the snapshot, once", name)
		}
		removed = append(removed, id)
	}
	n := 0
	var added []cluster.ServerSpec
	for _, a := range c.Add {
		like := a.like(&s.View)
		if total := s.Servers() + len(added) + int(a.Count); total > cluster.MaxServers {
			return nil, fmt.Errorf("add %d servers: %d in all, want at most %d", a.Count, total, cluster.MaxServers)
		}
		for range a.Count {
			for ; ; n++ {
				like.Name = fmt.Sprintf("added-%d", n)
				if _, taken := ids[like.Name]; !taken {
					break
				}
			}
			n++
			added = append(added, like)
		}
	}
	if len(added) > 0 {
		if err := s.AddServers(added); err != nil {
			return nil, err
		}
	}
	for _, id := range removed {
		stopped = s.Fail(id, -1, stopped)
	}
	return stopped, nil
}

// like returns one of the servers to add. It has the CPU and memory of the first training server in the snapshot with the same
// number of GPUs and GPU type, or unlimited CPU and memory if there is none. It has its own link to the network.
func (a *Servers) like(s *cluster.View) cluster.ServerSpec {
	for i := range s.Servers() {
		v := *s.Server(cluster.ServerID(i))
		if v.Pool == cluster.Training && v.GPUs == a.GPUs && v.GPUType == a.Type {
			v.Rack = 0
			return v
		}
	}
	return cluster.ServerSpec{GPUs: a.GPUs, GPUType: a.Type, CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited}
}
