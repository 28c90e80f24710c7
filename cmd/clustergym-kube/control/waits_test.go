package control

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
)

// since returns the waits after a first round, in which they come from the ages of pods.
func since(v *mirror.View, limit time.Duration) *waits {
	w := &waits{limit: limit, step: time.Minute}
	w.see(v.Jobs, noon)
	return w
}

// waiting returns a waiting gang that became complete at the time whole.
func waiting(name string, whole time.Time) mirror.Job {
	return mirror.Job{Spec: cluster.JobSpec{Name: name}, Whole: whole}
}

// TestClockThatJumpsStarvesNobody checks that no gang starves because the clock jumps by a day or more, forwards or backwards,
// not even a gang that arrives while the clock is wrong.
func TestClockThatJumpsStarvesNobody(t *testing.T) {
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour, 2400 * time.Hour, -2400 * time.Hour} {
		w := waits{limit: 24 * time.Hour, step: time.Minute}
		clock, real := noon, time.Duration(0)
		jobs := []mirror.Job{waiting("old", noon.Add(-time.Hour))}
		tick := func(d time.Duration) {
			clock, real = clock.Add(d), real+d
			w.see(jobs, clock)
		}
		tick(0)
		for i, by := range []time.Duration{0, jump, 0, -jump, 0} {
			clock = clock.Add(by)
			jobs = append(jobs, waiting(fmt.Sprint("new-", i), clock), waiting(fmt.Sprint("other-clock-", i), noon.Add(real)))
			for range 6 {
				tick(10 * time.Second)
			}
			for name, x := range w.of {
				if x.waited > 2*time.Hour {
					t.Fatalf("clock jumps by %v: %s has waited for %v in %v", jump, name, x.waited, real)
				}
			}
		}
		for real < 24*time.Hour {
			tick(30 * time.Second)
		}
		if x := w.of["old"].waited; x < 24*time.Hour || x > 26*time.Hour {
			t.Errorf("clock jumps by %v: a gang has waited for %v after 25h", jump, x)
		}
	}
}

// TestWaitsBeginWithAges checks that the first round takes waiting times from the ages of pods, so that a restart does not reset
// them, and that another gang with a used name starts from 0.
func TestWaitsBeginWithAges(t *testing.T) {
	w := waits{limit: 24 * time.Hour, step: time.Minute}
	w.see([]mirror.Job{waiting("a", noon.Add(-30*time.Hour)), waiting("b", noon.Add(time.Hour))}, noon)
	if a, b := w.of["a"].waited, w.of["b"].waited; a != 30*time.Hour || b != 0 {
		t.Errorf("at first they have waited for %v and %v, want 30h and 0", a, b)
	}
	w.see([]mirror.Job{waiting("a", noon.Add(5*time.Second))}, noon.Add(10*time.Second))
	if a := w.of["a"].waited; a != 5*time.Second || len(w.of) != 1 {
		t.Errorf("anew it has waited for %v of %d, want 5s of 1", a, len(w.of))
	}
}

// TestStarvingGangHoldsForABoundedTime checks that a starving gang holds others back only on nodes that it may use, and for no
// longer than it had waited before; then the log says so.
func TestStarvingGangHoldsForABoundedTime(t *testing.T) {
	nodes := []*corev1.Node{node("a", 4, map[string]string{"pool": "x"}), node("b", 4, nil)}
	big := crew{name: "big", pods: 4, least: 4, gpus: 1, asked: 25 * time.Hour, selector: map[string]string{"pool": "x"}}
	crews := []crew{
		{name: "runs", pods: 1, least: 1, gpus: 1, on: []string{"a"}, asked: 40 * time.Hour}, big,
		{name: "near", pods: 2, least: 2, gpus: 1, asked: time.Hour, selector: big.selector, extra: map[string]string{pods.EstimateNote: "900h"}},
		{name: "far", pods: 4, least: 4, gpus: 1, asked: time.Hour, extra: map[string]string{pods.EstimateNote: "900h"}},
	}
	d := decider(t, "sjfskip")
	w := &waits{limit: 24 * time.Hour, step: time.Hour}
	var text bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&text, nil))
	held := time.Duration(0)
	for at := time.Duration(0); ; at += time.Hour {
		v, _ := view(t, nodes, crews, 0)
		w.see(v.Jobs, noon.Add(at))
		r := decideRound(v, d, "r", limits{waits: w, explain: true})
		w.note(t.Context(), r, log)
		starts := []string{}
		for _, b := range r.bind {
			starts = append(starts, b.key)
		}
		if !slices.Contains(starts, "default/far") {
			t.Fatalf("after %v %v start, want the gang on the other node among them", at, starts)
		}
		reasons := r.reasons()
		if slices.Contains(starts, "default/near") {
			held = at
			if want := "it has held others back for 24h0m0s and does so no more"; !strings.Contains(reasons["default/big"], want) {
				t.Errorf("it waits as %q, want %q", reasons["default/big"], want)
			}
			break
		}
		want := `but for the limit "starving": it would delay default/big`
		if got := gangCounts(t, r); !strings.Contains(reasons["default/near"], want) || got["holding"] != 1 || got["starving"] < 1 {
			t.Fatalf("held with %q, %v gangs hold, %v starve", reasons["default/near"], got["holding"], got["starving"])
		}
		if at > 100*time.Hour {
			t.Fatal("it holds others back for ever")
		}
	}
	if held != 24*time.Hour {
		t.Errorf("it held others back for %v, want 24h", held)
	}
	if got := text.String(); strings.Count(got, `"holds others back"`) != 1 || strings.Count(got, `"holds others back no more"`) != 1 {
		t.Errorf("the log says %s, want the beginning and the end, each once", got)
	}
}
