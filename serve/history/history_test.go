package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/serve/history"
)

// look adds a snapshot of one server to a history. Each job is "name submit age" if it runs, and "name submit" if it waits; times
// are in seconds.
func look(t rapid.TB, h *history.History, now int, away []string, jobs ...string) {
	var list []string
	gpu := 0
	for _, j := range jobs {
		f := strings.Fields(j)
		text := fmt.Sprintf(`{"id":%q,"submit_s":%s,"workers":1,"user":"ann","state":"pending"}`, f[0], f[1])
		if len(f) == 3 {
			text = fmt.Sprintf(`{"id":%q,"submit_s":%s,"workers":1,"user":"ann","progress_s":%s,"state":"running",`+
				`"placement":[{"server":"a","workers":1,"gpus":[%d]}]}`, f[0], f[1], f[2], gpu)
			gpu++
		}
		list = append(list, text)
	}
	s, err := cluster.ReadSnapshot(strings.NewReader(fmt.Sprintf(
		`{"version":1,"now_s":%d,"servers":[{"name":"a","gpus":8,"cpu_milli":null,"mem_mib":null}],"jobs":[%s]}`,
		now, strings.Join(list, ","))))
	must.Do(t, err)
	h.Add(&s.View, away)
}

func jobsOf(h *history.History) (all []string) {
	for _, j := range h.Jobs() {
		all = append(all, fmt.Sprintf("%s %v %v", j.Name, j.Submit, j.Work))
	}
	return all
}

func TestHistory(t *testing.T) {
	for _, c := range []struct {
		name   string
		look   func(h *history.History)
		want   []string
		counts history.Counts
	}{
		{"a job ends between two snapshots", func(h *history.History) {
			look(t, h, 100, nil, "j 40 50")
			look(t, h, 130, nil)
		}, []string{"j 0s 1m20s"}, history.Counts{Snapshots: 2, Ended: 1}},
		{"jobs in the order of submission", func(h *history.History) {
			look(t, h, 100, nil, "late 70 5", "early 40 50")
			look(t, h, 101, nil, "early 40 51")
			look(t, h, 102, nil)
		}, []string{"early 0s 52s", "late 30s 6s"}, history.Counts{Snapshots: 3, Ended: 2}},
		{"a job that was stopped has run before", func(h *history.History) {
			look(t, h, 100, nil, "j 40 50")
			look(t, h, 130, nil, "j 40")
			look(t, h, 140, nil)
		}, []string{"j 0s 50s"}, history.Counts{Snapshots: 3, Ended: 1}},
		{"a job that never ran", func(h *history.History) {
			look(t, h, 100, nil, "j 40")
			look(t, h, 130, nil)
		}, nil, history.Counts{Snapshots: 2, Cancelled: 1}},
		{"a job that is away comes back", func(h *history.History) {
			look(t, h, 100, nil, "j 40 50")
			look(t, h, 130, []string{"j"})
			look(t, h, 140, nil, "j 40 60")
			look(t, h, 150, nil)
		}, []string{"j 0s 1m10s"}, history.Counts{Snapshots: 4, Ended: 1}},
		{"nobody saw the end", func(h *history.History) {
			look(t, h, 100, nil, "j 40 50")
			look(t, h, 100+3601, nil)
		}, nil, history.Counts{Snapshots: 2, Unseen: 1}},
		{"the same name again", func(h *history.History) {
			look(t, h, 100, nil, "j 40 50")
			look(t, h, 130, nil, "j 110 10")
			look(t, h, 150, nil)
		}, []string{"j 0s 1m20s", "j~2 1m10s 30s"}, history.Counts{Snapshots: 3, Ended: 2}},
		{"two snapshots of one instant", func(h *history.History) {
			look(t, h, 100, nil, "urgent 40 50", "stopped 40 20")
			look(t, h, 110, nil, "urgent 40 60")
			look(t, h, 110, nil, "urgent 40 60", "stopped 40")
			look(t, h, 120, nil, "stopped 40 20")
			look(t, h, 130, nil)
		}, []string{"stopped 0s 30s", "urgent 0s 1m10s"}, history.Counts{Snapshots: 4, Ended: 2}},
		{"a snapshot that is earlier", func(h *history.History) {
			look(t, h, 100, nil, "j 40 50")
			look(t, h, 90, nil)
		}, nil, history.Counts{Snapshots: 1, Earlier: 1, Live: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h history.History
			c.look(&h)
			if got := jobsOf(&h); fmt.Sprint(got) != fmt.Sprint(c.want) || h.Counts != c.counts {
				t.Errorf("%q, %+v, want %q, %+v", got, h.Counts, c.want, c.counts)
			}
		})
	}
}

// TestHistoryLosesNoJob checks on random clusters that each job is counted once, and that a job runs in the history for as long as
// it ran, up to the time between two snapshots.
func TestHistoryLosesNoJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type job struct{ submit, start, end int }
		var jobs []job
		for range rapid.IntRange(1, 6).Draw(t, "jobs") {
			submit := rapid.IntRange(0, 200).Draw(t, "submit")
			start := submit + rapid.IntRange(0, 60).Draw(t, "wait")
			jobs = append(jobs, job{submit, start, start + rapid.IntRange(1, 200).Draw(t, "run")})
		}
		step := rapid.IntRange(1, 40).Draw(t, "step")
		var h history.History
		shown, ran := map[int]bool{}, map[string]int{}
		for now := 1; now < 700; now += step {
			var texts []string
			for i, j := range jobs {
				switch {
				case now < j.submit || now >= j.end:
					continue
				case now > j.start:
					texts = append(texts, fmt.Sprintf("j%d %d %d", i, j.submit, now-j.start))
					ran[fmt.Sprintf("j%d", i)] = j.end - j.start
				default:
					texts = append(texts, fmt.Sprintf("j%d %d", i, j.submit))
				}
				shown[i] = true
			}
			look(t, &h, now, nil, texts...)
		}
		all := h.Jobs()
		if h.Ended+h.Cancelled != len(shown) || h.Live != 0 || h.Ended != len(ran) {
			t.Fatalf("%+v of %d jobs, %d of which ran", h.Counts, len(shown), len(ran))
		}
		for _, j := range all {
			if was := time.Duration(ran[j.Name]) * time.Second; j.Work < was || j.Work > was+time.Duration(step)*time.Second {
				t.Fatalf("%s ran for %v, recorded %v with a snapshot every %d s", j.Name, was, j.Work, step)
			}
		}
	})
}
