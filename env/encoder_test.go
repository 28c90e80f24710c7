package env_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

// Every number is within its declared bounds, whatever the state.
func TestObservationsAreInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawWorld(t)
		spec, ts := encode(drawEncoder(t), sc.build(t, identity(len(sc.servers))))
		for _, x := range []struct {
			name     string
			rows     []float32
			features []env.Feature
		}{
			{"server", ts.Servers, spec.Server}, {"job", ts.Jobs, spec.Job}, {"item", ts.Items, spec.Item},
			{"global", ts.Global, spec.Global},
		} {
			for i, v := range x.rows {
				f := x.features[i%len(x.features)]
				if !(v >= float32(f.Min) && v <= float32(f.Max)) {
					t.Fatalf("%s %d: %s is %v, want %v to %v", x.name, i/len(x.features), f.Name, v, f.Min, f.Max)
				}
			}
		}
	})
}

// Relabelling the servers permutes their rows and changes nothing else.
func TestServersMayBeRelabelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawWorld(t)
		e := drawEncoder(t)
		order := rapid.Permutation(identity(len(sc.servers))).Draw(t, "order")
		spec, a := encode(e, sc.build(t, identity(len(sc.servers))))
		_, b := encode(e, sc.build(t, order))
		if !slices.Equal(a.Window, b.Window) || !slices.Equal(a.Jobs, b.Jobs) || !slices.Equal(a.Global, b.Global) {
			t.Fatalf("windows %v and %v, jobs %v and %v, global %v and %v", a.Window, b.Window, a.Jobs, b.Jobs, a.Global, b.Global)
		}
		for i, to := range order {
			if !slices.Equal(a.Legal(&spec, i), b.Legal(&spec, to)) {
				t.Fatalf("masks of server %d, then %d: %v and %v", i, to, a.Legal(&spec, i), b.Legal(&spec, to))
			}
			for _, x := range []struct {
				a, b []float32
				n    int
			}{{a.Servers, b.Servers, len(spec.Server)}, {a.Items, b.Items, len(spec.Item) * spec.Items()}} {
				if p, q := x.a[i*x.n:(i+1)*x.n], x.b[to*x.n:(to+1)*x.n]; !slices.Equal(p, q) {
					t.Fatalf("rows of server %d, then %d: %v and %v", i, to, p, q)
				}
			}
		}
	})
}

// The window is what sorting everything and cutting would show.
func TestWindowAgainstPlainSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScene(t)
		s := sc.build(t, identity(len(sc.servers)))
		spec, ts := encode(drawEncoder(t), s)
		var ready, held []cluster.JobID
		for id := range cluster.JobID(len(sc.jobs)) {
			if s.Phase(id) != cluster.Pending {
				continue
			}
			can := slices.ContainsFunc(spec.Menu, func(l env.Level) bool { return room(s, id, l) >= int64(s.Spec(id).Workers) })
			if can {
				ready = append(ready, id)
			} else {
				held = append(held, id)
			}
		}
		byOrder := func(a, b cluster.JobID) int {
			return cmp.Or(cmp.Compare(env.Order(s, a), env.Order(s, b)), cmp.Compare(a, b))
		}
		slices.SortFunc(ready, byOrder)
		slices.SortFunc(held, byOrder)
		for len(ready)+len(held) > spec.Window { // the last of those that have more than their share
			if len(held) > 0 && (len(held) > spec.Window/4 || len(ready) == 0) {
				held = held[:len(held)-1]
			} else {
				ready = ready[:len(ready)-1]
			}
		}
		want := append(ready, held...)
		slices.SortFunc(want, byOrder)
		for len(want) < spec.Window {
			want = append(want, -1)
		}
		if !slices.Equal(ts.Window, want) {
			t.Fatalf("window %v, want %v", ts.Window, want)
		}
	})
}

// room counts the workers that the cluster takes at a level.
func room(s *cluster.State, id cluster.JobID, l env.Level) int64 {
	total := int64(0)
	for i := range s.Servers() {
		total += int64(s.Fits(cluster.ServerID(i), id, l.Of(s.Spec(id).Request)))
	}
	return total
}

// Masks and the features of items are those of plain loops over State.Fits.
func TestMasksAgainstFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScene(t)
		s := sc.build(t, identity(len(sc.servers)))
		spec, ts := encode(drawEncoder(t), s)
		for i := range spec.Agents {
			if !ts.Legal(&spec, i)[env.NoOp] {
				t.Fatalf("agent %d: no-op is masked", i)
			}
			for a := 1; a < spec.Actions(); a++ {
				k, l := spec.Unpack(env.Action(a))
				row := ts.Items[(i*spec.Items()+a-1)*len(spec.Item):][:len(spec.Item)]
				id, want := ts.Window[k], false
				var fits int32
				if id >= 0 {
					fits = s.Fits(cluster.ServerID(i), id, spec.Menu[l].Of(s.Spec(id).Request))
					want = fits > 0 && room(s, id, spec.Menu[l]) >= int64(s.Spec(id).Workers)
				}
				if got := ts.Legal(&spec, i)[a]; got != want {
					t.Fatalf("agent %d, action %d on job %d: legal %v, want %v", i, a, id, got, want)
				}
				switch {
				case !want && !slices.Equal(row, make([]float32, len(row))):
					t.Fatalf("agent %d, action %d: masked with row %v", i, a, row)
				case want && s.Spec(id).Estimate == 0 && row[4] != 0:
					t.Fatalf("agent %d, action %d: job %d has no estimate and outlasts %v", i, a, id, row[4])
				case want && (row[0] != 1 || row[1] != float32(min(fits, s.Spec(id).Workers))/float32(s.Spec(id).Workers)):
					t.Fatalf("agent %d, action %d: row %v, but the server takes %d of %d", i, a, row, fits, s.Spec(id).Workers)
				}
			}
		}
	})
}

// Without estimates the window stands in order of submission and no number tells of time to come.
func TestWithoutEstimates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScene(t)
		for i := range sc.jobs {
			sc.jobs[i].Estimate = 0
		}
		s := sc.build(t, identity(len(sc.servers)))
		spec, ts := encode(drawEncoder(t), s)
		last := time.Duration(-1)
		for k, id := range ts.Window {
			if id < 0 {
				continue
			}
			if s.Spec(id).Submit < last {
				t.Fatalf("window %v is not in order of submission", ts.Window)
			}
			last = s.Spec(id).Submit
			row := ts.Jobs[k*len(spec.Job):]
			for f, v := range row[:len(spec.Job)] {
				if v != 0 && slices.Contains([]string{"remaining", "estimated", "service", "behind_head"}, spec.Job[f].Name) {
					t.Fatalf("job %d: %s is %v, want 0", id, spec.Job[f].Name, v)
				}
			}
		}
		for i := range spec.Agents {
			if row := ts.Servers[i*len(spec.Server):]; row[5] != 0 || row[6] != 0 {
				t.Fatalf("server %d: a resident ends in %v to %v", i, row[5], row[6])
			}
		}
		for f, v := range ts.Global {
			if v != 0 && spec.Global[f].Name == "head_wait" {
				t.Fatalf("head_wait is %v", v)
			}
		}
		for i := 4; i < len(ts.Items); i += len(spec.Item) {
			if ts.Items[i] != 0 {
				t.Fatalf("item %d: outlasts is %v", i/len(spec.Item), ts.Items[i])
			}
		}
	})
}

func TestEncodeAllocatesNothing(t *testing.T) {
	sc := rapid.Custom(drawScene).Example(7)
	s := sc.build(t, identity(len(sc.servers)))
	e := &env.StandardEncoder{Window: 8, Menu: halves}
	_, ts := encode(e, s)
	if n := testing.AllocsPerRun(100, func() { e.Encode(s, ts) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
