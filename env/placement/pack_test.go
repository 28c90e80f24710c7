package placement_test

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// company is a profile that gives the remaining speed of each model beside another job.
var company = &rule{beside: map[string]float64{"mild": 0.9, "rough": 0.4, "quiet": 0.7}}

// capped is company with speeds limited by shares.
var capped = &rule{beside: company.beside, cap: true}

func TestPack(t *testing.T) {
	hour := time.Hour
	for _, test := range []struct {
		name   string
		rule   *rule
		change func(*placement.PackConfig)
		jobs   []trace.Job
		want   []string
	}{
		{"jobs get GPUs of their own while there are any", company, nil,
			[]trace.Job{job("mild", 1, 0, hour), job("mild", 1, 0, hour)},
			[]string{"1 on 0: GPUs [0] cpu 0; ", "1 on 0: GPUs [1] cpu 0; "}},
		{"then a mild pair shares", company, nil,
			[]trace.Job{job("mild", 2, 0, hour), job("mild", 2, 0, hour)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; ", "2 on 0: GPUs [0 1] cpu 0; "}},
		{"the best of two partners", company, nil,
			[]trace.Job{job("mild", 1, 0, hour), job("quiet", 1, 0, hour), job("mild", 1, 0, hour)},
			[]string{"1 on 0: GPUs [0] cpu 0; ", "1 on 0: GPUs [1] cpu 0; ", "1 on 0: GPUs [0] cpu 0; "}},
		{"not three jobs on a GPU", company, nil,
			[]trace.Job{job("mild", 2, 0, hour), job("mild", 2, 0, hour), job("mild", 2, 0, hour)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; ", "2 on 0: GPUs [0 1] cpu 0; ", "waits"}},
		{"nor unequal numbers of GPUs", company, nil,
			[]trace.Job{job("mild", 2, 0, hour), job("mild", 1, 0, hour)}, []string{"2 on 0: GPUs [0 1] cpu 0; ", "waits"}},
		{"a rough job does not join, being slowed below the least", company, nil,
			[]trace.Job{job("mild", 2, 0, hour), job("rough", 2, 0, hour)}, []string{"2 on 0: GPUs [0 1] cpu 0; ", "waits"}},
		{"nor is it joined", company, nil,
			[]trace.Job{job("rough", 2, 0, hour), job("mild", 2, 0, hour)}, []string{"2 on 0: GPUs [0 1] cpu 0; ", "waits"}},
		{"the sum decides", company, func(c *placement.PackConfig) { c.MinSum = 1.7 },
			[]trace.Job{job("mild", 2, 0, hour), job("quiet", 2, 0, hour)}, []string{"2 on 0: GPUs [0 1] cpu 0; ", "waits"}},
		{"a longer job does not join a shorter one", company, nil,
			[]trace.Job{job("mild", 2, 0, hour), job("mild", 2, 0, 2*hour)}, []string{"2 on 0: GPUs [0 1] cpu 0; ", "waits"}},
		{"unless that is allowed", company, func(c *placement.PackConfig) { c.Shorter = false },
			[]trace.Job{job("mild", 2, 0, hour), job("mild", 2, 0, 2*hour)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; ", "2 on 0: GPUs [0 1] cpu 0; "}},
		{"where shares cap nobody shares", capped, nil,
			[]trace.Job{job("mild", 2, 0, hour), job("mild", 2, 0, hour)}, []string{"2 on 0: GPUs [0 1] cpu 0; ", "waits"}},
		{"memory on the GPU forbids", company, nil,
			[]trace.Job{heavy(job("mild", 2, 0, hour), 9), heavy(job("mild", 2, 0, hour), 8)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; ", "waits"}},
		{"or allows", company, nil,
			[]trace.Job{heavy(job("mild", 2, 0, hour), 8), heavy(job("mild", 2, 0, hour), 8)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; ", "2 on 0: GPUs [0 1] cpu 0; "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := placement.DefaultPack()
			if test.change != nil {
				test.change(&c)
			}
			s := prepared(t, 1, 16, test.rule, test.jobs...)
			if got := start(t, s, placement.NewPack(c), ids(test.jobs)...); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func heavy(j trace.Job, mib int32) trace.Job {
	j.Request.GPUMemMiB = mib
	return j
}

// TestPackKeepsGuestsApart checks that a job starts on unused GPUs even if a job was left alone on a shared GPU, and that
// another can still join that job.
func TestPackKeepsGuestsApart(t *testing.T) {
	jobs := make([]trace.Job, 4)
	for i := range jobs {
		jobs[i] = job("mild", 1, 0, time.Hour)
	}
	s := prepared(t, 1, 16, company, jobs...)
	p := placement.NewPack(placement.DefaultPack())
	start(t, s, p, 0, 1, 2) // 0 and 2 share GPU 0, or 1 and 2 share GPU 1
	host := cluster.JobID(0)
	if together(&s.View, 1, 2) {
		host = 1
	}
	s.Finish(1 - host)
	s.Finish(host)
	start(t, s, p, 3)
	if together(&s.View, 2, 3) {
		t.Errorf("GPUs %v and %v, want GPUs of their own", s.GPUs(2), s.GPUs(3))
	}
}

// TestPackPasses checks that the jobs that share a GPU after Pack placed a job pass the thresholds: speeds with the partner
// divided by those without.
func TestPackPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		name := rapid.SampledFrom([]string{"sharing(1)", "sharing(0.3)", everything}).Draw(t, "parts")
		cfg.Physics = must.Get(physics.Parse(name))(t)
		jobs := drawJobs(t, &cfg.Cluster, rapid.IntRange(2, 12).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i].Request.GPUMilli = cluster.WholeGPU
		}
		for i := range jobs {
			fit(&cfg.Cluster, &jobs[i])
			jobs[i].MinWorkers, jobs[i].MaxWorkers = 0, 0
		}
		c := placement.DefaultPack()
		c.MinSum = rapid.Float64Range(1, 1.9).Draw(t, "sum")
		c.MinOwn = rapid.Float64Range(0, 0.9).Draw(t, "own")
		c.MinPartner = rapid.Float64Range(0, 0.9).Draw(t, "partner")
		s := state(t, &cfg, jobs)
		tx, p := s.Begin(nil), placement.NewPack(c)
		for _, id := range ordered(&s.View) {
			must.Get(p.Place(tx, id))(t)
			for _, other := range slices.Clone(s.Running()) {
				if other == id || s.Phase(id) != cluster.Running || !together(&s.View, id, other) {
					continue
				}
				a, b := slices.Clone(s.GPUs(id)), slices.Clone(s.GPUs(other))
				if len(a) != len(b) {
					t.Fatalf("GPUs %v and %v, want the same", a, b)
				}
				own, partner := lost(t, tx, id, other), lost(t, tx, other, id)
				const e = 1e-9
				if own < c.MinOwn-e || partner < c.MinPartner-e || own+partner < c.MinSum-e {
					t.Fatalf("speeds %v and %v of the pair, want at least %+v", own, partner, c)
				}
			}
		}
	})
}

// lost returns a job's speed divided by its speed without another job.
func lost(t *rapid.T, tx *cluster.Txn, id, without cluster.JobID) float64 {
	s, mark := tx.View(), tx.Mark()
	v := s.Profile().Speed(s, id)
	must.Do(t, tx.Preempt(without))
	v /= s.Profile().Speed(s, id)
	tx.Rollback(mark)
	return v
}
