package placement

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// plainFrag computes a server's fragmentation directly from the paper's definition, times the number of jobs seen.
func plainFrag(s *cluster.State, v cluster.ServerID, tasks []typical) (sum int64) {
	for _, m := range tasks {
		total, useless, usable := int64(0), int64(0), int32(0)
		for _, use := range s.GPUUse(v) {
			free := int64(cluster.WholeGPU - use)
			total += free
			if free < int64(m.GPUMilli) {
				useless += free
			} else {
				usable++
			}
		}
		spec := s.Server(v)
		allowed := cluster.JobSpec{GPUType: m.gpuType}
		if usable < m.workers || int64(m.workers)*int64(m.CPUMilli) > s.FreeCPU(v) ||
			int64(m.workers)*int64(m.MemMiB) > s.FreeMem(v) || !allowed.Allows(spec.GPUType) {
			useless = total
		}
		sum += m.jobs * useless
	}
	return sum
}

// scene is a cluster in which jobs come and go.
type scene struct {
	s    *cluster.State
	tx   *cluster.Txn
	next cluster.JobID
}

func newScene(t rapid.TB, spec cluster.Spec, jobs int) *scene {
	s := must.Get(cluster.NewState(spec, jobs))(t)
	return &scene{s: s, tx: s.Begin(nil)}
}

func (w *scene) submit(spec cluster.JobSpec) cluster.JobID {
	id := w.next
	w.next++
	w.s.Submit(id, &spec)
	return id
}

// put submits a job and starts it immediately.
func (w *scene) put(t rapid.TB, p ...cluster.Piece) {
	t.Helper()
	n := int32(0)
	for _, q := range p {
		n += q.Workers
	}
	must.Do(t, w.tx.Place(w.submit(cluster.JobSpec{Workers: n, Request: p[0].Amount}), p))
}

func shareOf(milli int32) cluster.Amount { return cluster.Amount{GPUMilli: milli} }

// TestFragmentationByHand checks values computed by hand. The server has 4 GPUs with 1000, 1000, 700 and 200 thousandths free,
// 10 cores and 100 MiB.
func TestFragmentationByHand(t *testing.T) {
	spec := cluster.Uniform(1, 4)
	spec.Servers[0].CPUMilli, spec.Servers[0].MemMiB, spec.Servers[0].GPUType = 10000, 100, "V100"
	w := newScene(t, spec, 10)
	w.put(t, cluster.Piece{Server: 0, Workers: 1, Amount: shareOf(800)})
	w.put(t, cluster.Piece{Server: 0, Workers: 1, Amount: shareOf(300)})
	for _, c := range []struct {
		name string
		task
		want int64
	}{
		{"a share of 100: every GPU will do", task{1, shareOf(100), ""}, 0},
		{"a share of 500: 200 are too few", task{1, shareOf(500), ""}, 200},
		{"a whole GPU: 700 and 200 are of no use", task{1, shareOf(1000), ""}, 900},
		{"two whole GPUs", task{2, shareOf(1000), ""}, 900},
		{"three whole GPUs do not fit: all is a fragment", task{3, shareOf(1000), ""}, 2900},
		{"three shares of 500", task{3, shareOf(500), ""}, 200},
		{"more CPU than there is", task{1, cluster.Amount{GPUMilli: 100, CPUMilli: 10001}, ""}, 2900},
		{"more memory than there is, for two", task{2, cluster.Amount{GPUMilli: 100, MemMiB: 51}, ""}, 2900},
		{"another type", task{1, shareOf(100), "T4|K80"}, 2900},
		{"this type", task{1, shareOf(100), "T4|V100"}, 0},
	} {
		f := NewFGD(DefaultFGD()).(*fgd)
		f.servers = make([]footing, 1)
		f.typical = []typical{{c.task, 1}}
		f.look(&w.s.View, 0)
		if got := f.fragAfter(&w.s.View, 0, taking{}); got != c.want || plainFrag(w.s, 0, f.typical) != c.want {
			t.Errorf("%s: fragmentation %d, in plain %d, want %d", c.name, got, plainFrag(w.s, 0, f.typical), c.want)
		}
	}
}

// TestFGDByHand checks placements determined by hand.
func TestFGDByHand(t *testing.T) {
	whole, half := cluster.JobSpec{Workers: 1, Request: shareOf(1000)}, cluster.JobSpec{Workers: 1, Request: shareOf(500)}
	two := cluster.JobSpec{Workers: 2, Request: shareOf(1000)}
	for _, c := range []struct {
		name string
		put  []cluster.Placement
		seen []cluster.JobSpec
		job  cluster.JobSpec
		want cluster.ServerID
	}{
		// Half a GPU on a free GPU makes 500 thousandths useless to whole jobs; beside the other half it uses up 500 useless ones.
		{"halves share a GPU", []cluster.Placement{{{Server: 1, Workers: 1, Amount: shareOf(500)}}},
			[]cluster.JobSpec{whole}, half, 1},
		// Server 0 has 3 free GPUs: with one less it still has room for a pair. Server 1 has 2: with one less it has not.
		{"single jobs leave pairs alone", []cluster.Placement{{{Server: 0, Workers: 1, Amount: shareOf(1000)}},
			{{Server: 1, Workers: 2, Amount: shareOf(1000)}}, {{Server: 2, Workers: 4, Amount: shareOf(1000)}}},
			[]cluster.JobSpec{two, two, two}, whole, 0},
		{"among equals the fewest free GPUs", []cluster.Placement{{{Server: 2, Workers: 1, Amount: shareOf(1000)}}},
			nil, whole, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newScene(t, cluster.Uniform(3, 4), 20)
			for _, p := range c.put {
				w.put(t, p...)
			}
			f := NewFGD(DefaultFGD()).(*fgd)
			for _, spec := range c.seen {
				f.Kind(&w.s.View, w.submit(spec))
			}
			id := w.submit(c.job)
			if ok, err := f.Place(w.tx, id); !ok || err != nil || w.s.Placement(id)[0].Server != c.want {
				t.Errorf("placed %v (%v) on %v, want server %d", ok, err, w.s.Placement(id), c.want)
			}
		})
	}
}

func drawServers(t *rapid.T) cluster.Spec {
	spec := cluster.Uniform(rapid.IntRange(1, 6).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs"))
	for i := range spec.Servers {
		v := &spec.Servers[i]
		if rapid.Bool().Draw(t, "small") {
			v.CPUMilli, v.MemMiB = 6, 7
		}
		v.GPUType = rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "type")
	}
	if rapid.Bool().Draw(t, "quota") {
		spec.Quotas = []cluster.Quota{{Tenant: "t", GPUs: 3}}
	}
	return spec
}

func drawRequest(t *rapid.T) cluster.JobSpec {
	pick := func(name string, of ...int32) int32 { return rapid.SampledFrom(of).Draw(t, name) }
	j := cluster.JobSpec{
		Workers: pick("workers", 1, 1, 2, 2, 4, 6), Tensor: pick("tensor", 1, 1, 1, 2),
		Request: cluster.Amount{
			GPUMilli: pick("share", 1000, 1000, 500, 300), CPUMilli: pick("CPU", 0, 2), MemMiB: pick("MiB", 0, 3),
		},
		GPUType: rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "allowed"), Mixed: rapid.Bool().Draw(t, "mixed"),
		Tenant: rapid.SampledFrom([]string{"", "t"}).Draw(t, "tenant"),
	}
	if j.Workers%j.Tensor != 0 {
		j.Tensor = 1
	}
	return j
}

// TestPlacersAreHonest checks that a placer starts a job as requested whenever BestFit finds room, and otherwise changes
// nothing. It also checks that FGD, as jobs come and go, chooses a server where fragmentation grows least among those that can
// take as large a piece.
func TestPlacersAreHonest(t *testing.T) {
	for _, fresh := range []func() Placer{
		func() Placer { return &firstFit{} },
		func() Placer { return &random{} },
		func() Placer { return NewFGD(DefaultFGD()) },
		func() Placer { return NewFGD(FGDConfig{Cover: 0.6, Typical: 2}) },
	} {
		t.Run(fmt.Sprintf("%T", fresh()), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w, p := newScene(t, drawServers(t), 100), fresh()
				p.Reset(1)
				for range rapid.IntRange(1, 25).Draw(t, "steps") {
					if running := w.s.Running(); len(running) > 0 && rapid.IntRange(0, 2).Draw(t, "finish") == 0 {
						id := rapid.SampledFrom(running).Draw(t, "which")
						w.tx.End()
						w.s.Finish(id)
						w.tx = w.s.Begin(nil)
						continue
					}
					placeOne(t, w, p)
				}
			})
		})
	}
}

func placeOne(t *rapid.T, w *scene, p Placer) {
	id := w.submit(drawRequest(t))
	if p.Kind(&w.s.View, id) != Plain(&w.s.View, id) {
		t.Fatal("another kind than that of a job that starts as requested")
	}
	mark := w.tx.Mark()
	f, _ := p.(*fgd)
	var grows []int64
	if f != nil {
		grows = growths(t, w, f, id)
	}
	_, fits := w.s.BestFit(id, nil)
	ok, err := p.Place(w.tx, id)
	if err != nil || ok != fits || !ok && w.tx.Mark() != mark {
		t.Fatalf("placed %v (%v), want %v", ok, err, fits)
	}
	if !ok {
		return
	}
	got := w.s.Placement(id)
	if got.Workers() != w.s.Spec(id).Workers || got[0].Amount != w.s.Spec(id).Request {
		t.Fatalf("placed %v, want %+v", got, w.s.Spec(id))
	}
	if f == nil || len(got) > 1 || grows == nil || !f.c.Consolidate && got.Workers() > w.s.Spec(id).Together() {
		return
	}
	if least := slices.Min(grows); grows[got[0].Server] != least {
		t.Fatalf("fragmentation grows by %d on server %d, want the least of %v", grows[got[0].Server], got[0].Server, grows)
	}
}

const noRoom = int64(1) << 60

// growths returns, by trying, how much fragmentation grows if the whole gang goes on each server; nil if no server can hold it.
func growths(t *rapid.T, w *scene, f *fgd, id cluster.JobID) []int64 {
	f.choose()
	spec, some := w.s.Spec(id), false
	all := make([]int64, w.s.Servers())
	for i := range all {
		v := cluster.ServerID(i)
		all[i] = noRoom
		if w.s.Fits(v, id, spec.Request) < spec.Workers {
			continue
		}
		some = true
		before, mark := plainFrag(w.s, v, f.typical), w.tx.Mark()
		must.Do(t, w.tx.Place(id, cluster.Placement{{Server: v, Workers: spec.Workers, Amount: spec.Request}}))
		all[i] = plainFrag(w.s, v, f.typical) - before
		w.tx.Rollback(mark)
	}
	if !some {
		return nil
	}
	return all
}

// TestTypicalTasks checks that the typical tasks are the most frequent among the jobs seen, each job counted once, up to the
// fraction Cover.
func TestTypicalTasks(t *testing.T) {
	w := newScene(t, cluster.Uniform(1, 8), 100)
	f := NewFGD(FGDConfig{Cover: 0.8, Typical: 3}).(*fgd)
	var events []cluster.Event
	for i := range 20 {
		spec := cluster.JobSpec{Workers: 1, Request: shareOf(1000)}
		switch {
		case i < 10: // half of them
			spec.Workers = 16 // of which a server can hold 8
		case i < 16:
			spec.Request.GPUMilli = 500
		case i < 19:
			spec.Request.GPUMilli = 100
		}
		events = append(events, cluster.Event{Kind: cluster.Arrived, Job: w.submit(spec)})
	}
	w.tx.Tell(events)
	for range 3 {
		f.observe(&w.s.View, w.tx.Events())
		f.Kind(&w.s.View, 0)
	}
	f.choose()
	want := []typical{{task{8, shareOf(1000), ""}, 10}, {task{1, shareOf(500), ""}, 6}}
	if !slices.Equal(f.typical, want) {
		t.Errorf("typical tasks %v of %d jobs, want %v", f.typical, f.jobs, want)
	}
	f.Reset(1)
	f.observe(&w.s.View, w.tx.Events()[10:])
	f.choose()
	if want := (typical{task{1, shareOf(500), ""}, 6}); f.jobs != 10 || f.typical[0] != want {
		t.Errorf("typical tasks %v of %d jobs after Reset, want %v first of 10", f.typical, f.jobs, want)
	}
}

// TestRandomPlaces checks that random placements follow from the seed, and differ between seeds.
func TestRandomPlaces(t *testing.T) {
	first := map[cluster.ServerID]bool{}
	for seed := range uint64(20) {
		var got [2]cluster.Placement
		for i := range got {
			w, p := newScene(t, cluster.Uniform(10, 2), 10), &random{}
			p.Reset(seed)
			w.s.Advance(time.Duration(i))
			id := w.submit(cluster.JobSpec{Workers: 5, Request: shareOf(1000)})
			if ok, err := p.Place(w.tx, id); !ok || err != nil {
				t.Fatal(ok, err)
			}
			got[i] = slices.Clone(w.s.Placement(id))
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("seed %d: placed on %v, then on %v", seed, got[0], got[1])
		}
		first[got[0][0].Server] = true
	}
	if len(first) < 5 {
		t.Errorf("20 seeds began on the servers %v", first)
	}
}

// TestFirstFitPlaces checks that firstFit fills the servers with the lowest ids first.
func TestFirstFitPlaces(t *testing.T) {
	w := newScene(t, cluster.Uniform(4, 4), 10)
	w.put(t, cluster.Piece{Server: 0, Workers: 3, Amount: shareOf(1000)})
	w.put(t, cluster.Piece{Server: 1, Workers: 4, Amount: shareOf(1000)})
	id := w.submit(cluster.JobSpec{Workers: 6, Request: shareOf(1000)})
	want := cluster.Placement{{Server: 0, Workers: 1, Amount: shareOf(1000)}, {Server: 2, Workers: 4, Amount: shareOf(1000)},
		{Server: 3, Workers: 1, Amount: shareOf(1000)}}
	if ok, err := (&firstFit{}).Place(w.tx, id); !ok || err != nil || !slices.Equal(w.s.Placement(id), want) {
		t.Errorf("placed %v (%v) on %v, want %v", ok, err, w.s.Placement(id), want)
	}
}
