package placement

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestHostsStaySorted checks that hosts that were listed before are listed again as if for the first time, whatever has changed
// meanwhile, and also in another cluster, and that a job that starts takes its place among them.
func TestHostsStaySorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p partners
		for range 2 {
			s := drawHosts(t)
			for range rapid.IntRange(1, 8).Draw(t, "passes") {
				tx := s.Begin(nil)
				p.reset()
				p.refresh(tx)
				p.list(&s.View)
				checkList(t, &p, &s.View)
				for range rapid.IntRange(0, 6).Draw(t, "changes") {
					id := cluster.JobID(rapid.IntRange(0, s.Jobs()-1).Draw(t, "job"))
					if s.Phase(id) == cluster.Running {
						_ = tx.Preempt(id)
						p.refresh(tx)
						p.list(&s.View)
						checkList(t, &p, &s.View)
					}
					at := cluster.Placement{{
						Server: cluster.ServerID(rapid.IntRange(0, s.Servers()-1).Draw(t, "server")), Workers: 1,
						Amount: cluster.Amount{GPUMilli: rapid.Int32Range(300, 1000).Draw(t, "share")},
					}}
					if tx.Place(id, at) == nil {
						p.started(tx, id)
						checkGroups(t, &p)
						if h := hostOf(&s.View, id); h.alone > 0 && !slices.Contains(p.hosts, h) {
							t.Fatalf("host %v is missing in %v", h, p.hosts)
						}
					}
				}
				tx.End()
				s.Advance(s.Now() + time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds"))*time.Second)
			}
		}
	})
}

// drawHosts returns a small cluster in which some jobs wait.
func drawHosts(t *rapid.T) *cluster.State {
	spec := cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), 4)
	spec.PerGPU = 2
	for i := range spec.Servers {
		spec.Servers[i].GPUType = rapid.SampledFrom([]string{"V100", "K80"}).Draw(t, "type")
	}
	jobs := rapid.IntRange(1, 12).Draw(t, "jobs")
	s := must.Get(cluster.NewState(spec, jobs))(t)
	for i := range jobs {
		s.Submit(cluster.JobID(i), &cluster.JobSpec{
			Name: fmt.Sprint(i), Model: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model"), Workers: 1,
			Request:  cluster.Amount{GPUMilli: cluster.WholeGPU},
			Estimate: time.Duration(rapid.IntRange(1, 30).Draw(t, "estimate")) * time.Second,
		})
	}
	return s
}

// checkList checks that the hosts are all those among the running jobs, in order.
func checkList(t *rapid.T, p *partners, s *cluster.View) {
	var want []host
	for _, id := range s.Running() {
		if h := hostOf(s, id); h.alone > 0 {
			want = append(want, h)
		}
	}
	slices.SortFunc(want, inOrder)
	if !slices.Equal(p.hosts, want) {
		t.Fatalf("hosts %v, want %v", p.hosts, want)
	}
	checkGroups(t, p)
}

func checkGroups(t *rapid.T, p *partners) {
	got := slices.Clone(p.group)
	p.groupUp()
	if !slices.Equal(got, p.group) || !slices.IsSortedFunc(p.hosts, inOrder) {
		t.Fatalf("groups %v, want %v of sorted hosts %v", got, p.group, p.hosts)
	}
}
