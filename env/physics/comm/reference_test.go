package comm_test

import (
	"math"

	"github.com/clustergym/clustergym/env/physics/comm"
	"pgregory.net/rapid"
)

// replica is a vertex of a job's graph with its server.
type replica struct {
	stage, rank, server int
}

// replicas lists the replicas of a mapping, those of each stage server by server.
func replicas(job comm.Job, x comm.Mapping) []replica {
	var all []replica
	servers := len(x) / len(job.Stages)
	for s := range job.Stages {
		rank := 0
		for m := range servers {
			for range x[s*servers+m] {
				all = append(all, replica{s, rank, m})
				rank++
			}
		}
	}
	return all
}

// pairBytes returns the bytes that two replicas exchange in an iteration: activations and their gradients between neighbouring
// stages, or the 2(k-1) steps of a ring all-reduce, each with a chunk of 1/k sent to the next rank.
func pairBytes(job comm.Job, v, w replica) float64 {
	if v.stage > w.stage {
		v, w = w, v
	}
	k := int(job.Stages[v.stage].Replicas)
	bytes := 0.
	switch w.stage - v.stage {
	case 0:
		for range 2 * (k - 1) {
			if (v.rank+1)%k == w.rank {
				bytes += job.Stages[v.stage].Params / float64(k)
			}
			if (w.rank+1)%k == v.rank {
				bytes += job.Stages[v.stage].Params / float64(k)
			}
		}
	case 1:
		pairs := float64(k) * float64(job.Stages[w.stage].Replicas)
		bytes += job.Stages[v.stage].Activations / pairs // forward
		bytes += job.Stages[v.stage].Activations / pairs // back
	}
	return bytes
}

func refCut(job comm.Job, all []replica) float64 {
	cut := 0.
	for i, v := range all {
		for _, w := range all[i+1:] {
			if v.server != w.server {
				cut += pairBytes(job, v, w)
			}
		}
	}
	return cut
}

// refAlpha computes Alpha by adding up the bytes of every pair of replicas.
func refAlpha(job comm.Job, all []replica, links comm.Links, gpus []int32, nic []float64) float64 {
	tensor := float64(max(job.Tensor, 1))
	slowest := 0.
	for s, stage := range job.Stages {
		bandwidth := make([]float64, len(gpus)) // by server: of this stage
		leaving := make([]float64, len(gpus))   // by server: activation bytes between this stage there and all other servers
		staying := make([]float64, len(gpus))   // by server: activation bytes within it, of the busiest replica of this stage
		spread := map[int]bool{}
		for _, v := range all {
			if v.stage != s {
				continue
			}
			spread[v.server] = true
			bandwidth[v.server] += links.NIC * tensor / float64(gpus[v.server])
			within := 0.
			for _, w := range all {
				switch {
				case w.stage == s:
				case w.server == v.server:
					within += pairBytes(job, v, w)
				default:
					leaving[v.server] += pairBytes(job, v, w)
				}
			}
			staying[v.server] = max(staying[v.server], within)
		}
		pipeline, narrowest := 0., math.Inf(1)
		for m := range spread {
			if nic != nil {
				bandwidth[m] *= nic[m]
			}
			narrowest = min(narrowest, bandwidth[m])
			pipeline = max(pipeline, leaving[m]/bandwidth[m]+staying[m]/(links.Intra*tensor))
		}
		if len(spread) == 1 {
			narrowest = links.Intra * tensor
		}
		time := stage.Compute + pipeline
		for range 2 * (stage.Replicas - 1) { // steps of the ring
			time += stage.Params / float64(stage.Replicas) / narrowest
		}
		for range 2 * (max(job.Tensor, 1) - 1) {
			time += stage.TensorBytes / tensor / links.Intra
		}
		slowest = max(slowest, time)
	}
	return slowest
}

// refHeavyEdge follows the steps of HeavyEdge on a full matrix of edges. Weights must be whole numbers, so that equal weights are
// exactly equal.
func refHeavyEdge(job comm.Job, free []int32) comm.Mapping {
	var all []replica
	for s, stage := range job.Stages {
		for r := range int(stage.Replicas) {
			all = append(all, replica{s, r, -1})
		}
	}
	edge := make([][]float64, len(all))
	for i, v := range all {
		edge[i] = make([]float64, len(all))
		for j, w := range all {
			if i != j {
				edge[i][j] = pairBytes(job, v, w)
			}
		}
	}
	x := make(comm.Mapping, len(job.Stages)*len(free))
	total := func(i, server int) float64 {
		sum := 0.
		for j, w := range all {
			if w.server == server {
				sum += edge[i][j]
			}
		}
		return sum
	}
	for m, f := range free {
		take := func(i int) {
			all[i].server = m
			x[all[i].stage*len(free)+m]++
		}
		for room := int(f / max(job.Tensor, 1)); room > 0; {
			var rest []int
			for i := range all {
				if all[i].server < 0 {
					rest = append(rest, i)
				}
			}
			if len(rest) == 0 {
				break
			}
			empty := true
			for _, v := range all {
				empty = empty && v.server != m
			}
			pick := rest[0]
			if !empty {
				for _, i := range rest {
					if total(i, m) > total(pick, m) {
						pick = i
					}
				}
				take(pick)
				room--
				continue
			}
			a, b, most := -1, -1, 0.
			for n, i := range rest {
				for _, j := range rest[n+1:] {
					if edge[i][j] > most {
						a, b, most = i, j, edge[i][j]
					}
				}
			}
			if room >= 2 && a >= 0 {
				take(a)
				take(b)
				room -= 2
				continue
			}
			for _, i := range rest {
				if total(i, -1) < total(pick, -1) {
					pick = i
				}
			}
			take(pick)
			room--
		}
	}
	return x
}

// drawJob draws a job of up to 4 stages of up to 5 replicas. With whole set, the bytes on all edges of its graph are small whole
// numbers, so that many are equal.
func drawJob(t *rapid.T, whole bool) comm.Job {
	job := comm.Job{Tensor: rapid.Int32Range(0, 3).Draw(t, "tensor")}
	k := rapid.SliceOfN(rapid.Int32Range(1, 5), 1, 4).Draw(t, "replicas")
	bytes := func(name string) float64 {
		return rapid.OneOf(rapid.Just(0.), rapid.Float64Range(1, 1e9)).Draw(t, name)
	}
	for s := range k {
		stage := comm.Stage{Replicas: k[s], Compute: rapid.Float64Range(1e-4, 1).Draw(t, "compute")}
		if whole {
			stage.Params = float64(k[s]) * float64(rapid.IntRange(0, 3).Draw(t, "params"))
			if s+1 < len(k) {
				stage.Activations = float64(k[s]*k[s+1]) * float64(rapid.IntRange(0, 3).Draw(t, "activations"))
			}
		} else {
			stage.Params, stage.Activations = bytes("params"), bytes("activations")
			stage.TensorBytes = bytes("tensor bytes")
		}
		job.Stages = append(job.Stages, stage)
	}
	return job
}

// drawLinks draws links that are at least as fast inside servers as between them.
func drawLinks(t *rapid.T) comm.Links {
	nic := rapid.Float64Range(1e8, 1e10).Draw(t, "nic")
	return comm.Links{
		Intra: nic * rapid.Float64Range(1, 100).Draw(t, "intra"),
		NIC:   nic,
	}
}

// drawMapping puts each replica on one of up to 6 servers, which have different numbers of GPUs, at least as many as the mapping
// uses.
func drawMapping(t *rapid.T, job comm.Job) (x comm.Mapping, gpus []int32, nic []float64) {
	servers := rapid.IntRange(1, 6).Draw(t, "servers")
	x = make(comm.Mapping, len(job.Stages)*servers)
	gpus = make([]int32, servers)
	for s, stage := range job.Stages {
		for range stage.Replicas {
			m := rapid.IntRange(0, servers-1).Draw(t, "server")
			x[s*servers+m]++
			gpus[m] += max(job.Tensor, 1)
		}
	}
	for m := range gpus {
		gpus[m] += rapid.Int32Range(0, 4).Draw(t, "free")
	}
	if rapid.Bool().Draw(t, "contended") {
		nic = rapid.SliceOfN(rapid.Float64Range(0.01, 1), servers, servers).Draw(t, "multipliers")
	}
	return x, gpus, nic
}
