package observe_test

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

const (
	minutes = time.Minute
	hour    = time.Hour
)

// sight is a cluster and the numbers that its observation must contain.
type sight struct {
	says string
	make func(*testing.T) (*stage, []shows)
}

func look(t *testing.T, all []sight) {
	for _, c := range all {
		t.Run(c.says, func(t *testing.T) {
			g, want := c.make(t)
			g.check(t, want)
		})
	}
}

func TestServersShow(t *testing.T) {
	look(t, []sight{
		{"half of the GPUs are free when the second of three jobs ends", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.run(0, 2, 5*minutes)
			g.run(0, 2, 30*minutes)
			g.run(0, 4, 2*hour)
			mean := (logTime(5*minutes) + logTime(30*minutes) + logTime(2*hour)) / 3
			return g, []shows{
				server(0, "half_free", logTime(30*minutes)), server(0, "freed_10m", 2.0/8), server(0, "freed_1h", 4.0/8),
				server(0, "mean_end", mean), server(0, "unestimated", 0), server(0, "next_end", logTime(5*minutes)),
				server(0, "last_end", logTime(2*hour)),
			}
		}},
		{"half of the GPUs are free now", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.run(0, 4, 5*minutes)
			return g, []shows{server(0, "half_free", 0), server(0, "freed_10m", 0.5), server(0, "freed_1h", 0.5)}
		}},
		{"a shared GPU is free when the last of its jobs ends", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.spec.Servers[0].GPUs = 1
			g.run(0, 1, 5*minutes, share(500))
			g.run(0, 1, 2*hour, share(500))
			return g, []shows{
				server(0, "half_free", logTime(2*hour)), server(0, "freed_10m", 0), server(0, "freed_1h", 0), server(0, "shared", 1),
				server(0, "guest_room", 0),
			}
		}},
		{"a job without an estimate is not foreseen to end", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.run(0, 6, 0)
			g.run(0, 2, 5*minutes)
			return g, []shows{
				server(0, "half_free", 1), server(0, "unestimated", 0.5), server(0, "freed_1h", 0.25),
				server(0, "mean_end", logTime(5*minutes)),
			}
		}},
		{"a GPU with a share left has room for a guest, one that is held whole has not", func(*testing.T) (*stage, []shows) {
			g := of(2)
			g.run(0, 2, hour, share(600))
			g.run(1, 2, hour)
			return g, []shows{server(0, "guest_room", 0.25), server(1, "guest_room", 0), server(0, "shared", 0)}
		}},
		{"a type of GPU is as fast as the jobs shown run on it", func(*testing.T) (*stage, []shows) {
			g := of(2)
			g.known = rule{}
			g.spec.Servers[0].GPUType, g.spec.Servers[1].GPUType = "V100", "P100"
			g.wait(1, hour)
			g.wait(1, hour, onType("P100"))
			return g, []shows{server(0, "gpu_speed", 1), server(1, "gpu_speed", 0.75)}
		}},
		{"types of GPUs are equal where no profile tells", func(*testing.T) (*stage, []shows) {
			g := of(2)
			g.spec.Servers[0].GPUType, g.spec.Servers[1].GPUType = "V100", "P100"
			g.wait(1, hour)
			return g, []shows{server(0, "gpu_speed", 1), server(1, "gpu_speed", 1)}
		}},
		{"racks have free GPUs, and uplinks that gangs use", func(*testing.T) (*stage, []shows) {
			g := of(5)
			for i, r := range []int32{1, 1, 2, 2, 0} {
				g.spec.Servers[i].Rack = r
			}
			g.wait(12, hour)
			whole := cluster.Amount{GPUMilli: cluster.WholeGPU}
			g.placed[0] = cluster.Placement{{Server: 1, Workers: 8, Amount: whole}, {Server: 2, Workers: 4, Amount: whole}}
			return g, []shows{
				server(0, "rack_free", 0.5), server(1, "uplink", 0.5), server(2, "rack_free", 0.75), server(3, "uplink", 0.25),
				server(4, "rack_free", 0), server(4, "uplink", 0),
			}
		}},
		{"a server on loan must be back", func(*testing.T) (*stage, []shows) {
			g := of(3)
			g.spec.Servers[1].Pool, g.spec.Servers[2].Pool = cluster.Inference, cluster.Inference
			g.loans = []cluster.ServerID{1, 2}
			g.offer, g.due = 1, ten+30*minutes
			return g, []shows{
				server(0, "due", 0), server(1, "due", 1-logTime(30*minutes)), server(2, "on_loan", 1), global("owed", 0.5),
			}
		}},
		{"a server on loan may stay", func(*testing.T) (*stage, []shows) {
			g := of(2)
			g.spec.Servers[1].Pool = cluster.Inference
			g.loans = []cluster.ServerID{1}
			return g, []shows{server(1, "on_loan", 1), server(1, "due", 0), global("owed", 0)}
		}},
	})
}

func TestJobsShow(t *testing.T) {
	look(t, []sight{
		{"jobs rank by estimate, take turns by submission and have company of their size", func(*testing.T) (*stage, []shows) {
			g := of(1)
			a, b, c := g.wait(1, hour, came(5*hour)), g.wait(1, 10*minutes, came(6*hour)), g.wait(8, 2*hour, came(4*hour))
			return g, []shows{
				job(b, "rank", 0), job(a, "rank", 1.0/3), job(c, "rank", 2.0/3),
				job(c, "turn", 0), job(a, "turn", 1.0/3), job(b, "turn", 2.0/3), job(a, "alike", 2.0/3), job(c, "alike", 1.0/3),
			}
		}},
		{"jobs beyond the window count", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.window = 1
			a := g.wait(1, 10*minutes, came(6*hour))
			g.wait(1, hour, came(5*hour))
			g.wait(8, 2*hour, came(7*hour))
			g.wait(2, 2*hour, came(1*hour))
			return g, []shows{job(a, "rank", 0), job(a, "turn", 0.5), job(a, "alike", 0.5)}
		}},
		{"an elastic gang shrinks and grows", func(*testing.T) (*stage, []shows) {
			g := of(1)
			a := g.wait(4, hour, func(j *cluster.JobSpec) { j.MinWorkers, j.MaxWorkers = 1, 8 })
			b := g.wait(4, hour)
			return g, []shows{job(a, "shrinks", 0.75), job(a, "grows", 0.5), job(b, "shrinks", 0), job(b, "grows", 0)}
		}},
		{"a job loses speed on half a GPU beside its like, and with half the CPU", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.known = rule{}
			cpu := func(j *cluster.JobSpec) { j.Request.CPUMilli = 2000 }
			a, b := g.wait(1, hour, model("hungry"), cpu), g.wait(1, hour, model("meek"))
			return g, []shows{job(a, "half_gpu", 0.4), job(a, "half_cpu", 0.2), job(b, "half_gpu", 0.1), job(b, "half_cpu", 0)}
		}},
		{"half a GPU is half the speed where shares cap", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.known = physics.Ideal()
			a := g.wait(1, hour)
			return g, []shows{job(a, "half_gpu", 0.5), job(a, "half_cpu", 0)}
		}},
		{"a tenant has used a quarter of its quota", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.spec.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 8}}
			g.run(0, 2, hour, tenant("a"))
			a, b := g.wait(1, hour, tenant("a")), g.wait(1, hour, tenant("b"))
			return g, []shows{job(a, "quota_used", 0.25), job(b, "quota_used", 0)}
		}},
		{"a third of the GPUs are of a type that will do", func(*testing.T) (*stage, []shows) {
			g := of(3)
			g.spec.Servers[0].GPUType, g.spec.Servers[1].GPUType, g.spec.Servers[2].GPUType = "P100", "V100", "V100"
			a, b, c := g.wait(1, hour, onType("P100")), g.wait(1, hour), g.wait(1, hour, onType("K80"))
			return g, []shows{
				job(a, "types", 1.0/3), job(b, "types", 1), job(c, "types", 0), job(a, "hosts", 1.0/3), job(c, "hole", 1),
			}
		}},
		{"two of three servers could hold a job alone", func(*testing.T) (*stage, []shows) {
			g := of(3)
			g.run(0, 4, hour)
			g.run(1, 5, hour)
			a := g.wait(4, hour)
			return g, []shows{job(a, "hosts", 2.0/3), job(a, "hole", 0)}
		}},
		{"a hole opens when the jobs on one server end", func(*testing.T) (*stage, []shows) {
			g := of(2)
			g.run(0, 4, hour)
			g.run(0, 4, 3*hour)
			g.run(1, 8, 2*hour)
			a, b := g.wait(8, hour), g.wait(4, hour)
			return g, []shows{job(a, "hosts", 0), job(a, "hole", logTime(2*hour)), job(b, "hole", logTime(hour))}
		}},
		{"a gang of two servers waits for the second", func(*testing.T) (*stage, []shows) {
			g := of(3)
			g.run(0, 8, hour)
			g.run(1, 8, 3*hour)
			g.run(2, 8, 2*hour)
			a, b := g.wait(16, hour), g.wait(9, hour)
			return g, []shows{job(a, "hole", logTime(2*hour)), job(b, "hole", logTime(2*hour))}
		}},
		{"no hole is foreseen where estimates are missing", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.run(0, 1, 0)
			a := g.wait(8, hour)
			return g, []shows{job(a, "hole", 1)}
		}},
	})
}

func TestClustersShow(t *testing.T) {
	look(t, []sight{
		{"gangs ask for GPUs by size", func(*testing.T) (*stage, []shows) {
			g := of(2)
			g.wait(1, hour)
			g.wait(1, hour, share(500))
			g.wait(2, hour)
			g.wait(4, hour)
			g.wait(5, hour)
			g.wait(9, hour)
			return g, []shows{
				global("demand_one", logShare(1.5/16)), global("demand_half", logShare(6.0/16)),
				global("demand_server", logShare(5.0/16)), global("demand_more", logShare(9.0/16)),
				global("backlog", logShare(21.5/16)),
			}
		}},
		{"jobs that came within the hour are recent, also those that run", func(*testing.T) (*stage, []shows) {
			g := of(2)
			g.run(0, 2, 2*hour, came(ten-30*minutes))
			g.run(0, 1, 2*hour, came(ten-2*hour))
			g.wait(4, hour, came(ten-hour))
			g.wait(8, hour, came(ten-61*minutes))
			return g, []shows{
				global("recent_one", 0), global("recent_half", logShare(6.0/16)), global("recent_server", 0),
				global("recent_more", 0),
			}
		}},
		{"as much comes as goes", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.run(0, 4, 30*minutes, came(0))
			g.wait(4, hour, came(ten))
			return g, []shows{global("inflow", 0)}
		}},
		{"much comes and nothing goes", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.run(0, 4, 2*hour, came(0))
			g.wait(8, hour, came(ten))
			return g, []shows{global("inflow", 1)}
		}},
		{"twice as much comes as goes", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.run(0, 4, 30*minutes, came(0))
			g.wait(8, hour, came(ten))
			return g, []shows{global("inflow", tanh(0.6832948))} // log(8.08 / 4.08)
		}},
		{"nothing is known of what goes without estimates", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.run(0, 4, 0)
			g.wait(8, hour, came(ten))
			return g, []shows{global("inflow", 0)}
		}},
		{"servers are free, or soon, or later", func(*testing.T) (*stage, []shows) {
			g := of(5)
			g.run(0, 1, 5*minutes)
			g.run(1, 8, 30*minutes)
			g.run(2, 4, 2*hour)
			g.run(3, 2, 0)
			return g, []shows{
				global("whole", 0.2), global("whole_10m", 0.2), global("whole_1h", 0.4), global("fragments", 17.0/25),
			}
		}},
		{"no GPU is free", func(*testing.T) (*stage, []shows) {
			g := of(1)
			g.run(0, 8, hour)
			return g, []shows{global("fragments", 0), global("whole", 0)}
		}},
	})
}
