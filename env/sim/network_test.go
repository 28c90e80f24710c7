package sim_test

import (
	"testing"

	"github.com/clustergym/clustergym/env/physics/profile"
)

// links gives the bandwidths of these tests in GB/s: between GPUs of a server, of a server's NIC, of a rack's uplink.
const links = "network(50,4,0.5)"

// iteration returns the time of one iteration of a job with two data-parallel workers on two servers of 4 GPUs. Each worker has a
// quarter of its server's NIC, times fraction behind a contended uplink. The time is compute, plus sending the gradients once
// (2(k-1)/k times with k = 2).
func iteration(f *profile.Family, fraction float64) float64 {
	return f.ComputeSeconds() + f.ParamBytes()/(1e9*fraction)
}

// packed returns the time of one iteration of the same job on one server.
func packed(f *profile.Family) float64 { return f.ComputeSeconds() + f.ParamBytes()/50e9 }

// TestAGangWaitsForItsAllReduce checks that a gang on two servers runs at the ratio of its iteration times on one and on two
// servers.
func TestAGangWaitsForItsAllReduce(t *testing.T) {
	f := profile.Lookup("bert-large")
	got := finishes(t, `
servers 2x4
physics `+links+`
job a submit=0s workers=2 work=100s model=bert-large
job b submit=0s workers=2 work=100s model=bert-large
job c submit=0s workers=2 work=100s
`, `
0s start a 0:1 1:1
0s start b 0:2
0s start c 0:1 1:1
30s migrate a 1:2
`)
	near(t, got, "a", 30+100-30*packed(f)/iteration(f, 1))
	near(t, got, "b", 100)
	near(t, got, "c", 100) // its model is unknown, so it sends nothing
}

// TestContentionOnAnUplinkComesAndLeaves checks contention on an uplink of 0.5 GB/s that each gang crossing it would use with 1
// GB/s. Alone, a gets a half of its demand. Together with b, from 20 s until b ends, it gets a quarter. d stays within its rack
// and does not interfere.
func TestContentionOnAnUplinkComesAndLeaves(t *testing.T) {
	f := profile.Lookup("bert-large")
	alone, beside := packed(f)/iteration(f, 0.5), packed(f)/iteration(f, 0.25)
	got := finishes(t, `
servers 2x4 rack=1
servers 2x4 rack=2
physics `+links+`
job a submit=0s workers=2 work=100s model=bert-large
job b submit=20s workers=2 work=10s model=bert-large
job d submit=30s workers=2 work=50s model=bert-large
`, `
0s start a 0:1 2:1
20s start b 1:1 3:1
30s start d 0:1 1:1
`)
	gone := 20 + 10/beside
	near(t, got, "b", gone)
	near(t, got, "a", gone+(100-20*alone-10)/alone)
	near(t, got, "d", 30+50*iteration(f, 1)/packed(f))
}

// TestNoContentionWhereNoUplinkIsShared checks that gangs are not slowed by an uplink if one of their servers has no rack, or if
// the uplink is fast enough.
func TestNoContentionWhereNoUplinkIsShared(t *testing.T) {
	f := profile.Lookup("bert-large")
	got := finishes(t, `
servers 1x4 rack=1
servers 1x4
servers 1x4 rack=2
physics network(50,4,2)
job a submit=0s workers=2 work=100s model=bert-large
job b submit=0s workers=2 work=100s model=bert-large
`, `
0s start a 0:1 2:1
0s start b 0:1 1:1
`)
	for _, job := range []string{"a", "b"} {
		near(t, got, job, 100*iteration(f, 1)/packed(f))
	}
}

// TestAFailureFreesTheUplink checks that a failure behind a contended uplink frees the uplink for others at that instant. The
// failed job falls back to its checkpoint, restarts and contends again.
func TestAFailureFreesTheUplink(t *testing.T) {
	f := profile.Lookup("bert-large")
	alone, beside := packed(f)/iteration(f, 0.5), packed(f)/iteration(f, 0.25)
	got := finishes(t, `
servers 2x4 rack=1
servers 2x4 rack=2
physics `+links+`
preempt 10s
checkpoint interval=5s
outage 3 from=40s to=60s
job a submit=0s workers=2 work=100s model=bert-large
job b submit=0s workers=2 work=100s model=bert-large
`, `
0s start a 0:1 2:1
0s start b 1:1 3:1
60s start b 1:1 3:1
`)
	kept := float64(int(40*beside/5) * 5) // progress of b after the failure; b occupies its links while it restarts
	a := 40*beside + 20*alone             // progress of a at 60 s
	first := 60 + (100-a)/beside
	near(t, got, "a", first)
	near(t, got, "b", first+(100-kept-(first-70)*beside)/alone)
}
