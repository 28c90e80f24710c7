package observe_test

import (
	"testing"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
)

// starts returns candidates that each start one job on one server, given as pairs of job and server.
func (g *stage) starts(pairs ...int) (list []candidates.Candidate) {
	for i := 0; i < len(pairs); i += 2 {
		id := pairs[i]
		list = append(list, candidate(candidates.Begin, id, g.place(id, pairs[i+1], int(g.jobs[id].Workers))))
	}
	return list
}

func TestCandidatesShowTheirPartners(t *testing.T) {
	try(t, []play{
		{"a guest goes to the fullest GPU that takes it", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.known = rule{}
			g.run(0, 1, hour, share(500), model("meek"))
			g.run(0, 1, 2*hour, share(600), model("hungry"))
			g.run(0, 1, 3*hour, share(800), model("meek"))
			a, b := g.wait(1, 30*minutes, share(400)), g.wait(1, 30*minutes, share(450))
			return g, g.starts(a, 0, b, 0), []tells{
				{0, "partner", against(50*minutes, 2*hour)}, {0, "speed", third(0.6)},
				{1, "partner", against(30*minutes*10/9, hour)}, {1, "speed", third(0.9)},
			}
		}},
		{"memory on the GPU keeps a guest away", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.known = rule{}
			g.spec.Servers[0].GPUMemMiB = 16_000
			mem := func(j *cluster.JobSpec) { j.Request.GPUMemMiB = 10_000 }
			g.run(0, 1, hour, share(500), model("hungry"), mem)
			a := g.wait(1, hour, share(500), mem)
			return g, g.starts(a, 0), []tells{{0, "shared", 0}, {0, "partner", 0}, {0, "speed", 0}, {0, "takes", 1.0 / 7}}
		}},
	})
}

func TestCandidatesShowWhatIsLeft(t *testing.T) {
	try(t, []play{
		{"a small job breaks the only free server", func() (*stage, []candidates.Candidate, []tells) {
			g := of(2)
			g.run(0, 4, hour)
			a, b := g.wait(1, hour), g.wait(8, hour)
			return g, g.starts(a, 0, a, 1, b, 1), []tells{{0, "breaks", 0}, {1, "breaks", 1}, {2, "breaks", 0}}
		}},
		{"GPUs are wasted that the other jobs cannot fill", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.run(0, 3, hour)
			a, b, c := g.wait(2, hour), g.wait(2, hour), g.wait(4, hour)
			return g, g.starts(a, 0, b, 0, c, 0), []tells{{0, "waste", 1.0 / 8}, {1, "waste", 1.0 / 8}, {2, "waste", 1.0 / 8}}
		}},
		{"a job does not fill what it leaves itself", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.run(0, 4, hour)
			a := g.wait(2, hour)
			g.wait(8, hour)
			return g, g.starts(a, 0), []tells{{0, "waste", 2.0 / 8}}
		}},
		{"none are wasted where sums fill them", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			a := g.wait(2, hour)
			g.wait(3, hour)
			g.wait(3, hour)
			return g, g.starts(a, 0), []tells{{0, "waste", 0}}
		}},
		{"what the first held job leaves over may go", func() (*stage, []candidates.Candidate, []tells) {
			g := of(2)
			g.run(0, 8, hour)
			g.run(1, 2, 5*hour)
			g.wait(8, 3*hour)
			a, b := g.wait(2, 4*hour), g.wait(6, 10*hour)
			return g, g.starts(a, 1, b, 1), []tells{{0, "delays", 0}, {1, "delays", 0}, {0, "blocks", 0}, {1, "blocks", 0}}
		}},
		{"a guest that outlasts its host delays the first held job", func() (*stage, []candidates.Candidate, []tells) {
			g := of(1)
			g.known = rule{}
			g.run(0, 8, hour, share(500))
			g.wait(8, 3*hour)
			a, b := g.wait(1, 108*minutes, share(500)), g.wait(1, 30*minutes, share(500))
			return g, g.starts(a, 0, b, 0), []tells{{0, "blocks", logTime(hour)}, {1, "blocks", 0}}
		}},
	})
}
