package asrpt

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

// release is a job of a virtual machine.
type release struct {
	at, work time.Duration
}

// drawReleases draws jobs in the order of their release, with ties.
func drawReleases(t *rapid.T, most, latest, longest int, unit time.Duration) []release {
	jobs := make([]release, rapid.IntRange(1, most).Draw(t, "jobs"))
	for i := range jobs {
		jobs[i] = release{
			time.Duration(rapid.IntRange(0, latest).Draw(t, "release")) * unit,
			time.Duration(rapid.IntRange(1, longest).Draw(t, "work")) * unit,
		}
	}
	slices.SortStableFunc(jobs, func(a, b release) int { return int(a.at - b.at) })
	return jobs
}

// completions runs a machine to its end.
func completions(jobs []release) []completion {
	var v virtual
	for i, j := range jobs {
		v.Add(cluster.JobID(i), j.at, j.work)
	}
	return v.Advance(math.MaxInt64)
}

// slotted computes preemptive SRPT, one unit of time after another.
func slotted(jobs []release) (done []completion) {
	left := make([]time.Duration, len(jobs))
	for i, j := range jobs {
		left[i] = j.work
	}
	for now := time.Duration(0); len(done) < len(jobs); now++ {
		run := -1
		for i, j := range jobs {
			if j.at <= now && left[i] > 0 && (run < 0 || left[i] < left[run]) {
				run = i
			}
		}
		if run >= 0 {
			if left[run]--; left[run] == 0 {
				done = append(done, completion{cluster.JobID(run), now + 1})
			}
		}
	}
	return done
}

func TestVirtual(t *testing.T) {
	for _, c := range []struct {
		name string
		jobs []release
		want []completion
	}{
		{"the example: 1 on [0,1) and [6,13), 2 on [1,3), 3 on [3,6)", []release{{0, 8}, {1, 2}, {2, 3}},
			[]completion{{1, 3}, {2, 6}, {0, 13}}},
		{"a tie goes on with the job released first", []release{{0, 4}, {2, 2}}, []completion{{0, 4}, {1, 6}}},
		{"and among these with the lower id", []release{{0, 2}, {0, 2}}, []completion{{0, 2}, {1, 4}}},
		{"no work is done at once", []release{{0, 4}, {1, 0}}, []completion{{1, 1}, {0, 4}}},
		{"the machine idles", []release{{0, 1}, {5, 1}}, []completion{{0, 1}, {1, 6}}},
		{"the end of time is the end", []release{{5, math.MaxInt64}, {7, math.MaxInt64}},
			[]completion{{0, math.MaxInt64}, {1, math.MaxInt64}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := completions(c.jobs); !slices.Equal(got, c.want) {
				t.Errorf("completions %v, want %v", got, c.want)
			}
		})
	}
}

// TestVirtualIsSRPT checks that the machine does what SRPT does slot by slot, whenever it is asked, and that its projection
// comes true if no job is released.
func TestVirtualIsSRPT(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawReleases(t, 12, 30, 15, 1)
		var v virtual
		var got []completion
		for i, j := range jobs {
			if rapid.Bool().Draw(t, "look before") {
				got = append(got, v.Advance(j.at)...)
			}
			v.Add(cluster.JobID(i), j.at, j.work)
			if rapid.Bool().Draw(t, "project") {
				check := virtual{now: v.now, jobs: slices.Clone(v.jobs)}
				at, ok := v.Next()
				projected := slices.Collect(v.Projected())
				if !ok || at != projected[0].At || v.Len() != len(projected) {
					t.Fatalf("next at %v (%v) of %d, projected %v", at, ok, v.Len(), projected)
				}
				if want := check.Advance(math.MaxInt64); !slices.Equal(projected, want) {
					t.Fatalf("projected %v, then %v", projected, want)
				}
			}
		}
		got = append(got, v.Advance(math.MaxInt64)...)
		if want := slotted(jobs); !slices.Equal(got, want) {
			t.Fatalf("completions %v, want %v", got, want)
		}
		if _, ok := v.Next(); ok || v.Len() != 0 {
			t.Fatal("the machine is not idle after all")
		}
		v.Reset()
		if got := v.Advance(0); len(got) != 0 || v.now != 0 {
			t.Fatalf("after Reset %v at %v", got, v.now)
		}
	})
}

// TestVirtualKeepsWhatAddPasses checks that completions during Add are not lost, and that a release in the past counts as now.
func TestVirtualKeepsWhatAddPasses(t *testing.T) {
	var v virtual
	v.Add(0, 0, 2)
	v.Add(1, 5, 3)
	v.Add(2, 1, 1)
	if got, want := v.Advance(6), []completion{{0, 2}, {2, 6}}; !slices.Equal(got, want) {
		t.Errorf("completions %v, want %v", got, want)
	}
	if got, want := v.Advance(9), []completion{{1, 9}}; !slices.Equal(got, want) {
		t.Errorf("completions %v, want %v", got, want)
	}
}
