package profile

import "math"

// Scaling is Pollux's model of the time of a training step (OSDI 2021, §3.2), for one application. A step takes
//
//	(compute^Gamma + net^Gamma)^(1/Gamma)
//	compute = ComputeBase + ComputePerSample·(local batch)
//	net     = 0 for 1 replica, else Base + PerReplica·(replicas-2), with the Local pair on 1 server and the Remote pair on several
//
// We deviate from Pollux in one point: communication on one server never takes longer than on several. Pollux measured the Local
// pair with 2 to 4 replicas only, and it rises too steeply for many more. Times are seconds on servers of 4 T4 GPUs. All fields
// are above 0, except that LocalPerReplica and RemotePerReplica may be 0; Gamma is from 1 to 10. [MinBatch, MaxBatch] is the
// range of local batches that Pollux measured.
type Scaling struct {
	ComputeBase, ComputePerSample float64
	LocalBase, LocalPerReplica    float64 // all replicas on one server
	RemoteBase, RemotePerReplica  float64 // replicas on several servers
	Gamma                         float64
	MinBatch, MaxBatch            float64
}

// StepSeconds returns the seconds of one step with the given number of replicas on the given number of servers (nodes), each
// replica with the given batch in samples. Numbers below 1 count as 1.
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

// Throughput returns the samples per second with the given number of replicas on the given number of servers (nodes) at a fixed
// local batch, relative to 1 for one replica. It is above 0. With a fixed number of servers it never decreases in the number of
// replicas, and one server is never slower than several; it may decrease when a gang first spans more than one server. Numbers
// below 1 count as 1.
//
// Throughput is fitted to Pollux's measurements, on T4 GPUs, of the application that represents the family there (Apache-2.0).
func (f *Family) Throughput(nodes, replicas int32) float64 {
	if f.scaled == nil {
		return f.throughput(float64(nodes), float64(replicas))
	}
	return f.scaled.of(float64(nodes), float64(replicas), f.throughput)
}

func (f *Family) throughput(nodes, replicas float64) float64 {
	replicas = max(replicas, 1)
	return replicas * f.step / f.scaling.step(f.step, int32(nodes), int32(replicas))
}
