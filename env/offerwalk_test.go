package env_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"pgregory.net/rapid"
)

// picture is all that a state shows, in the order in which it does.
func picture(s *cluster.State) string {
	var b strings.Builder
	fmt.Fprint(&b, s.Now(), s.FreeTotal(), s.Pending(), s.Running(), s.Lent())
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		fmt.Fprint(&b, " server ", i, s.Open(id), s.FreeGPUs(id), s.FreeCPU(id), s.FreeMem(id), s.GPUUse(id), s.Residents(id),
			s.Shared(id))
	}
	for i := range s.Jobs() {
		id := cluster.JobID(i)
		if s.Spec(id) == nil {
			continue
		}
		done, from, rate := s.Course(id)
		left, ok := s.QuotaLeft(id)
		fmt.Fprint(&b, " job ", i, s.Phase(id), s.Placement(id), s.GPUs(id), done, from, rate, s.Attained(id),
			s.Starts(id), left, ok)
	}
	return b.String()
}

// offersIn makes feasible offers at random.
func offersIn(s *cluster.State, draw *rand.Rand, n int) (offers []env.Offer) {
	tx := s.Txn()
	pick := func(ids []cluster.JobID) cluster.JobID {
		if len(ids) == 0 {
			return -1
		}
		return ids[draw.IntN(len(ids))]
	}
	for i := range n {
		o := env.Offer{Kind: env.OfferKind(draw.IntN(16)), Job: -1}
		if i == 0 {
			o.Kind = env.Own
		} else if o.Kind == env.Own {
			o.Kind = env.Begin
		}
		if draw.IntN(3) == 0 {
			o.Wait = time.Duration(math.Exp(30 * draw.Float64()))
		}
		mark := tx.Mark()
		for range draw.IntN(4) {
			if o.Job < 0 || draw.IntN(2) == 0 {
				if o.Job = pick(s.Pending()); draw.IntN(3) == 0 || o.Job < 0 {
					o.Job = pick(s.Running())
				}
			}
			if o.Job < 0 {
				break
			}
			propose(tx, draw, o.Job)
		}
		for _, op := range tx.Ops()[mark:] {
			o.Ops = append(o.Ops, op.Proposal())
		}
		tx.Rollback(mark)
		offers = append(offers, o)
	}
	for i := range offers {
		if len(offers[i].Ops) == 0 && draw.IntN(2) == 0 {
			offers[i].Job = offers[0].Job
		}
	}
	return offers
}

// propose does something with a job if the state allows it.
func propose(tx *cluster.Txn, draw *rand.Rand, id cluster.JobID) {
	s := tx.State()
	a, n := s.Spec(id).Request, s.Spec(id).Workers
	if draw.IntN(2) == 0 {
		a.CPUMilli = a.CPUMilli * int32(draw.IntN(4)) / 2
		n = s.Spec(id).Least()
	}
	if draw.IntN(2) == 0 {
		a.MemMiB = a.MemMiB * int32(draw.IntN(4)) / 2
	}
	if draw.IntN(2) == 0 {
		a.GPUMilli = min(a.GPUMilli, 550)
	}
	if s.Phase(id) == cluster.Pending {
		if p, ok := s.BestFitAlone(id, n, a, nil); ok {
			_ = tx.Place(id, p)
		} else if p, ok := s.BestFit(id, nil); ok {
			_ = tx.Place(id, p)
		}
		return
	}
	if p, ok := s.BestFitAlone(id, s.Placement(id).Workers(), a, nil); ok && draw.IntN(2) == 0 {
		_ = tx.Migrate(id, p)
		return
	}
	if p, ok := s.BestFitAlone(id, n, a, nil); ok && draw.IntN(2) == 0 {
		_ = tx.Resize(id, p)
		return
	}
	_ = tx.Preempt(id)
}

// inRange reports the first number of a review that is out of its bounds.
func inRange(e *env.StandardEncoder, servers int, r *env.Review) error {
	spec := e.Spec(servers)
	for _, x := range []struct {
		name     string
		rows     []float32
		features []env.Feature
	}{{"server", r.Servers, spec.Server}, {"job", r.Jobs, spec.Job}, {"global", r.Global, spec.Global},
		{"offer", r.Offers, env.OfferFeatures()}} {
		for i, v := range x.rows {
			if f := x.features[i%len(x.features)]; !(v >= float32(f.Min) && v <= float32(f.Max)) {
				return fmt.Errorf("%s %d: %s is %v, want %v to %v", x.name, i/len(x.features), f.Name, v, f.Min, f.Max)
			}
		}
	}
	return nil
}

// Whatever the state and the offers: every number is within its bounds, the state is as it was, servers, cluster and jobs
// are as Encode shows them, and offers in another order give the same rows in that order.
func TestReviewsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawWorld(t)
		s, e := sc.build(t, identity(len(sc.servers))), drawEncoder(t)
		tx := s.Begin(nil)
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "offers"), 1))
		offers := offersIn(s, draw, rapid.IntRange(0, 8).Draw(t, "number"))
		before := picture(s)
		r := &env.Review{}
		if err := e.Review(tx, offers, r); err != nil {
			t.Fatal(err)
		}
		if after := picture(s); after != before {
			t.Fatalf("the state is\n%s, was\n%s", after, before)
		}
		if err := inRange(e, s.Servers(), r); err != nil {
			t.Fatal(err)
		}
		sumsToOne(t, r, len(offers))

		spec, ts := encode(e, s)
		if !slices.Equal(r.Servers, ts.Servers) || !slices.Equal(r.Global, ts.Global) {
			t.Fatalf("servers %v and cluster %v, want %v and %v", r.Servers, r.Global, ts.Servers, ts.Global)
		}
		about := map[cluster.JobID]bool{}
		for i := range offers {
			if id := offers[i].Job; id >= 0 {
				about[id] = true
				if r.Ids[r.Of[i]] != id {
					t.Fatalf("offer %d is about row %d of %v, want job %d", i, r.Of[i], r.Ids, id)
				}
			} else if r.Of[i] != -1 {
				t.Fatalf("offer %d is about row %d, want none", i, r.Of[i])
			}
		}
		width := len(spec.Job)
		for k, id := range r.Ids {
			at := slices.Index(ts.Window, id)
			if about[id] != (k < len(about)) || at < 0 && !about[id] || slices.Index(r.Ids, id) != k {
				t.Fatalf("jobs %v, of which %v are offered, beside window %v", r.Ids, about, ts.Window)
			}
			if at >= 0 && !slices.Equal(r.Jobs[k*width:(k+1)*width], ts.Jobs[at*width:(at+1)*width]) {
				t.Fatalf("job %d is %v, want %v", id, r.Jobs[k*width:(k+1)*width], ts.Jobs[at*width:(at+1)*width])
			}
		}
		if waiting := min(len(s.Pending()), e.Window); len(r.Ids) < waiting || len(r.Ids) > max(e.Window, len(about)) {
			t.Fatalf("%d jobs beside %d that wait, window %d and %d offered", len(r.Ids), waiting, e.Window, len(about))
		}
		permuted(t, e, tx, offers, r)
	})
}

func sumsToOne(t *rapid.T, r *env.Review, offers int) {
	sums := make([]float64, offers)
	for i, x := range r.Shares {
		if sums[x.Offer] += float64(x.Weight); i > 0 {
			if p := r.Shares[i-1]; p.Offer > x.Offer || p.Offer == x.Offer && p.Server >= x.Server {
				t.Fatalf("shares %v are not ascending", r.Shares)
			}
		}
	}
	for i, sum := range sums {
		if sum != 0 && math.Abs(sum-1) > 1e-5 {
			t.Fatalf("shares of offer %d sum to %v", i, sum)
		}
	}
}

func permuted(t *rapid.T, e *env.StandardEncoder, tx *cluster.Txn, offers []env.Offer, a *env.Review) {
	order := rapid.Permutation(identity(len(offers))).Draw(t, "order")
	moved := make([]env.Offer, len(offers))
	for i, to := range order {
		moved[to] = offers[i]
	}
	b := &env.Review{}
	if err := e.Review(tx, moved, b); err != nil {
		t.Fatal(err)
	}
	width := len(env.OfferFeatures())
	parts := func(r *env.Review, i int) (all []env.OfferShare) {
		for _, x := range r.Shares {
			if x.Offer == int32(i) {
				all = append(all, env.OfferShare{Server: x.Server, Weight: x.Weight})
			}
		}
		return all
	}
	for i, to := range order {
		if x, y := a.Offers[i*width:(i+1)*width], b.Offers[to*width:(to+1)*width]; !slices.Equal(x, y) {
			t.Fatalf("offer %d, then %d: %v and %v", i, to, x, y)
		}
		if x, y := parts(a, i), parts(b, to); !slices.Equal(x, y) {
			t.Fatalf("offer %d, then %d: shares %v and %v", i, to, x, y)
		}
	}
}

// Over random episodes every number of offers varies, within its range, and none is a linear copy of another; an encoder
// that has seen other offers shows what a fresh one shows.
func TestOffersTellDifferentThings(t *testing.T) {
	m := newMoments("offer", env.OfferFeatures())
	e := &env.StandardEncoder{Window: 12}
	r, steps := &env.Review{}, 0
	for seed := range uint64(4) {
		draw := rand.New(rand.NewPCG(seed, 3))
		walk(t, seed, func(s *cluster.State) {
			offers := offersIn(s, draw, 1+draw.IntN(8))
			if err := e.Review(s.Txn(), offers, r); err != nil {
				t.Fatal(err)
			}
			if err := inRange(e, s.Servers(), r); err != nil {
				t.Fatal(err)
			}
			m.add(t, r.Offers)
			if steps++; steps%10 > 0 {
				return
			}
			fresh := &env.Review{}
			if err := (&env.StandardEncoder{Window: 12}).Review(s.Txn(), offers, fresh); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Offers, fresh.Offers) || !slices.Equal(r.Jobs, fresh.Jobs) || !slices.Equal(r.Shares, fresh.Shares) {
				t.Fatalf("step %d: an old encoder shows something else than a fresh one", steps)
			}
		})
	}
	m.judge(t)
}

func TestReviewAllocatesNothing(t *testing.T) {
	s := crowded(t, 16, 16, 16)
	model, err := physics.Parse("gpu-type * cpu-mem * sharing(1) * scaling") // the network's pool forgets under the race detector
	if err != nil {
		t.Fatal(err)
	}
	s.SetProfile(model)
	tx := s.Begin(nil)
	offers := offersIn(s, rand.New(rand.NewPCG(1, 4)), 8)
	e, r := &env.StandardEncoder{Window: 16}, &env.Review{}
	run := func() {
		if err := e.Review(tx, offers, r); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkReview(b *testing.B) {
	for _, c := range []struct{ servers, window int }{{16, 32}, {64, 32}, {1024, 48}} {
		s := crowded(b, c.servers, c.window, c.servers)
		tx := s.Begin(nil)
		offers := eight(s)
		for _, n := range []int{0, len(offers)} {
			e, r := &env.StandardEncoder{Window: c.window}, &env.Review{}
			if err := e.Review(tx, offers, r); err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%dx%d %d offers", c.servers, c.window, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := e.Review(tx, offers[:n], r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// eight are offers as schedulers make them: to start this or that job alone or with half of each GPU, to wait, or to stop
// another for it.
func eight(s *cluster.State) (offers []env.Offer) {
	tx, kind := s.Txn(), env.Own
	start := func(p cluster.Placement, ok bool, id cluster.JobID) {
		if mark := tx.Mark(); ok && len(offers) < 6 && tx.Place(id, p) == nil {
			offers = append(offers, env.Offer{Kind: kind, Job: id, Ops: []cluster.Proposal{tx.Ops()[mark].Proposal()}})
			tx.Rollback(mark)
			kind = env.Begin
		}
	}
	for _, id := range slices.Sorted(slices.Values(s.Pending())) {
		p, ok := s.BestFit(id, nil)
		start(p, ok, id)
		a := s.Spec(id).Request
		a.GPUMilli = 500
		p, ok = s.BestFitAlone(id, s.Spec(id).Workers, a, nil)
		start(p, ok, id)
	}
	first := offers[0].Job
	stopped := stop(int(slices.Min(s.Running())))
	return append(offers, env.Offer{Kind: env.Wait, Job: first, Wait: time.Hour},
		env.Offer{Kind: env.Preempt, Job: first, Ops: append([]cluster.Proposal{stopped}, offers[0].Ops...)})
}
