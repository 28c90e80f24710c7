package pollux

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"pgregory.net/rapid"
)

// asked is a job that may have base to most workers and runs with now workers; 0: it waits.
type asked struct {
	base, most, now int32
	left            time.Duration // run time left with one worker
	milli, cpu      int32         // 0 stands for a whole GPU, or for no CPU
	tenant, model   string
}

// stand returns a state in which these jobs run or wait, and the list of jobs for a policy.
func stand(t testing.TB, spec cluster.Spec, list []asked) (*cluster.State, []elastic.Job) {
	t.Helper()
	s, err := cluster.NewState(spec, len(list))
	if err != nil {
		t.Fatal(err)
	}
	var jobs []elastic.Job
	for i := range list {
		a, id := &list[i], cluster.JobID(i)
		if a.milli == 0 {
			a.milli = cluster.WholeGPU
		}
		s.Submit(id, &cluster.JobSpec{
			Name: fmt.Sprint(i), Tenant: a.tenant, Model: a.model, Workers: max(a.base, a.now), MinWorkers: a.base,
			MaxWorkers: a.most, Request: cluster.Amount{GPUMilli: a.milli, CPUMilli: a.cpu}, Estimate: a.left,
		})
		if a.now > 0 {
			p, fits := s.BestFit(id, nil)
			if !fits {
				t.Fatalf("job %d does not fit", i)
			}
			tx := s.Begin(nil)
			if err := tx.Place(id, p); err != nil {
				t.Fatal(err)
			}
			tx.End()
		}
		if a.now == 0 || a.base < a.most {
			jobs = append(jobs, elastic.Job{
				ID: id, Base: a.base, Most: a.most, Now: a.now, GPUMilli: int64(a.milli), Left: a.left, Workers: 1,
			})
		}
	}
	return s, jobs
}

// wants runs the policy and returns the workers of every job, by id.
func wants(p elastic.Policy, s *cluster.State, jobs []elastic.Job) []int32 {
	p.Allocate(&s.View, jobs)
	want := make([]int32, len(jobs))
	slices.SortFunc(jobs, func(a, b elastic.Job) int { return int(a.ID - b.ID) })
	for i := range jobs {
		want[i] = jobs[i].Want
	}
	return want
}

// story is a row of the tables: jobs compete for the GPUs of one server.
type story struct {
	name   string
	policy elastic.Policy
	gpus   int
	quota  int32 // of tenant a; 0 for none
	cpu    int64 // of the server, 0 for no limit
	age    time.Duration
	jobs   []asked
	want   []int32
}

func tell(t *testing.T, stories []story) {
	t.Helper()
	for _, c := range stories {
		t.Run(c.name, func(t *testing.T) {
			spec := cluster.Uniform(1, c.gpus)
			if c.cpu > 0 {
				spec.Servers[0].CPUMilli = c.cpu
			}
			if c.quota > 0 {
				spec.Quotas = []cluster.Quota{{Tenant: "a", GPUs: c.quota}}
			}
			s, jobs := stand(t, spec, c.jobs)
			s.Advance(c.age)
			if got := wants(c.policy, s, jobs); !slices.Equal(got, c.want) {
				t.Errorf("workers %v, want %v", got, c.want)
			}
		})
	}
}

// variants returns pollux that searches over few jobs or none.
func variants() (all []elastic.Policy) {
	for jobs := range 4 {
		c := Default()
		c.Population, c.Generations, c.Jobs = 8, 5, jobs
		all = append(all, New(c))
	}
	return all
}

// drawStand draws a cluster and jobs that run on it or wait.
func drawStand(t *rapid.T) (cluster.Spec, []asked) {
	spec := cluster.Uniform(rapid.IntRange(1, 3).Draw(t, "servers"), rapid.IntRange(1, 8).Draw(t, "GPUs a server"))
	free := make([]int32, len(spec.Servers))
	for i := range free {
		free[i] = spec.Servers[i].GPUs
	}
	if rapid.Bool().Draw(t, "quota") {
		spec.Quotas = []cluster.Quota{{Tenant: "a", GPUs: rapid.Int32Range(1, 8).Draw(t, "quota of a")}}
	}
	names := append(profile.Names()[:6], "", "nobody's")
	var list []asked
	for range rapid.IntRange(0, 12).Draw(t, "jobs") {
		a := asked{
			base: rapid.Int32Range(1, 4).Draw(t, "base"), model: rapid.SampledFrom(names).Draw(t, "model"),
			left:   time.Duration(rapid.IntRange(0, 100).Draw(t, "left")) * time.Second,
			milli:  rapid.SampledFrom([]int32{1000, 1000, 1000, 500, 300}).Draw(t, "milli"),
			tenant: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "tenant"),
		}
		a.most = a.base + rapid.Int32Range(0, 12).Draw(t, "range")
		if i := rapid.IntRange(0, len(free)-1).Draw(t, "where"); a.base <= free[i] && rapid.Bool().Draw(t, "runs") {
			a.now = rapid.Int32Range(a.base, min(a.most, free[i])).Draw(t, "now")
			if a.tenant == "a" {
				a.tenant = ""
			}
			free[i] -= a.now // only the sum matters: whole GPUs can always be placed
		}
		list = append(list, a)
	}
	return spec, list
}

// TestPoliciesKeepTheRules checks that every policy gives jobs only what they can use, keeps running jobs at their base or
// above, gives out no more than there is, in total and to each tenant, leaves no job waiting that would fit beside the others,
// if the policy promises that, and decides the same again.
func TestPoliciesKeepTheRules(t *testing.T) {
	for k, p := range variants() {
		t.Run(fmt.Sprint(p.Name(), k), func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				spec, list := drawStand(r)
				s, jobs := stand(t, spec, list)
				again := slices.Clone(jobs)
				p.Reset(1)
				p.Allocate(&s.View, jobs)
				checkRules(r, s, jobs)
				p.Reset(1)
				p.Allocate(&s.View, again)
				if !slices.Equal(jobs, again) {
					r.Fatalf("jobs\n%v, again\n%v", jobs, again)
				}
			})
		})
	}
}

func checkRules(t *rapid.T, s *cluster.State, jobs []elastic.Job) {
	room, quota := int64(s.Servers())*int64(s.Server(0).GPUs)*cluster.WholeGPU, int64(-1)
	for _, id := range s.Running() {
		if !slices.ContainsFunc(jobs, func(j elastic.Job) bool { return j.ID == id }) {
			room -= s.Placement(id).GPUMilli()
		}
	}
	tenant := int64(0)
	for i := range jobs {
		j := &jobs[i]
		if !(j.Want == 0 && j.Now == 0) && (j.Want < j.Base || j.Want > j.Most) {
			t.Fatalf("job %+v: %d workers", *j, j.Want)
		}
		room -= int64(j.Want) * j.GPUMilli
		if limit := s.Quota(j.ID); limit >= 0 {
			quota = limit
			tenant += int64(j.Want) * j.GPUMilli
		}
	}
	if room < 0 || quota >= 0 && tenant > quota {
		t.Fatalf("%d thousandths of GPUs too many handed out, or %d of a quota of %d, in\n%v", -room, tenant, quota, jobs)
	}
	for i := range jobs {
		need := int64(jobs[i].Base) * jobs[i].GPUMilli
		if limit := s.Quota(jobs[i].ID); jobs[i].Want == 0 && need <= room && (limit < 0 || tenant+need <= limit) {
			t.Fatalf("job %+v waits although %d thousandths of GPUs are left, in\n%v", jobs[i], room, jobs)
		}
	}
}
