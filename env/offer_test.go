package env_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// felt is the rule with neighbours that feel each other.
type felt struct{ rule }

func (felt) Coupled(s *cluster.State, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	for _, q := range p {
		dst = append(dst, s.Residents(q.Server)...)
	}
	return dst
}

// place is an operation that starts a job, piece after piece of a server and so many workers.
func (g *stage) place(id int, pieces ...int) cluster.Proposal {
	op := cluster.Proposal{Kind: cluster.OpPlace, Job: cluster.JobID(id)}
	for i := 0; i < len(pieces); i += 2 {
		op.Placement = append(op.Placement, cluster.Piece{
			Server: cluster.ServerID(pieces[i]), Workers: int32(pieces[i+1]), Amount: g.jobs[id].Request,
		})
	}
	return op
}

func as(kind cluster.OpKind, op cluster.Proposal) cluster.Proposal {
	op.Kind = kind
	return op
}

func stop(id int) cluster.Proposal {
	return cluster.Proposal{Kind: cluster.OpPreempt, Job: cluster.JobID(id)}
}

func offer(kind env.OfferKind, id int, ops ...cluster.Proposal) env.Offer {
	return env.Offer{Kind: kind, Job: cluster.JobID(id), Ops: ops}
}

func later(o env.Offer, wait time.Duration) env.Offer {
	o.Wait = wait
	return o
}

// tells is a number that an offer must show.
type tells struct {
	offer int
	name  string
	want  float32
}

func logCount(n float64) float32 { return float32(math.Log2(1+n) / 4) }
func third(x float64) float32    { return float32(math.Log2(x) / 3) }

func TestOffersShow(t *testing.T) {
	for _, c := range []struct {
		says string
		make func() (*stage, []env.Offer, []tells)
	}{
		{"a start on slow GPUs takes twice as long", func() (*stage, []env.Offer, []tells) {
			g := of(2)
			g.known = rule{}
			g.spec.Servers[0].GPUType, g.spec.Servers[1].GPUType = "V100", "P100"
			a := g.wait(2, hour)
			return g, []env.Offer{offer(env.Own, a, g.place(a, 0, 2)), offer(env.Begin, a, g.place(a, 1, 2))}, []tells{
				{0, "own", 1}, {0, "begin", 0}, {1, "own", 0}, {1, "begin", 1}, {0, "acts", 1}, {0, "placed", 1}, {0, "runs", 0},
				{0, "foreseen", 1}, {0, "rival", 1}, {0, "speed", 0}, {1, "speed", third(0.5)}, {0, "type_speed", 1},
				{1, "type_speed", 0.5}, {0, "run_time", logTime(hour)}, {1, "run_time", logTime(2 * hour)},
				{1, "gpu_time", logTime(4 * hour)}, {1, "end", against(2*hour, hour)}, {0, "end", 0}, {0, "cost", 0},
				{0, "starts", logCount(1)}, {0, "gain", 0}, {0, "age", against(ten, hour)}, {1, "age", against(ten, 2*hour)},
			}
		}},
		{"without an estimate no number tells of time", func() (*stage, []env.Offer, []tells) {
			g := of(1)
			a := g.wait(2, 0)
			return g, []env.Offer{offer(env.Own, a, g.place(a, 0, 2)), later(offer(env.Wait, a), hour)}, []tells{
				{0, "foreseen", 0}, {0, "run_time", 0}, {0, "gpu_time", 0}, {1, "end", 0}, {1, "patience", 0}, {1, "age", 0},
				{1, "expected_wait", logTime(hour)}, {0, "type_speed", 1},
			}
		}},
		{"amounts are held against those asked for", func() (*stage, []env.Offer, []tells) {
			g := of(1)
			g.known = rule{}
			a := g.wait(2, hour, func(j *cluster.JobSpec) { j.Request.CPUMilli, j.Request.MemMiB = 2000, 1000 })
			op := g.place(a, 0, 2)
			op.Placement[0].CPUMilli, op.Placement[0].MemMiB, op.Placement[0].GPUMilli = 1000, 4000, 600
			none := g.place(a, 0, 2)
			none.Placement[0].CPUMilli, none.Placement[0].MemMiB = 0, 1000_000
			return g, []env.Offer{offer(env.Own, a, op), offer(env.Sized, a, none)}, []tells{
				{0, "cpu", third(0.5)}, {0, "memory", third(4)}, {0, "gpu_share", 0.6}, {0, "speed", third(0.8)}, {0, "workers", 0},
				{1, "cpu", -1}, {1, "memory", 1},
			}
		}},
		{"twice the workers are twice as fast, half of them half", func() (*stage, []env.Offer, []tells) {
			g := of(1)
			g.known = physics.Ideal()
			a := g.wait(4, hour, func(j *cluster.JobSpec) { j.MinWorkers, j.MaxWorkers = 1, 8 })
			return g, []env.Offer{offer(env.Own, a, g.place(a, 0, 8)), offer(env.Sized, a, g.place(a, 0, 2))}, []tells{
				{0, "workers", third(2)}, {0, "speed", third(2)}, {0, "run_time", logTime(30 * minutes)},
				{1, "workers", third(0.5)}, {1, "run_time", logTime(2 * hour)}, {0, "takes", 1}, {1, "takes", 0.25},
			}
		}},
		{"a gang is scattered over servers and racks", func() (*stage, []env.Offer, []tells) {
			g := of(4)
			for i, r := range []int32{1, 1, 2, 3} {
				g.spec.Servers[i].Rack = r
			}
			a := g.wait(8, hour)
			return g, []env.Offer{
					offer(env.Own, a, g.place(a, 0, 8)), offer(env.Begin, a, g.place(a, 0, 4, 1, 4)),
					offer(env.Begin, a, g.place(a, 0, 4, 1, 1, 2, 1, 3, 2)),
				}, []tells{
					{0, "breaks", 0}, {0, "scatter", 0}, {1, "scatter", 0.5}, {2, "scatter", 0.75}, {0, "racks", 0}, {1, "racks", 0},
					{2, "racks", 3.0 / 8},
				}
		}},
		{"a guest slows its host and takes no GPU", func() (*stage, []env.Offer, []tells) {
			g := of(2)
			g.known = felt{}
			g.run(0, 1, hour, share(500), model("hungry"))
			a := g.wait(1, 30*minutes, share(500), model("meek"))
			price := 0.1 / 16
			own, packed := 1800*(1+price), 3000+300*(1+price/2)
			return g, []env.Offer{offer(env.Own, a, g.place(a, 1, 1)), offer(env.Packed, a, g.place(a, 0, 1))}, []tells{
				{0, "shared", 0}, {1, "shared", 1}, {0, "takes", 1.0 / 15}, {0, "takes_all", 1.0 / 16}, {1, "takes", 0},
				{1, "takes_all", 0}, {1, "speed", third(0.6)}, {1, "harm", 0.1}, {1, "delay", logTime(5 * minutes)},
				{1, "relief", 0}, {0, "harm", 0}, {0, "delay", 0}, {0, "partner", 0},
				{1, "partner", against(50*minutes, 4000*time.Second)}, {1, "end", against(50*minutes, 30*minutes)},
				{1, "cost", tanh(float32(math.Log((packed + 60) / (own + 60))))},
			}
		}},
		{"a guest harms its host no longer than that lasts", func() (*stage, []env.Offer, []tells) {
			g := of(1)
			g.known = felt{}
			g.run(0, 1, 9*minutes, share(500))
			a := g.wait(1, 5*hour, share(500))
			return g, []env.Offer{offer(env.Packed, a, g.place(a, 0, 1))}, []tells{{0, "delay", logTime(minutes)}}
		}},
		{"partners are many, and each counts once", func() (*stage, []env.Offer, []tells) {
			g := of(2)
			g.known = felt{}
			half := cluster.Amount{GPUMilli: 500}
			g.wait(2, 4*hour, share(500))
			g.placed[0] = cluster.Placement{{Server: 0, Workers: 1, Amount: half}, {Server: 1, Workers: 1, Amount: half}}
			g.run(0, 1, 2*hour, share(600))
			a := g.wait(3, 54*minutes, share(400))
			return g, []env.Offer{offer(env.Packed, a, g.place(a, 1, 1, 0, 2))}, []tells{
				{0, "delay", logTime(12 * minutes)}, {0, "partner", against(hour, 4*hour+4*hour/9)}, {0, "shared", 1},
				{0, "fills", 0},
			}
		}},
		{"a guest on a full server does not fill it", func() (*stage, []env.Offer, []tells) {
			g := of(1)
			g.run(0, 8, hour, share(500))
			a := g.wait(1, hour, share(500))
			return g, []env.Offer{offer(env.Packed, a, g.place(a, 0, 1))}, []tells{{0, "fills", 0}, {0, "leaves", 0}}
		}},
		{"many jobs that run for centuries count as much as can be", func() (*stage, []env.Offer, []tells) {
			g := of(3)
			var ops []cluster.Proposal
			for i := range 20 {
				ops = append(ops, g.place(g.wait(1, 100*365*24*hour), i/8, 1))
			}
			return g, []env.Offer{{Kind: env.Own, Job: -1, Ops: ops}},
				[]tells{{0, "starts", 1}, {0, "others_run", 1}, {0, "others_gpu_time", 1}}
		}},
		{"a server that is lent frees its GPUs", func() (*stage, []env.Offer, []tells) {
			g := of(2)
			g.spec.Servers[0].GPUs, g.spec.Servers[1].Pool = 4, cluster.Inference
			return g, []env.Offer{{Kind: env.Own, Job: -1, Ops: []cluster.Proposal{{Kind: cluster.OpLoan, Server: 1}}}},
				[]tells{{0, "frees", 1}, {0, "leaves", 0}, {0, "takes", 0}}
		}},
		{"free GPUs are taken, left, wasted, and servers broken and filled", func() (*stage, []env.Offer, []tells) {
			g := of(3)
			g.run(0, 5, hour)
			a := g.wait(3, hour)
			g.wait(2, hour)
			return g, []env.Offer{offer(env.Own, a, g.place(a, 0, 3)), offer(env.Begin, a, g.place(a, 1, 3)),
					offer(env.Begin, a, g.place(a, 0, 2, 1, 1))}, []tells{
					{0, "takes", 3.0 / 19}, {0, "takes_all", 3.0 / 24}, {0, "leaves", 0}, {0, "fills", 1}, {0, "breaks", 0},
					{0, "waste", 0}, {1, "leaves", 5.0 / 8}, {1, "fills", 0}, {1, "breaks", 0.5}, {1, "waste", 3.0 / 8},
					{2, "leaves", 8.0 / 16}, {2, "breaks", 0.5}, {2, "waste", 6.0 / 16}, {0, "frees", 0},
				}
		}},
		{"the head is delayed by what overstays", func() (*stage, []env.Offer, []tells) {
			g := of(1)
			g.run(0, 4, hour)
			h := g.wait(8, 5*hour)
			a, b, c := g.wait(2, 2*hour), g.wait(2, 30*minutes), g.wait(2, 0)
			return g, []env.Offer{
					offer(env.Own, a, g.place(a, 0, 2)), offer(env.First, b, g.place(b, 0, 2)), offer(env.First, c, g.place(c, 0, 2)),
					offer(env.Preempt, h, stop(0), g.place(h, 0, 8)), offer(env.First, b, g.place(b, 0, 2), g.place(a, 0, 2)),
				}, []tells{
					{0, "delays", logTime(hour)}, {0, "blocks", logTime(hour)}, {1, "delays", 0}, {1, "blocks", 0},
					{2, "delays", 1}, {2, "blocks", 1}, {3, "delays", 0}, {3, "blocks", 0}, {4, "delays", logTime(hour)},
					{4, "blocks", logTime(hour)}, {4, "others_run", logTime(2 * hour)}, {4, "others_gpu_time", logTime(4 * hour)},
					{4, "starts", logCount(2)}, {0, "others_run", 0}, {3, "stops", logCount(1)}, {3, "takes", 1}, {1, "rival", 0},
					{1, "end", 0}, {1, "cost", 0},
				}
		}},
		{"what ends before the head starts takes nothing from it", func() (*stage, []env.Offer, []tells) {
			g := of(2)
			g.run(0, 8, hour)
			g.run(1, 4, 3*hour)
			g.wait(10, 9*hour)
			a, b := g.wait(2, 5*hour), g.wait(2, 30*minutes)
			c := g.wait(2, 5*hour)
			return g, []env.Offer{
				offer(env.Own, a, g.place(a, 1, 2), g.place(b, 1, 2)), offer(env.First, a, g.place(a, 1, 2), g.place(c, 1, 2)),
			}, []tells{{0, "delays", 0}, {1, "delays", logTime(2 * hour)}}
		}},
		{"a job that is slowed overstays for longer", func() (*stage, []env.Offer, []tells) {
			g := of(1)
			g.known = rule{}
			g.run(0, 4, hour)
			g.wait(8, 5*hour)
			a := g.wait(2, 2*hour, func(j *cluster.JobSpec) { j.Request.CPUMilli = 1000 })
			op := g.place(a, 0, 2)
			op.Placement[0].CPUMilli = 500
			return g, []env.Offer{offer(env.Own, a, op)},
				[]tells{{0, "blocks", logTime(90 * minutes)}, {0, "delays", logTime(90 * minutes)}}
		}},
		{"another server holds the head soon after", func() (*stage, []env.Offer, []tells) {
			g := of(2)
			g.run(0, 6, hour)
			g.run(1, 6, 90*minutes)
			g.wait(8, 10*hour)
			a := g.wait(1, 5*hour)
			return g, []env.Offer{offer(env.Own, a, g.place(a, 0, 1)), offer(env.Aligned, a, g.place(a, 1, 1))},
				[]tells{{0, "blocks", logTime(30 * minutes)}, {1, "blocks", 0}, {0, "delays", 0}}
		}},
		{"a wait is held against the run and against starting", func() (*stage, []env.Offer, []tells) {
			g := of(1)
			g.known = rule{}
			a := g.wait(2, hour)
			price := 0.1 / 8
			own := 3600 * (1 + 2*price)
			return g, []env.Offer{offer(env.Own, a, g.place(a, 0, 2)), later(offer(env.Wait, a), 30*minutes),
					{Kind: env.Stop, Job: -1}, offer(env.Wait, a)}, []tells{
					{3, "end", 0}, {3, "rival", 1}, {3, "cost", tanh(float32(math.Log((own + 3660) / (own + 60))))},
					{1, "expected_wait", logTime(30 * minutes)}, {1, "patience", against(30*minutes, hour)}, {1, "acts", 0},
					{1, "placed", 0},
					{1, "end", against(90*minutes, hour)}, {1, "cost", tanh(float32(math.Log((own + 1860) / (own + 60))))},
					{1, "run_time", logTime(hour)}, {1, "gpu_time", logTime(2 * hour)}, {0, "patience", 0}, {0, "expected_wait", 0},
					{1, "rival", 1}, {1, "type_speed", 0}, {2, "stop", 1}, {2, "run_time", 0}, {2, "rival", 0}, {2, "foreseen", 0},
				}
		}},
		{"a running job is stopped, moved or grows", func() (*stage, []env.Offer, []tells) {
			g := of(2)
			g.known = felt{}
			g.run(0, 1, hour, share(500), model("hungry"))
			g.run(0, 1, 2*hour, share(500), model("meek"))
			g.wait(8, hour)
			return g, []env.Offer{
					later(offer(env.Own, 0, stop(0)), 30*minutes), {Kind: env.Veto, Job: 0},
					offer(env.Move, 0, as(cluster.OpMigrate, g.place(0, 1, 1))),
					offer(env.Grow, 1, as(cluster.OpResize, g.place(1, 0, 1))), offer(env.Preempt, 0, stop(0)),
				}, []tells{
					{4, "end", 0}, {4, "leaves", 0}, {4, "patience", 0},
					{0, "runs", 1}, {0, "placed", 0}, {0, "stops", logCount(1)}, {0, "restarts", 0}, {0, "frees", 0},
					{0, "relief", logTime(48 * minutes)}, {0, "run_time", logTime(hour)},
					{1, "runs", 1}, {1, "placed", 1}, {1, "acts", 0}, {1, "speed", third(0.9)}, {1, "gain", 0}, {1, "shared", 1},
					{1, "run_time", logTime(4000 * time.Second)}, {2, "gain", third(1 / 0.9)}, {2, "restarts", logCount(1)},
					{2, "stops", 0}, {2, "starts", 0}, {2, "relief", logTime(48 * minutes)}, {2, "takes_all", 1.0 / 16},
					{1, "end", against(4000*time.Second, 90*minutes)}, {3, "gain", 0}, {3, "restarts", logCount(1)},
				}
		}},
		{"a job that stops frees its GPUs", func() (*stage, []env.Offer, []tells) {
			g := of(2)
			g.run(0, 6, hour)
			return g, []env.Offer{offer(env.Preempt, 0, stop(0))}, []tells{{0, "frees", 6.0 / 16}, {0, "takes", 0}}
		}},
		{"jobs rank by estimate among those that wait", func() (*stage, []env.Offer, []tells) {
			g := of(1)
			g.window = 1
			g.run(0, 1, 90*minutes)
			a, b := g.wait(1, hour), g.wait(1, 2*hour)
			return g, []env.Offer{offer(env.Own, a), offer(env.First, b), offer(env.Preempt, 0, stop(0)), {Kind: env.Stop, Job: -1}},
				[]tells{{0, "rank", 0}, {1, "rank", 0.5}, {2, "rank", 0.5}, {3, "rank", 0}}
		}},
	} {
		t.Run(c.says, func(t *testing.T) {
			g, offers, want := c.make()
			r := review(t, g, g.build(t), offers)
			for _, x := range want {
				width := len(env.OfferFeatures())
				got := read(t, env.OfferFeatures(), r.Offers[x.offer*width:], x.name)
				if math.Abs(float64(got-x.want)) > 1e-6 {
					t.Errorf("offer %d (%v) %s is %v, want %v", x.offer, offers[x.offer].Kind, x.name, got, x.want)
				}
			}
		})
	}
}

// review looks at offers that must be feasible.
func review(t *testing.T, g *stage, s *cluster.State, offers []env.Offer) *env.Review {
	t.Helper()
	r := &env.Review{}
	if err := (&env.StandardEncoder{Window: g.window}).Review(s.Begin(nil), offers, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWorkDoneIsAtRisk(t *testing.T) {
	g := of(2)
	g.run(0, 2, 5*hour)
	g.run(0, 2, 5*hour)
	s := g.build(t)
	s.SetProgress(0, 2*hour, s.Now(), 1)
	s.SetProgress(1, hour, s.Now(), 1)
	r := review(t, g, s, []env.Offer{
		offer(env.Own, 0, stop(0), as(cluster.OpMigrate, g.place(1, 1, 2))), {Kind: env.Veto, Job: 0},
	})
	width := len(env.OfferFeatures())
	for i, want := range []float32{logTime(3 * hour), 0} {
		if got := read(t, env.OfferFeatures(), r.Offers[i*width:], "at_risk"); got != want {
			t.Errorf("offer %d: at_risk is %v, want %v", i, got, want)
		}
	}
}

func TestOfferFeaturesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for i, f := range env.OfferFeatures() {
		if f.Name == "" || seen[f.Name] || f.Unit == "" || f.Min >= f.Max {
			t.Errorf("feature %d is %+v", i, f)
		}
		seen[f.Name] = true
	}
	if env.OfferFeatures()[env.Preempt].Name != env.Preempt.String() || env.Reserve.String() != "reserve" {
		t.Errorf("kinds are %v and %v", env.Preempt, env.Reserve)
	}
}

func TestServersShareOffers(t *testing.T) {
	g := of(4)
	g.run(0, 6, hour)
	g.run(3, 2, hour)
	g.spec.Servers[2].Pool = cluster.Inference
	a, b := g.wait(4, hour), g.wait(12, hour)
	r := review(t, g, g.build(t), []env.Offer{
		offer(env.Own, a, g.place(a, 1, 3, 0, 1)), later(offer(env.Wait, a), hour),
		offer(env.Preempt, b, stop(0), g.place(b, 1, 8, 0, 4)), offer(env.Move, 1, as(cluster.OpMigrate, g.place(1, 1, 2))),
		offer(env.Own, a, cluster.Proposal{Kind: cluster.OpLoan, Server: 2}, g.place(a, 2, 3, 1, 1)),
		offer(env.Move, 1, stop(1), g.place(1, 1, 2)),
	})
	want := []env.OfferShare{
		{0, 0, 0.25}, {0, 1, 0.75}, {2, 0, 10.0 / 18}, {2, 1, 8.0 / 18}, {3, 1, 1}, {4, 1, 0.2}, {4, 2, 0.8}, {5, 1, 1},
	}
	if !slices.Equal(r.Shares, want) {
		t.Errorf("shares %v, want %v", r.Shares, want)
	}
	if !slices.Equal(r.Of, []int32{0, 0, 1, 2, 0, 2}) || !slices.Equal(r.Ids, []cluster.JobID{2, 3, 1}) {
		t.Errorf("offers are about rows %v of jobs %v", r.Of, r.Ids)
	}
	spec := (&env.StandardEncoder{}).Spec(4)
	if got := read(t, spec.Job, r.Jobs[2*len(spec.Job):], "startable"); got != 0 {
		t.Errorf("a running job is startable: %v", got)
	}
}

func TestImpossibleOffersAreNamed(t *testing.T) {
	g := of(1)
	g.known = felt{}
	g.run(0, 6, hour)
	a := g.wait(2, hour)
	beyond := g.place(a, 0, 2)
	beyond.Placement[0].Server = 7
	for _, c := range []struct {
		says  string
		offer env.Offer
		want  string
	}{
		{"no room", offer(env.Begin, a, g.place(a, 0, 2), g.place(0, 0, 3)), "offer 1 (begin of job 1): place job 0"},
		{"no server", offer(env.Begin, a, beyond), "offer 1 (begin of job 1): place job 1"},
		{"no job", offer(env.Preempt, 9, stop(9)), "offer 1 (preempt of job 9)"},
		{"another job that is none", offer(env.Preempt, a, stop(9)), "offer 1 (preempt of job 1): preempt job 9"},
		{"not running", offer(env.Preempt, a, stop(a)), "offer 1 (preempt of job 1): preempt job 1"},
	} {
		t.Run(c.says, func(t *testing.T) {
			s := g.build(t)
			tx, before := s.Begin(nil), picture(s)
			err := env.NewEncoder().Review(tx, []env.Offer{offer(env.Own, a, g.place(a, 0, 2)), c.offer}, &env.Review{})
			if !errors.Is(err, cluster.ErrInfeasible) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that is infeasible and says %q", err, c.want)
			}
			if after := picture(s); after != before || tx.Mark() != 0 {
				t.Errorf("the state is %s, was %s", after, before)
			}
		})
	}
	err := env.NewEncoder().Review(g.build(t).Begin(nil), []env.Offer{{Kind: 99, Job: -1}}, &env.Review{})
	if err == nil || !strings.Contains(err.Error(), "kind 99") {
		t.Errorf("error %v, want one about kind 99", err)
	}
}
