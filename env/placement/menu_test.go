package placement_test

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// apart slows gangs on several servers down to a fifth of the speed.
type apart struct{ *rule }

func (r apart) Speed(s *cluster.View, id cluster.JobID) float64 {
	if v := r.rule.Speed(s, id); len(s.Placement(id)) == 1 {
		return v
	}
	return r.rule.Speed(s, id) / 5
}

func TestMenu(t *testing.T) {
	hour := time.Hour
	for _, test := range []struct {
		name   string
		rule   cluster.Profile
		change func(*placement.MenuConfig)
		jobs   []trace.Job
		want   []string // on 2 servers of 2 GPUs and 16 cores
	}{
		{"GPUs of its own while there are any", company, nil,
			[]trace.Job{job("mild", 2, 0, hour), job("mild", 2, 0, hour)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; ", "2 on 1: GPUs [0 1] cpu 0; "}},
		// Joining costs 1 min/0.9 + the host's delay, 1.1 min x 0.1 = 1.22 min in all; waiting costs 1 min + 1 h.
		{"a short job joins a long gang", company, nil,
			[]trace.Job{job("mild", 4, 0, hour), job("mild", 1, 0, time.Minute)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; 2 on 1: GPUs [0 1] cpu 0; ", "1 on 0: GPUs [0] cpu 0; "}},
		// Joining costs 1 h/0.4 + the delay of a host that ends in 10 min, (10 min/0.4) x 0.6 = 2.75 h in all; waiting costs 1 h + 10
		// min.
		{"a rough one waits for a short gang", company, nil,
			[]trace.Job{job("rough", 4, 0, hour/6), job("rough", 1, 0, hour)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; 2 on 1: GPUs [0 1] cpu 0; ", "waits"}},
		{"or joins it with more patience", company, func(c *placement.MenuConfig) { c.Patience = 20 },
			[]trace.Job{job("rough", 4, 0, hour/6), job("rough", 1, 0, hour)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; 2 on 1: GPUs [0 1] cpu 0; ", "1 on 0: GPUs [0] cpu 0; "}},
		{"the host with the longest to go", company, nil,
			[]trace.Job{job("mild", 2, 0, hour), job("mild", 2, 0, 2*hour), job("mild", 1, 0, time.Minute)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; ", "2 on 1: GPUs [0 1] cpu 0; ", "1 on 1: GPUs [0] cpu 0; "}},
		{"no sharing", company, func(c *placement.MenuConfig) { c.Share = false },
			[]trace.Job{job("mild", 4, 0, hour), job("mild", 1, 0, time.Minute)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; 2 on 1: GPUs [0 1] cpu 0; ", "waits"}},
		// On two servers it takes 5 h; the other GPU of a server is free in 1 h.
		{"a gang waits for a server of its own", apart{capped}, nil,
			[]trace.Job{job("", 1, 16000, hour), job("", 1, 16000, hour), job("", 2, 0, hour)},
			[]string{"1 on 0: GPUs [0] cpu 16000; ", "1 on 1: GPUs [0] cpu 16000; ", "waits"}},
		{"but not longer than it would take apart", apart{capped}, nil,
			[]trace.Job{job("", 1, 16000, 9*hour), job("", 1, 16000, 9*hour), job("", 2, 0, hour)},
			[]string{"1 on 0: GPUs [0] cpu 16000; ", "1 on 1: GPUs [0] cpu 16000; ", "1 on 0: GPUs [1] cpu 0; 1 on 1: GPUs [1] cpu 0; "}},
		{"nor where it may not", apart{capped}, func(c *placement.MenuConfig) { c.Wait = false },
			[]trace.Job{job("", 1, 16000, hour), job("", 1, 16000, hour), job("", 2, 0, hour)},
			[]string{"1 on 0: GPUs [0] cpu 16000; ", "1 on 1: GPUs [0] cpu 16000; ", "1 on 0: GPUs [1] cpu 0; 1 on 1: GPUs [1] cpu 0; "}},
		{"an elastic job grows where that is faster", capped, nil,
			[]trace.Job{elastic(job("", 2, 0, hour), 1, 4)}, []string{"2 on 0: GPUs [0 1] cpu 0; 2 on 1: GPUs [0 1] cpu 0; "}},
		{"and shrinks where it does not fit", capped, nil,
			[]trace.Job{job("", 3, 0, 9*hour), elastic(job("", 2, 0, hour), 1, 2)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; 1 on 1: GPUs [0] cpu 0; ", "1 on 1: GPUs [1] cpu 0; "}},
		{"or waits where GPUs are free soon", capped, nil,
			[]trace.Job{job("", 3, 0, time.Minute), elastic(job("", 2, 0, hour), 1, 2)},
			[]string{"2 on 0: GPUs [0 1] cpu 0; 1 on 1: GPUs [0] cpu 0; ", "waits"}},
		{"no other sizes", capped, func(c *placement.MenuConfig) { c.Flex = false },
			[]trace.Job{elastic(job("", 2, 0, hour), 1, 4)}, []string{"2 on 0: GPUs [0 1] cpu 0; "}},
		{"CPU as Tune gives it", hunger, nil,
			[]trace.Job{job("donor", 1, 4000, hour), job("hungry", 1, 4000, hour)},
			[]string{"1 on 0: GPUs [0] cpu 1000; ", "1 on 0: GPUs [1] cpu 8000; "}},
		{"CPU as requested", hunger, func(c *placement.MenuConfig) { c.Amounts = false },
			[]trace.Job{job("donor", 1, 4000, hour), job("hungry", 1, 4000, hour)},
			[]string{"1 on 0: GPUs [0] cpu 4000; ", "1 on 0: GPUs [1] cpu 4000; "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := placement.DefaultMenu()
			c.Price = 0
			if test.change != nil {
				test.change(&c)
			}
			s := prepared(t, 2, 16, test.rule, test.jobs...)
			if got := start(t, s, placement.NewMenu(c), ids(test.jobs)...); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func elastic(j trace.Job, least, most int32) trace.Job {
	j.MinWorkers, j.MaxWorkers = least, most
	return j
}

// TestMenuPrices checks that a price on GPUs makes an elastic job take fewer of them. With 40 jobs waiting on 4 GPUs and Price
// 1, the price is 10 per GPU: 1 worker costs (1 h/0.71)(1 + 10) = 15.5 h, 2 cost 21 h and 4 cost (1 h/1.41)(1 + 40) = 29.1 h.
func TestMenuPrices(t *testing.T) {
	for _, test := range []struct {
		price float64
		want  int32
	}{{0, 4}, {1, 1}} {
		jobs := []trace.Job{elastic(job("slow", 2, 0, time.Hour), 1, 4)}
		for range 40 {
			jobs = append(jobs, job("", 4, 0, time.Hour))
		}
		c := placement.DefaultMenu()
		c.Price = test.price
		s := prepared(t, 2, 16, rootOf{}, jobs...)
		start(t, s, placement.NewMenu(c), 0)
		if got := s.Placement(0).Workers(); got != test.want {
			t.Errorf("price %v: %d workers, want %d", test.price, got, test.want)
		}
	}
}

// rootOf is a profile of elastic jobs whose speed grows with the square root of their workers.
type rootOf struct{}

func (rootOf) Speed(s *cluster.View, id cluster.JobID) float64 {
	return map[int32]float64{1: 0.71, 2: 1, 4: 1.41}[s.Placement(id).Workers()]
}

func (rootOf) Coupled(_ *cluster.View, _ cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return dst
}

// TestMenuLosesPatience checks that a gang that has waited long enough starts on more servers than necessary: it takes 5 h
// there; waiting costs 1 h + 2 h and the time that it has waited.
func TestMenuLosesPatience(t *testing.T) {
	jobs := []trace.Job{job("", 1, 16000, 100*time.Hour), job("", 1, 16000, 100*time.Hour), job("", 2, 0, time.Hour)}
	jobs[0].Estimate, jobs[1].Estimate = 2*time.Hour, 2*time.Hour
	c := placement.DefaultMenu()
	c.Price, c.Urgency = 0, 1
	p := placement.NewMenu(c)
	s := prepared(t, 2, 16, apart{capped}, jobs...)
	if got := start(t, s, p, 0, 1, 2); got[2] != "waits" {
		t.Fatalf("got %q", got)
	}
	for _, step := range []struct {
		at    time.Duration
		waits bool
	}{{time.Hour, true}, {2*time.Hour - time.Minute, true}, {2*time.Hour + time.Minute, false}} {
		s.Advance(step.at)
		for id := range cluster.JobID(2) {
			s.SetProgress(id, 0, s.Now(), 1) // always 2 h to go
		}
		if got := start(t, s, p, 2); (got[0] == "waits") != step.waits {
			t.Errorf("at %v: %q, want waits %v", step.at, got[0], step.waits)
		}
	}
}

// TestMenuHarmsLess checks that a job joins others only if the profile predicts that it and the jobs it slows down end sooner,
// in sum, than if it waited. There is no price, and no estimates, so that all jobs have an hour to go.
func TestMenuHarmsLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		own := rapid.Float64Range(0.1, 1).Draw(t, "own")
		r := &rule{beside: map[string]float64{"a": rapid.Float64Range(0.1, 1).Draw(t, "host"), "b": own}}
		cfg := drawConfig(t)
		cfg.Cluster = cluster.Uniform(1, 1)
		cfg.Cluster.PerGPU = 2
		jobs := []trace.Job{job("a", 1, 0, 0), job("b", 1, 0, 0)}
		s := state(t, &cfg, jobs)
		s.SetProfile(r)
		c := placement.DefaultMenu()
		c.Price, c.Patience = 0, rapid.Float64Range(0, 4).Draw(t, "patience")
		tx, p := s.Begin(nil), placement.NewMenu(c)
		for id := range cluster.JobID(2) {
			must.Get(p.Place(tx, id))(t)
		}
		join, wait := 1/own+(1/own)*(1-r.beside["a"]), 1+c.Patience
		if got := s.Phase(1) == cluster.Running; got != (join < wait) && max(join-wait, wait-join) > 1e-9 {
			t.Fatalf("joined %v, though that costs %v and to wait %v", got, join, wait)
		}
	})
}
