package physics_test

import (
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"pgregory.net/rapid"
)

// TestAffectedIncludesAllWhoseSpeedChanges checks, for each part alone and for all together, that Affected includes every job
// whose speed changes because another job starts. It checks also that Affected leaves out jobs that Coupled includes, and that
// speeds do change.
func TestAffectedIncludesAllWhoseSpeedChanges(t *testing.T) {
	for name, m := range map[string]cluster.Profile{
		"sharing": physics.Compose(physics.Sharing{Strength: 1}), "network": physics.Compose(physics.NewNetwork(50, 4, 5)),
		"interleaved": physics.Compose(physics.NewInterleaved(50, 4, 5)), "power": physics.Compose(physics.Power{Watts: 1500}), "all": every(),
		"misprofile": physics.Misprofile{Within: 0.3, Seed: 1}.Profiled(physics.Compose(physics.Sharing{Strength: 1})),
	} {
		t.Run(name, func(t *testing.T) {
			changed, coupled, affected := 0, 0, 0
			rapid.Check(t, func(t *rapid.T) {
				racks := cluster.Uniform(4, 4)
				for i := range racks.Servers {
					racks.Servers[i].GPUType, racks.Servers[i].Rack = "V100", int32(i/2)+1
				}
				var specs []*cluster.JobSpec
				for range 6 {
					j := drawSpec(t, "j")
					specs = append(specs, &j)
				}
				s := state(t, racks, specs...)
				tx := s.Begin(nil)
				for id, j := range specs {
					id := cluster.JobID(id)
					before := speeds(&s.View, m)
					if tx.Place(id, scatter(t, j)) != nil {
						continue
					}
					after, got := speeds(&s.View, m), cluster.Affected(m, &s.View, id, nil)
					for other := range before {
						switch o := cluster.JobID(other); {
						case o == id || before[o] == after[o]:
						case !slices.Contains(got, o):
							t.Fatalf("the speed of job %d changes from %v to %v, and Affected returns only %v", o, before[o], after[o], got)
						default:
							changed++
						}
					}
					coupled, affected = coupled+len(m.Coupled(&s.View, s.Placement(id), nil)), affected+len(got)
				}
			})
			precise := name == "sharing" || name == "network" || name == "all"
			if changed == 0 || precise && affected >= coupled || !precise && affected != coupled {
				t.Errorf("%d speeds changed; Affected returned %d jobs, and Coupled %d", changed, affected, coupled)
			}
		})
	}
}

// speeds returns the speeds of all jobs, 0 for those that do not run.
func speeds(s *cluster.View, m cluster.Profile) []float64 {
	all := make([]float64, s.Jobs())
	for _, id := range s.Running() {
		all[id] = m.Speed(s, id)
	}
	return all
}
