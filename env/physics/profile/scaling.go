package profile

import "math"

// Scaling is Pollux's model of the time of a training step (OSDI 2021, §3.2), for one application. A step takes
//
//	(compute^Gamma + net^Gamma)^(1/Gamma)
//	compute = ComputeBase + ComputePerSample·(local batch)
//	net     = 0 for 1 replica, else Base + PerReplica·(replicas-2), with one pair for 1 server and one for several
//
// except that the network of one server never takes longer than that of several: its pair was measured with 2 to 4 replicas
// and rises too steeply to hold for many more. Times are seconds on servers of 4 T4 GPUs. All fields are above 0, but those
// per replica may be 0; Gamma is from 1 to 10. [MinBatch, MaxBatch] is the range of local batches that were measured.
type Scaling struct {
	ComputeBase, ComputePerSample float64
	LocalBase, LocalPerReplica    float64 // all replicas on one server
	RemoteBase, RemotePerReplica  float64 // on several
	Gamma                         float64
	MinBatch, MaxBatch            float64
}

// StepSeconds returns the seconds of one step of that many replicas on that many servers, each with a batch of so many
// samples. Numbers below 1 count as 1, and more servers than replicas as one for each.
func (s *Scaling) StepSeconds(nodes, replicas int32, batch float64) float64 {
	return s.step(s.ComputeBase+s.ComputePerSample*batch, nodes, replicas)
}

func (s *Scaling) step(compute float64, nodes, replicas int32) float64 {
	if replicas <= 1 {
		return compute
	}
	net := s.RemoteBase + s.RemotePerReplica*float64(replicas-2)
	if nodes <= 1 {
		net = min(net, s.LocalBase+s.LocalPerReplica*float64(replicas-2))
	}
	high, low := max(compute, net), min(compute, net) // keeps the powers from overflowing
	return high * math.Pow(1+math.Pow(low/high, s.Gamma), 1/s.Gamma)
}

// Throughput returns the samples per second of that many replicas on that many servers, at a fixed local batch, relative to 1
// for one replica; above 0. On equally many servers it never falls with more replicas, and one server is never worse than
// several; it may fall when a gang first leaves its server. Numbers below 1 count as 1, and more servers than replicas as one
// for each.
//
// It is fitted to Pollux's measurements of the application that the family is likened to (Apache-2.0), taken on T4 GPUs.
func (f *Family) Throughput(nodes, replicas int32) float64 {
	replicas = max(replicas, 1)
	return float64(replicas) * f.step / f.scaling.step(f.step, nodes, replicas)
}
