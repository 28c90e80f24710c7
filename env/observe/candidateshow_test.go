package observe_test

import (
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

func TestCandidatesShow(t *testing.T) {
	try(t, []play{
		{"a start on slow GPUs takes twice as long", func() (*stage, []candidates.Candidate, []tells) {
			g := of(2)
			g.known = rule{}
			g.spec.Servers[0].GPUType, g.spec.Servers[1].GPUType = "V100", "P100"
			a := g.wait(2, hour)
			return g, []candidates.Candidate{candidate(candidates.Own, a, g.place(a, 0, 2)), candidate(candidates.Begin, a, g.place(a, 1, 2))}, []tells{
				{0, "own", 1}, {0, "begin", 0}, {1, "own", 0}, {1, "begin", 1}, {0, "acts", 1}, {0, "placed", 1}, {0, "runs", 0},
				{0, "foreseen", 1}, {0, "rival", 1}, {0, "speed", 0}, {1, "speed", third(0.5)}, {0, "type_speed", 1},
				{1, "type_speed", 0.5}, {0, "run_time", logTime(hour)}, {1, "run_time", logTime(2 * hour)},
				{1, "gpu_time", logTime(4 * hour)}, {1, "end", against(2*hour, hour)}, {0, "end", 0}, {0, "cost", 0},
				{0, "starts", logCount(1)}, {0, "gain", 0}, {0, "age", against(ten, hour)}, {1, "age", against(ten, 2*hour)},
			}
		}},
		{"without an estimate no number tells of time", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			a := g.wait(2, 0)
			return g, []candidates.Candidate{candidate(candidates.Own, a, g.place(a, 0, 2)), later(candidate(candidates.Wait, a), hour)}, []tells{
				{0, "foreseen", 0}, {0, "run_time", 0}, {0, "gpu_time", 0}, {1, "end", 0}, {1, "patience", 0}, {1, "age", 0},
				{1, "expected_wait", logTime(hour)}, {0, "type_speed", 1},
			}
		}},
		{"amounts are held against those asked for", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.known = rule{}
			a := g.wait(2, hour, func(j *cluster.JobSpec) { j.Request.CPUMilli, j.Request.MemMiB = 2000, 1000 })
			op := g.place(a, 0, 2)
			op.Placement[0].CPUMilli, op.Placement[0].MemMiB, op.Placement[0].GPUMilli = 1000, 4000, 600
			none := g.place(a, 0, 2)
			none.Placement[0].CPUMilli, none.Placement[0].MemMiB = 0, 1000_000
			return g, []candidates.Candidate{candidate(candidates.Own, a, op), candidate(candidates.Sized, a, none)}, []tells{
				{0, "cpu", third(0.5)}, {0, "memory", third(4)}, {0, "gpu_share", 0.6}, {0, "speed", third(0.8)}, {0, "workers", 0},
				{1, "cpu", -1}, {1, "memory", 1},
			}
		}},
		{"twice the workers are twice as fast, half of them half", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.known = physics.Ideal()
			a := g.wait(4, hour, func(j *cluster.JobSpec) { j.MinWorkers, j.MaxWorkers = 1, 8 })
			return g, []candidates.Candidate{candidate(candidates.Own, a, g.place(a, 0, 8)), candidate(candidates.Sized, a, g.place(a, 0, 2))}, []tells{
				{0, "workers", third(2)}, {0, "speed", third(2)}, {0, "run_time", logTime(30 * minutes)},
				{1, "workers", third(0.5)}, {1, "run_time", logTime(2 * hour)}, {0, "takes", 1}, {1, "takes", 0.25},
			}
		}},
		{"a gang is scattered over servers and racks", func() (*stage, []candidates.Candidate, []tells) {
			g := of(4)
			for i, r := range []int32{1, 1, 2, 3} {
				g.spec.Servers[i].Rack = r
			}
			a := g.wait(8, hour)
			return g, []candidates.Candidate{
					candidate(candidates.Own, a, g.place(a, 0, 8)), candidate(candidates.Begin, a, g.place(a, 0, 4, 1, 4)),
					candidate(candidates.Begin, a, g.place(a, 0, 4, 1, 1, 2, 1, 3, 2)),
				}, []tells{
					{0, "breaks", 0}, {0, "scatter", 0}, {1, "scatter", 0.5}, {2, "scatter", 0.75}, {0, "racks", 0}, {1, "racks", 0},
					{2, "racks", 3.0 / 8},
				}
		}},
		{"a guest slows its host and takes no GPU", func() (*stage, []candidates.Candidate, []tells) {
			g := of(2)
			g.known = felt{}
			g.run(0, 1, hour, share(500), model("hungry"))
			a := g.wait(1, 30*minutes, share(500), model("meek"))
			price := 0.1 / 16
			own, packed := 1800*(1+price), 3000+300*(1+price/2)
			return g, []candidates.Candidate{candidate(candidates.Own, a, g.place(a, 1, 1)), candidate(candidates.Packed, a, g.place(a, 0, 1))}, []tells{
				{0, "shared", 0}, {1, "shared", 1}, {0, "takes", 1.0 / 15}, {0, "takes_all", 1.0 / 16}, {1, "takes", 0},
				{1, "takes_all", 0}, {1, "speed", third(0.6)}, {1, "harm", 0.1}, {1, "delay", logTime(5 * minutes)},
				{1, "relief", 0}, {0, "harm", 0}, {0, "delay", 0}, {0, "partner", 0},
				{1, "partner", against(50*minutes, 4000*time.Second)}, {1, "end", against(50*minutes, 30*minutes)},
				{1, "cost", tanh(float32(math.Log((packed + 60) / (own + 60))))},
			}
		}},
		{"a guest harms its host no longer than that lasts", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.known = felt{}
			g.run(0, 1, 9*minutes, share(500))
			a := g.wait(1, 5*hour, share(500))
			return g, []candidates.Candidate{candidate(candidates.Packed, a, g.place(a, 0, 1))}, []tells{{0, "delay", logTime(minutes)}}
		}},
		{"partners are many, and each counts once", func() (*stage, []candidates.Candidate, []tells) {
			g := of(2)
			g.known = felt{}
			half := cluster.Amount{GPUMilli: 500}
			g.wait(2, 4*hour, share(500))
			g.placed[0] = cluster.Placement{{Server: 0, Workers: 1, Amount: half}, {Server: 1, Workers: 1, Amount: half}}
			g.run(0, 1, 2*hour, share(600))
			a := g.wait(3, 54*minutes, share(400))
			return g, []candidates.Candidate{candidate(candidates.Packed, a, g.place(a, 1, 1, 0, 2))}, []tells{
				{0, "delay", logTime(12 * minutes)}, {0, "partner", against(hour, 4*hour+4*hour/9)}, {0, "shared", 1},
				{0, "fills", 0},
			}
		}},
		{"a guest on a full server does not fill it", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.run(0, 8, hour, share(500))
			a := g.wait(1, hour, share(500))
			return g, []candidates.Candidate{candidate(candidates.Packed, a, g.place(a, 0, 1))}, []tells{{0, "fills", 0}, {0, "leaves", 0}}
		}},
		{"many jobs that run for centuries count as much as can be", func() (*stage, []candidates.Candidate, []tells) {
			g := of(3)
			var ops []cluster.Proposal
			for i := range 20 {
				ops = append(ops, g.place(g.wait(1, 100*365*24*hour), i/8, 1))
			}
			return g, []candidates.Candidate{{Kind: candidates.Own, Job: -1, Ops: ops}},
				[]tells{{0, "starts", 1}, {0, "others_run", 1}, {0, "others_gpu_time", 1}}
		}},
		{"a server that is lent frees its GPUs", func() (*stage, []candidates.Candidate, []tells) {
			g := of(2)
			g.spec.Servers[0].GPUs, g.spec.Servers[1].Pool = 4, cluster.Inference
			return g, []candidates.Candidate{{Kind: candidates.Own, Job: -1, Ops: []cluster.Proposal{{Kind: cluster.OpLoan, Server: 1}}}},
				[]tells{{0, "frees", 1}, {0, "leaves", 0}, {0, "takes", 0}}
		}},
		{"free GPUs are taken, left, wasted, and servers broken and filled", func() (*stage, []candidates.Candidate, []tells) {
			g := of(3)
			g.run(0, 5, hour)
			a := g.wait(3, hour)
			g.wait(2, hour)
			return g, []candidates.Candidate{candidate(candidates.Own, a, g.place(a, 0, 3)), candidate(candidates.Begin, a, g.place(a, 1, 3)),
					candidate(candidates.Begin, a, g.place(a, 0, 2, 1, 1))}, []tells{
					{0, "takes", 3.0 / 19}, {0, "takes_all", 3.0 / 24}, {0, "leaves", 0}, {0, "fills", 1}, {0, "breaks", 0},
					{0, "waste", 0}, {1, "leaves", 5.0 / 8}, {1, "fills", 0}, {1, "breaks", 0.5}, {1, "waste", 3.0 / 8},
					{2, "leaves", 8.0 / 16}, {2, "breaks", 0.5}, {2, "waste", 6.0 / 16}, {0, "frees", 0},
				}
		}},
		{"the head is delayed by what overstays", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.run(0, 4, hour)
			h := g.wait(8, 5*hour)
			a, b, c := g.wait(2, 2*hour), g.wait(2, 30*minutes), g.wait(2, 0)
			return g, []candidates.Candidate{
					candidate(candidates.Own, a, g.place(a, 0, 2)), candidate(candidates.First, b, g.place(b, 0, 2)), candidate(candidates.First, c, g.place(c, 0, 2)),
					candidate(candidates.Preempt, h, stop(0), g.place(h, 0, 8)), candidate(candidates.First, b, g.place(b, 0, 2), g.place(a, 0, 2)),
				}, []tells{
					{0, "delays", logTime(hour)}, {0, "blocks", logTime(hour)}, {1, "delays", 0}, {1, "blocks", 0},
					{2, "delays", 1}, {2, "blocks", 1}, {3, "delays", 0}, {3, "blocks", 0}, {4, "delays", logTime(hour)},
					{4, "blocks", logTime(hour)}, {4, "others_run", logTime(2 * hour)}, {4, "others_gpu_time", logTime(4 * hour)},
					{4, "starts", logCount(2)}, {0, "others_run", 0}, {3, "stops", logCount(1)}, {3, "takes", 1}, {1, "rival", 0},
					{1, "end", 0}, {1, "cost", 0},
				}
		}},
		{"what ends before the head starts takes nothing from it", func() (*stage, []candidates.Candidate, []tells) {
			g := of(2)
			g.run(0, 8, hour)
			g.run(1, 4, 3*hour)
			g.wait(10, 9*hour)
			a, b := g.wait(2, 5*hour), g.wait(2, 30*minutes)
			c := g.wait(2, 5*hour)
			return g, []candidates.Candidate{
				candidate(candidates.Own, a, g.place(a, 1, 2), g.place(b, 1, 2)), candidate(candidates.First, a, g.place(a, 1, 2), g.place(c, 1, 2)),
			}, []tells{{0, "delays", 0}, {1, "delays", logTime(2 * hour)}}
		}},
		{"a job that is slowed overstays for longer", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.known = rule{}
			g.run(0, 4, hour)
			g.wait(8, 5*hour)
			a := g.wait(2, 2*hour, func(j *cluster.JobSpec) { j.Request.CPUMilli = 1000 })
			op := g.place(a, 0, 2)
			op.Placement[0].CPUMilli = 500
			return g, []candidates.Candidate{candidate(candidates.Own, a, op)},
				[]tells{{0, "blocks", logTime(90 * minutes)}, {0, "delays", logTime(90 * minutes)}}
		}},
		{"another server holds the head soon after", func() (*stage, []candidates.Candidate, []tells) {
			g := of(2)
			g.run(0, 6, hour)
			g.run(1, 6, 90*minutes)
			g.wait(8, 10*hour)
			a := g.wait(1, 5*hour)
			return g, []candidates.Candidate{candidate(candidates.Own, a, g.place(a, 0, 1)), candidate(candidates.Aligned, a, g.place(a, 1, 1))},
				[]tells{{0, "blocks", logTime(30 * minutes)}, {1, "blocks", 0}, {0, "delays", 0}}
		}},
		{"a wait is held against the run and against starting", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.known = rule{}
			a := g.wait(2, hour)
			price := 0.1 / 8
			own := 3600 * (1 + 2*price)
			return g, []candidates.Candidate{candidate(candidates.Own, a, g.place(a, 0, 2)), later(candidate(candidates.Wait, a), 30*minutes),
					{Kind: candidates.Stop, Job: -1}, candidate(candidates.Wait, a)}, []tells{
					{3, "end", 0}, {3, "rival", 1}, {3, "cost", tanh(float32(math.Log((own + 3660) / (own + 60))))},
					{1, "expected_wait", logTime(30 * minutes)}, {1, "patience", against(30*minutes, hour)}, {1, "acts", 0},
					{1, "placed", 0},
					{1, "end", against(90*minutes, hour)}, {1, "cost", tanh(float32(math.Log((own + 1860) / (own + 60))))},
					{1, "run_time", logTime(hour)}, {1, "gpu_time", logTime(2 * hour)}, {0, "patience", 0}, {0, "expected_wait", 0},
					{1, "rival", 1}, {1, "type_speed", 0}, {2, "stop", 1}, {2, "run_time", 0}, {2, "rival", 0}, {2, "foreseen", 0},
				}
		}},
		{"a running job is stopped, moved or grows", func() (*stage, []candidates.Candidate, []tells) {
			g := of(2)
			g.known = felt{}
			g.run(0, 1, hour, share(500), model("hungry"))
			g.run(0, 1, 2*hour, share(500), model("meek"))
			g.wait(8, hour)
			return g, []candidates.Candidate{
					later(candidate(candidates.Own, 0, stop(0)), 30*minutes), {Kind: candidates.Veto, Job: 0},
					candidate(candidates.Move, 0, as(cluster.OpMigrate, g.place(0, 1, 1))),
					candidate(candidates.Grow, 1, as(cluster.OpResize, g.place(1, 0, 1))), candidate(candidates.Preempt, 0, stop(0)),
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
		{"a job that stops frees its GPUs", func() (*stage, []candidates.Candidate, []tells) {
			g := of(2)
			g.run(0, 6, hour)
			return g, []candidates.Candidate{candidate(candidates.Preempt, 0, stop(0))}, []tells{{0, "frees", 6.0 / 16}, {0, "takes", 0}}
		}},
		{"jobs rank by estimate among those that wait", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.window = 1
			g.run(0, 1, 90*minutes)
			a, b := g.wait(1, hour), g.wait(1, 2*hour)
			return g, []candidates.Candidate{candidate(candidates.Own, a), candidate(candidates.First, b), candidate(candidates.Preempt, 0, stop(0)), {Kind: candidates.Stop, Job: -1}},
				[]tells{{0, "rank", 0}, {1, "rank", 0.5}, {2, "rank", 0.5}, {3, "rank", 0}}
		}},
	})
}
