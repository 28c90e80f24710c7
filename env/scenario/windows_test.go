package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const byTime = `
name: time-v1
cluster: {servers: 2, gpus_per_server: 4}
workload: {trace: t.csv}
window: {duration: 100s, test: [0, 1]}
`

func arrivals(at ...int) string {
	var b strings.Builder
	b.WriteString("job_id,num_gpu,submit_time,duration\n")
	for i, t := range at {
		fmt.Fprintf(&b, "%d,1,%d,10\n", i, t)
	}
	return b.String()
}

func TestWindowsByTime(t *testing.T) {
	for _, c := range []struct {
		name string
		at   []int
		sets []string
		want []span // ranks of the arrivals
	}{
		{"one after the other, the last one whole", []int{0, 50, 99, 100, 150, 200, 250}, nil, []span{{0, 0, 3}, {3, 3, 5}}},
		{"an empty one is none", []int{0, 50, 210, 320}, nil, []span{{0, 0, 2}, {2, 2, 3}}},
		{"training windows that overlap", []int{0, 50, 99, 100, 150, 200, 250},
			[]string{"window.test=[]", "window.train=[0, 1]", "window.every=50s"}, []span{{0, 0, 3}, {1, 1, 4}, {3, 3, 5}, {4, 4, 6}}},
		{"after arrivals that warm it up", []int{0, 10, 50, 120, 160, 170, 300},
			[]string{"window.warm=2"}, []span{{0, 2, 4}}},
		{"test windows warm up with arrivals of their own", []int{0, 50, 120, 160, 170, 200, 300, 400, 500},
			[]string{"window.warm=1"}, []span{{0, 1, 3}, {3, 4, 6}, {6, 7, 8}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := openTrace(t, arrivals(c.at...), byTime, c.sets...)
			got := slices.Concat(src.windows[Train], src.windows[Test])
			if !slices.Equal(got, c.want) {
				t.Errorf("windows %v, want %v", got, c.want)
			}
		})
	}
}

func TestWindowsByTimeBeginWithAnArrival(t *testing.T) {
	e := episode(t, openTrace(t, arrivals(0, 50, 130, 210, 320), byTime), Test, 1, 1)
	if len(e.Jobs) != 1 || e.Jobs[0].Submit != 0 || e.Jobs[0].Name != "2" {
		t.Errorf("jobs %+v, want the third at 0", e.Jobs)
	}
}

// TestResampledWindows checks for any resampled windows that all their arrivals are within the split, that each begins in its
// part of the split, and that no two share a job unless there are more windows than fit side by side. Each split gives
// its own windows.
func TestResampledWindows(t *testing.T) {
	src := open(t)
	p := &src.pool
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.SliceOfN(rapid.Float64Range(0, 1), 6, 6).Draw(t, "cuts")
		slices.Sort(cut)
		count := rapid.IntRange(1, 40)
		w := Windows{
			Arrivals: rapid.IntRange(1, 20).Draw(t, "arrivals"), Warm: rapid.IntRange(0, 10).Draw(t, "warm"),
			Train: cut[0:2], Validation: cut[2:4], Test: cut[4:6],
			Resample: Resample{count.Draw(t, "train"), count.Draw(t, "validation"), count.Draw(t, "test")},
		}
		for _, split := range splits() {
			from, to := p.bounds(w.fractions(split))
			n, room := w.Resample.windows(split), to-from-w.Warm
			all := w.spans(p, split)
			if places := room - w.Arrivals + 1; len(all) != n && (len(all) > 0 || places >= n) {
				t.Fatalf("%d windows of %s, want %d at %d places", len(all), split, n, places)
			}
			for i, s := range all {
				if s.warm < from || s.warm+w.Warm != s.from || s.from+w.Arrivals != s.to || s.to > to {
					t.Fatalf("%s window %+v of %d with %d to warm it up, in arrivals %d to %d", split, s, w.Arrivals, w.Warm, from, to)
				}
				if lo, hi := from+w.Warm+i*room/n, from+w.Warm+(i+1)*room/n; n*w.Arrivals <= room && (s.from < lo || s.to > hi) {
					t.Fatalf("%s window %+v is not in arrivals %d to %d, its part", split, s, lo, hi)
				}
				if i > 0 && s.from <= all[i-1].from {
					t.Fatalf("%s windows %+v and %+v", split, all[i-1], s)
				}
			}
			if !slices.Equal(all, w.spans(p, split)) {
				t.Fatalf("%s windows differ when they are drawn again", split)
			}
		}
	})
}

// Two of the twelve jobs are in both windows.
func TestNotesOfResampledWindows(t *testing.T) {
	src := open(t)
	src.scenario.Window = Windows{Arrivals: 6, Resample: Resample{Train: 2}}
	src.windows = map[Split][]span{Train: {{0, 0, 6}, {4, 4, 10}}, Test: {{10, 10, 16}}}
	if got, want := src.Note(Train), "resampled: 10 of 12 jobs are different"; got != want {
		t.Errorf("note %q, want %q", got, want)
	}
	if got := src.Note(Test); got != "" {
		t.Errorf("note %q of windows that are not resampled", got)
	}
	src.scenario.Window.Warm = 1
	if got, want := src.Note(Train), ", and what warms up one window may be in another"; !strings.HasSuffix(got, want) {
		t.Errorf("note %q, want it to end in %q", got, want)
	}
}

// TestWindowsStayWithinTheirSplit checks for any windows that all their arrivals are within the split, that test windows share
// nothing, not even arrivals that warm them up, and that windows come in order.
func TestWindowsStayWithinTheirSplit(t *testing.T) {
	src := open(t)
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.SliceOfN(rapid.Float64Range(0, 1), 6, 6).Draw(t, "cuts")
		slices.Sort(cut)
		w := Windows{
			Train: cut[0:2], Validation: cut[2:4], Test: cut[4:6], Warm: rapid.IntRange(0, 10).Draw(t, "warm"),
		}
		if rapid.Bool().Draw(t, "by time") {
			w.Duration = time.Duration(rapid.IntRange(1, 1e5).Draw(t, "duration")) * time.Second
			w.Every = time.Duration(rapid.IntRange(0, 1e5).Draw(t, "every")) * time.Second
		} else {
			w.Arrivals, w.Stride = rapid.IntRange(1, 20).Draw(t, "arrivals"), rapid.IntRange(0, 30).Draw(t, "stride")
		}
		p := &src.pool
		for _, split := range splits() {
			from, to := p.bounds(w.fractions(split))
			last := span{-1, -1, from}
			for _, s := range w.spans(p, split) {
				if s.warm < from || s.warm+w.Warm != s.from || s.from >= s.to || s.to > to {
					t.Fatalf("%s window %+v with %d to warm it up, in arrivals %d to %d", split, s, w.Warm, from, to)
				}
				if s.from < last.from || split == Test && s.warm < last.to {
					t.Fatalf("%s windows %+v and %+v", split, last, s)
				}
				if w.Duration > 0 && p.submit(s.to-1)-p.submit(s.from) >= w.Duration {
					t.Fatalf("%s window %+v lasts longer than %v", split, s, w.Duration)
				}
				last = s
			}
		}
	})
}
