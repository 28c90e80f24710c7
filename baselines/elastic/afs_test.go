package elastic

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

func TestAFS(t *testing.T) {
	pairwise := NewAFS(AFSConfig{Rule: Pairwise, Scaling: Linear})
	gain := NewAFS(AFSConfig{Rule: Gain, Scaling: Linear})
	short, long := asked{base: 1, most: 8, left: 10 * time.Second}, asked{base: 1, most: 8, left: 100 * time.Second}
	unknown := asked{base: 1, most: 8}
	tell(t, []story{
		// Gains of the short job are 1, 1/2, 1/3, 1/4 of its throughput, against 1/2, 1/3, 1/4 of the increased throughput of the long
		// one.
		{name: "two jobs share almost evenly where speed is linear", policy: pairwise, gpus: 8, jobs: []asked{long, short},
			want: []int32{3, 5}},
		{name: "a job without an estimate counts as the longer one", policy: pairwise, gpus: 8, jobs: []asked{unknown, long},
			want: []int32{3, 5}},
		{name: "where nobody has one, the first counts as the shorter one", policy: pairwise, gpus: 8,
			jobs: []asked{unknown, unknown}, want: []int32{5, 3}},
		// The shorter job ends after 4 s with 3 workers, the other after 5 s with 2. Gains are 1/3 of the throughput of the one, and
		// 1/3 of the increased throughput of the other.
		{name: "the shorter job is the one that ends first with what it has", policy: pairwise, gpus: 6,
			jobs: []asked{{base: 2, most: 8, left: 10 * time.Second}, {base: 3, most: 8, left: 12 * time.Second}},
			want: []int32{2, 4}},
		{name: "most workers bound a job", policy: pairwise, gpus: 8,
			jobs: []asked{long, {base: 1, most: 2, left: time.Second}}, want: []int32{6, 2}},
		{name: "equal gains go to the shortest", policy: gain, gpus: 8, jobs: []asked{long, short}, want: []int32{1, 7}},
		{name: "gains count for each GPU", policy: gain, gpus: 4,
			jobs: []asked{{base: 1, most: 8, left: time.Minute, milli: 500}, short}, want: []int32{6, 1}},
		{name: "every base comes first", policy: pairwise, gpus: 8,
			jobs: []asked{{base: 4, most: 8, now: 8, left: time.Second}, {base: 4, most: 4, left: time.Hour}}, want: []int32{4, 4}},
		{name: "the shortest base first, and who does not fit is passed over", policy: pairwise, gpus: 8,
			jobs: []asked{{base: 6, most: 6, left: time.Hour}, {base: 3, most: 3, left: time.Second}, {base: 2, most: 2}},
			want: []int32{0, 3, 2}},
		{name: "or in the order of submission", gpus: 8,
			policy: NewAFS(AFSConfig{Rule: Pairwise, Submission: true, Scaling: Linear}),
			jobs:   []asked{{base: 6, most: 6, left: time.Hour}, {base: 3, most: 3, left: time.Second}, {base: 2, most: 2}},
			want:   []int32{6, 0, 2}},
		{name: "a quota bounds growth and leaves the rest to others", policy: pairwise, gpus: 8, quota: 2,
			jobs: []asked{{base: 1, most: 8, tenant: "a", left: time.Second}, long}, want: []int32{2, 6}},
	})
}

// TestAFSPairwiseMinimisesTheSumOfTwo checks the rule against its derivation. Two jobs have throughputs a and b with their
// present workers, and more with one further worker. The shorter job gets that worker unless the sum of their completion times
// would then be larger, assuming that it passes the worker on when it ends.
func TestAFSPairwiseMinimisesTheSumOfTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) float64 { return rapid.Float64Range(0.1, 10).Draw(t, name) }
		a, b := draw("a"), draw("b")
		moreA, moreB := a+draw("more of a"), b+draw("more of b")
		workA := draw("work of a")
		workB := b * workA / a * (1 + draw("longer by")) * moreB / b // it ends last in both cases
		toA := workA/moreA + workA/moreA + (workB-b*workA/moreA)/moreB
		toB := workA/a + workB/moreB
		if math.Abs(toA-toB) < 1e-9*toB {
			return
		}
		f := afs{AFSConfig{Rule: Pairwise}}
		x := deserves{ends: workA / a, gain: moreA - a, before: (moreA - a) / a, after: (moreA - a) / moreA}
		y := deserves{ends: workB / b, gain: moreB - b, before: (moreB - b) / b, after: (moreB - b) / moreB}
		if got := f.beats(&x, &y); got != (toA < toB) {
			t.Fatalf("the shorter wins: %v, but it makes the sum %g and the other %g", got, toA, toB)
		}
		if got := f.beats(&y, &x); got != (toB < toA) {
			t.Fatalf("the longer, first, wins: %v, but it makes the sum %g and the other %g", got, toB, toA)
		}
	})
}

// plainly gives out single workers as grow does, but plays all matches again before each.
func plainly(s *cluster.State, jobs []Job, scaling Scaling, rank func(i int32, t throughput) bool,
	beats func(i, k int32) bool) {
	left := newBudget(&s.View, jobs)
	left.bases(jobs)
	var open []int32
	able := map[int32]bool{}
	for i := range jobs {
		if j := &jobs[i]; j.Want > 0 && j.Want < j.Most && rank(int32(i), scaling.of(&s.View, j.ID)) {
			open = append(open, int32(i))
			able[int32(i)] = true
		}
	}
	for {
		round := make([]int32, 2*len(open))
		copy(round[len(open):], open)
		for k := len(open) - 1; k > 0; k-- {
			a, b := round[2*k], round[2*k+1]
			if a > b {
				a, b = b, a
			}
			switch {
			case !able[a]:
				round[k] = b
			case !able[b] || beats(a, b):
				round[k] = a
			default:
				round[k] = b
			}
		}
		best := int32(-1)
		if len(open) > 0 {
			best = round[1]
		}
		if best < 0 || !able[best] {
			return
		}
		j := &jobs[best]
		used := int64(0)
		for i := range jobs {
			if jobs[i].ID == j.ID || s.Quota(j.ID) >= 0 && s.Quota(jobs[i].ID) >= 0 {
				used += int64(jobs[i].Want) * jobs[i].GPUMilli
			}
		}
		if left.gpuMilli < j.GPUMilli || s.Quota(j.ID) >= 0 && used+j.GPUMilli > s.Quota(j.ID) {
			able[best] = false
			continue
		}
		j.Want++
		left.gpuMilli -= j.GPUMilli
		able[best] = j.Want < j.Most && rank(best, scaling.of(&s.View, j.ID))
	}
}

func TestAFSAsPlainLoops(t *testing.T) {
	for _, rule := range []AFSRule{Pairwise, Gain} {
		rapid.Check(t, func(r *rapid.T) {
			spec, list := drawStand(r)
			s, jobs := stand(t, spec, list)
			p := NewAFS(AFSConfig{Rule: rule, Scaling: Profiled}).(*afs)
			byWorkLeft(jobs)
			want := slices.Clone(jobs)
			standings := make([]deserves, len(jobs))
			plainly(s, want, p.Scaling, func(i int32, c throughput) bool {
				standings[i] = p.standing(c, &want[i])
				return standings[i].gain > 0
			}, func(i, k int32) bool { return p.beats(&standings[i], &standings[k]) })
			if p.Allocate(&s.View, jobs); !slices.Equal(jobs, want) {
				r.Fatalf("%s: jobs\n%v, want\n%v", rule, jobs, want)
			}
		})
	}
}
