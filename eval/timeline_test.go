package eval

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"pgregory.net/rapid"
)

// TestTimelineOfAKnownTimeline checks the timeline of Measure's test in parts of 10 s: a and c wait while b runs, and c ends at
// 50.5 s.
func TestTimelineOfAKnownTimeline(t *testing.T) {
	got := NewTimeline(timeline(t), 80*time.Second, 8)
	for _, c := range []struct {
		name      string
		got, want []float64
	}{
		{"waiting", got.Waiting, []float64{0, 0, 2, 3, 3, 0, 0, 0}},
		{"queue", got.Queue, []float64{0, 0, 1, 2, 2, 0, 0, 0}},
		{"held", got.Held, []float64{0, 2, 4, 4, 3.5, 2.05, 2, 0}},
		{"open", got.Open, []float64{4, 4, 4, 4, 4, 4, 4, 4}},
		{"lent", got.Lent, make([]float64, 8)},
		{"need", got.Need, make([]float64, 8)},
	} {
		if !slices.EqualFunc(c.got, c.want, func(x, y float64) bool { return math.Abs(x-y) < 1e-12 }) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	cut := timeline(t)
	cut.Records = cut.Records[:len(cut.Records)-3] // before c, a and the end
	if got := NewTimeline(cut, 80*time.Second, 8).Held; math.Abs(got[4]-(4*5+3*.25)/10) > 1e-12 || got[5] != 0 {
		t.Errorf("held %v of a log that was cut off at 45.25 s", got)
	}
}

func TestTimelineOfNoTime(t *testing.T) {
	log := timeline(t)
	if got := NewTimeline(log, 0, 3); len(got.Held) != 3 || slices.Max(got.Open) != 0 {
		t.Errorf("no time: %+v", got)
	}
	if got := NewTimeline(log, time.Second, 0); len(got.Need) != 0 {
		t.Errorf("no parts: %+v", got)
	}
	if got := NewTimeline(&sim.Log{}, time.Second, 2); len(got.Need) != 2 {
		t.Errorf("empty log: %+v", got)
	}
	if got := NewTimeline(log, 2, 5); slices.Max(got.Open) != 4 || slices.Min(got.Open) != 0 { // 5 parts of 2 ns
		t.Errorf("parts of no time: %+v", got)
	}
}

// TestTimelineShowsNothingBeyondAnInstant checks that a state which lasts no time does not appear in a timeline, for any number
// of parts.
func TestTimelineShowsNothingBeyondAnInstant(t *testing.T) {
	log := timeline(t)
	for parts := 1; parts < 300; parts++ {
		got := NewTimeline(log, 70*time.Second, parts)
		for i, n := range got.Waiting {
			if ends := time.Duration(i+1) * 70 * time.Second / time.Duration(parts); ends <= 20*time.Second && n != 0 {
				t.Fatalf("%d parts: %v GPUs wait in part %d, before 20 s", parts, n, i)
			}
		}
	}
}

// TestTimelineAgreesWithPlainLoops checks that, for any log and number of parts, a timeline equals the result of plain loops over
// intervals.
func TestTimelineAgreesWithPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		end := log.Records[len(log.Records)-1].At
		until := max(1, end+seconds(t, "beyond the end", 40)-20*time.Second)
		parts := rapid.IntRange(1, 50).Draw(t, "parts")
		got := NewTimeline(log, until, parts)
		want := NewTimeline(&sim.Log{}, until, parts)
		begins := func(i int) time.Duration { return until * time.Duration(i) / time.Duration(parts) }
		see := func(from, to time.Duration, c scene, over bool) {
			jobs, milli := c.waiting()
			held := int64(0)
			for _, r := range c.placed {
				held += log.Placement(r).GPUMilli()
			}
			if over {
				jobs, milli, held = 0, 0, 0
			}
			for i := range parts {
				d := float64(min(to, begins(i+1)) - max(from, begins(i)))
				if d <= 0 {
					continue
				}
				d /= float64(begins(i+1) - begins(i))
				want.Waiting[i] = max(want.Waiting[i], float64(milli)/1000)
				want.Queue[i] = max(want.Queue[i], float64(jobs))
				want.Held[i] += d * float64(held) / 1000
				want.Open[i] += d * float64(c.open())
				want.Lent[i] += d * float64(len(c.lent))
				want.Need[i] += d * float64(c.need) / 1000
			}
		}
		scenes(log, func(from, to time.Duration, c scene) { see(from, to, c, false) })
		see(end, math.MaxInt64, sceneAfter(log, len(log.Records)), true)
		for name, s := range map[string][2][]float64{"waiting": {got.Waiting, want.Waiting}, "queue": {got.Queue, want.Queue},
			"held": {got.Held, want.Held}, "open": {got.Open, want.Open}, "lent": {got.Lent, want.Lent}, "need": {got.Need, want.Need}} {
			if !slices.EqualFunc(s[0], s[1], func(x, y float64) bool { return math.Abs(x-y) < 1e-6 }) {
				t.Fatalf("%s %v, want %v", name, s[0], s[1])
			}
		}
		heldAsStays(t, log, &got)
		if n := parts - 1; log.Outcome.Terminated && begins(n) >= end && got.Waiting[n]+got.Queue[n]+got.Held[n] != 0 {
			t.Fatalf("after the end %v GPUs are waited for by %v jobs, and %v held", got.Waiting[n], got.Queue[n], got.Held[n])
		}
	})
}

// heldAsStays checks that the GPU-time held in a timeline equals that of the stays.
func heldAsStays(t *rapid.T, log *sim.Log, got *Timeline) {
	sum, want := 0., 0.
	for i, held := range got.Held {
		sum += held * float64(got.bound(i+1)-got.bound(i))
	}
	for _, stays := range Stays(log) {
		for _, s := range stays {
			want += float64(max(min(s.To, got.Until)-s.From, 0)) * log.Placement(s.Record).GPUs()
		}
	}
	if math.Abs(sum-want) > 1e-6*max(1, want) {
		t.Fatalf("held for %v GPU-ns, by the stays %v", sum, want)
	}
}

// TestPartsOfATimeline checks that parts are adjacent and end with the timeline, even if products overflow 64 bits.
func TestPartsOfATimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tl := Timeline{Until: time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "until")),
			Held: make([]float64, rapid.IntRange(1, 5000).Draw(t, "parts"))}
		if tl.bound(0) != 0 || tl.bound(len(tl.Held)) != tl.Until {
			t.Fatalf("from %v to %v", tl.bound(0), tl.bound(len(tl.Held)))
		}
		at := time.Duration(rapid.Int64Range(0, int64(tl.Until)-1).Draw(t, "at"))
		if rapid.Bool().Draw(t, "at a bound") {
			at = min(tl.bound(rapid.IntRange(0, len(tl.Held)-1).Draw(t, "part")), tl.Until-1)
		}
		if i := tl.part(at); at < tl.bound(i) || at >= tl.bound(i+1) {
			t.Fatalf("%v is in part %d from %v to %v", at, i, tl.bound(i), tl.bound(i+1))
		}
	})
}
