package belief

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

// TestLeftFollowsLines checks that between two edges Left is the prediction at the lower edge, less the work done since for Mean
// and Median, and that a job that asks again whenever told to comes to an end of it.
func TestLeftFollowsLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		by := rapid.SampledFrom([]Rank{Mean, Gittins, Median}).Draw(t, "rank")
		l := New(History, by)
		for range rapid.IntRange(0, 30).Draw(t, "jobs") {
			l.Ended(drawJob(t), drawAge(t))
		}
		j := drawJob(t)
		asked := 0
		for at := time.Duration(0); ; asked++ {
			d := l.Of(j)
			first := map[Rank]func() time.Duration{
				Mean:    func() time.Duration { return d.Mean(at) },
				Gittins: func() time.Duration { return d.Gittins(at) },
				Median:  func() time.Duration { return d.Quantile(at, 0.5) },
			}[by]()
			left, again := l.Left(j, at)
			if again == cluster.Never {
				break
			}
			if again <= at || left < 1 || left != first && (by == Gittins || left != (again-at)/2) {
				t.Fatalf("%v left at %v, again at %v; want %v", left, at, again, first)
			}
			age := at + (again-at)/10*time.Duration(rapid.Int64Range(0, 9).Draw(t, "tenths"))
			want := first
			if by != Gittins {
				want = max(first-(age-at), (again-age)/2, 1)
			}
			if got, same := l.Left(j, age); got != want || same != again {
				t.Fatalf("%v left at %v, again at %v; want %v and %v", got, age, same, want, again)
			}
			at = again
		}
		if asked != len(edges)-1 {
			t.Fatalf("asked %d times, want once for each of %d edges", asked, len(edges))
		}
	})
}

// TestOverdueJobs checks that the remaining time of a job grows with its age once it has lasted longer than all jobs before it.
func TestOverdueJobs(t *testing.T) {
	for _, by := range []Rank{Mean, Gittins, Median} {
		l := New(History, by)
		for range 1000 {
			l.Ended(job("ada", 1), time.Minute)
		}
		before, _ := l.Left(job("ada", 1), 0)
		if before > 4*time.Minute && by != Mean || before > 2*time.Hour {
			t.Errorf("%v: %v left of a new job", by, before)
		}
		for i := step(10 * time.Minute); i < len(edges); i++ {
			left, _ := l.Left(job("ada", 1), edges[i])
			if left < edges[i]/4 || left <= before && i < len(edges)-1 && i > step(20*time.Minute) {
				t.Errorf("%v: %v left at %v, %v before", by, left, edges[i], before)
			}
			before = left
		}
	}
}
