package explain

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// snapshot parses a snapshot at 1000 s with the given servers, jobs and rules.
func snapshot(t *testing.T, servers, jobs, rules string) *cluster.State {
	t.Helper()
	text := fmt.Sprintf(`{"version": 1, "now_s": 1000, "servers": [%s], "jobs": [%s]%s}`, servers, jobs, rules)
	s := must.Get(cluster.ReadSnapshot(strings.NewReader(text)))(t)
	return s
}

// server returns a server of a snapshot as JSON; more contains further fields.
func server(name string, gpus int, more string) string {
	for _, field := range []string{"cpu_milli", "mem_mib"} {
		if !strings.Contains(more, `"`+field+`"`) {
			more += fmt.Sprintf(`, "%s": null`, field)
		}
	}
	return fmt.Sprintf(`{"name": "%s", "gpus": %d%s}`, name, gpus, more)
}

// runs returns a job that runs on the first GPUs of a server, with 60 s left.
func runs(id, on string, gpus int, more string) string {
	var list []string
	for g := range gpus {
		list = append(list, fmt.Sprint(g))
	}
	return fmt.Sprintf(`{"id": "%s", "submit_s": 900, "workers": %d, "estimate_s": 160, "progress_s": 100, "state": "running",
		"placement": [{"server": "%s", "workers": %d, "gpus": [%s]}]%s}`, id, gpus, on, gpus, strings.Join(list, ", "), more)
}

// waits returns a waiting job that was submitted 100 s ago.
func waits(id string, workers int, more string) string {
	return fmt.Sprintf(`{"id": "%s", "submit_s": 900, "workers": %d, "state": "pending"%s}`, id, workers, more)
}

// TestWhyAJobWaits checks every reason for which a job waits, each on the smallest cluster in which it occurs.
func TestWhyAJobWaits(t *testing.T) {
	two := server("a", 4, "") + "," + server("b", 4, "")
	half := `, "gpu_milli": 500`
	for _, c := range []struct {
		name                 string
		servers, jobs, rules string
		code                 Code
		text                 string
		excluded             string
	}{
		{"the cluster is too small", two, waits("j", 9, ""), "", neverFits,
			"needs 9 GPUs; the empty cluster takes only 8 of its workers", "[]"},
		{"the server that could hold it is down", server("a", 4, `, "down": true`) + "," + server("b", 2, ""), waits("j", 4, ""), "",
			neverFits, "needs 4 GPUs; the empty cluster takes only 2 of its workers", "[{failed 1}]"},
		{"the server that could hold it has a GPU out of order", server("a", 4, `, "out_of_order": [1]`), waits("j", 4, ""), "",
			neverFits, "needs 4 GPUs; the empty cluster takes only 3 of its workers", "[]"},
		{"the server that could hold it serves inference", server("a", 4, `, "pool": "inference"`), waits("j", 4, ""), "",
			neverFits, "needs 4 GPUs; the empty cluster takes only 0 of its workers", "[{not-lent 1}]"},
		{"no GPU will do", server("a", 4, `, "gpu_type": "K80"`), waits("j", 2, `, "gpu_type": "V100"`), "",
			neverFits, "needs 2 GPUs; the empty cluster takes only 0 of its workers", "[{gpu-type 1}]"},
		{"no GPU has the memory", server("a", 4, `, "gpu_mem_mib": 100`), waits("j", 2, `, "gpu_mem_mib": 101`), "",
			neverFits, "needs 2 GPUs; the empty cluster takes only 0 of its workers", "[{small-gpu 1}]"},
		{"the tenant may never hold so much", two, waits("j", 4, `, "tenant": "t"`), `, "quotas": [{"tenant": "t", "gpus": 3}]`,
			overQuota, `needs 4 GPUs; tenant "t" may hold 3 GPUs, and 3 GPUs of it are left`, "[]"},
		{"the tenant holds what it may", two, runs("r", "a", 2, `, "tenant": "t"`) + "," + waits("j", 2, `, "tenant": "t"`),
			`, "quotas": [{"tenant": "t", "gpus": 2}]`, overQuota,
			`needs 2 GPUs; tenant "t" may hold 2 GPUs, and 0 GPUs of it are left; room in about 60s, when r (2 GPUs on a) ends`,
			"[{quota 2}]"},
		{"GPUs enough, but not of one type", server("a", 2, `, "gpu_type": "K80"`) + "," + server("b", 4, `, "gpu_type": "V100"`),
			runs("r", "b", 2, "") + "," + waits("j", 3, ""), "", wrongType,
			"needs 3 GPUs of one type; at most 2 fit so; room in about 60s, when r (2 GPUs on b) ends", "[]"},
		{"no CPU beside the GPUs", server("a", 4, `, "cpu_milli": 2000`), runs("r", "a", 1, `, "cpu_milli": 1500`) + "," +
			waits("j", 2, `, "cpu_milli": 1000`), "", cpuMemory,
			"needs 2 GPUs; 3 are free, but CPU and memory last for 0 workers; room in about 60s, when r (1 GPU on a) ends",
			"[{cpu 1}]"},
		{"no memory beside the GPUs", server("a", 4, `, "mem_mib": 10`), runs("r", "a", 1, `, "mem_mib": 6`) + "," +
			waits("j", 1, `, "mem_mib": 5`), "", cpuMemory,
			"needs 1 GPU; 3 are free, but CPU and memory last for 0 workers; room in about 60s, when r (1 GPU on a) ends",
			"[{memory 1}]"},
		{"no memory on the GPUs that it could share", server("a", 1, `, "gpu_mem_mib": 10`),
			runs("r", "a", 1, half+`, "gpu_mem_mib": 6`) + "," + waits("j", 1, half+`, "gpu_mem_mib": 5`), "", gpuMemory,
			"needs 1 GPU share of 500/1000; the memory free on GPUs lasts for 0 workers; room in about 60s, when r (0.5 GPUs on a) ends",
			"[{gpu-memory 1}]"},
		{"the GPUs have as many jobs as they may", server("a", 1, ""), runs("r", "a", 1, half) + "," + waits("j", 1, half),
			`, "per_gpu": 1`, perGPU,
			"needs 1 GPU share of 500/1000; 0 fit, other GPUs have as many jobs as they may; room in about 60s, " +
				"when r (0.5 GPUs on a) ends", "[{per-gpu 1}]"},
		{"its workers must stand on one server", two, runs("r", "a", 1, "") + "," + runs("q", "b", 2, "") + "," +
			waits("j", 4, `, "tensor": 4`), "", noHole,
			"needs 4 GPUs on one server; largest hole 3; room in about 60s, when r (1 GPU on a) ends", "[{group 2}]"},
		{"its workers must stand in pairs", two, runs("r", "a", 3, "") + "," + runs("q", "b", 1, "") + "," +
			waits("j", 4, `, "tensor": 2`), "", noHole,
			"needs 4 GPUs, 2 together on one server; largest hole 3; room in about 60s, when r (3 GPUs on a) ends", "[{group 1}]"},
		{"too few GPUs are free", two, runs("r", "a", 4, "") + "," + runs("q", "b", 1, "") + "," + waits("j", 4, ""), "", noRoom,
			"needs 4 GPUs; 3 fit, at most 3 on one server; room in about 60s, when r (4 GPUs on a) ends", "[{gpus 1}]"},
		{"too few, and no estimate tells for how long", server("a", 4, ""),
			strings.Replace(runs("r", "a", 4, ""), `"estimate_s": 160, `, "", 1) + "," + waits("j", 1, ""), "", noRoom,
			"needs 1 GPU; 0 fit, at most 0 on one server", "[{gpus 1}]"},
		{"too few until a job ends that has outlived its estimate", server("a", 4, ""),
			strings.Replace(runs("r", "a", 4, ""), "160", "90", 1) + "," + waits("j", 1, ""), "", noRoom,
			"needs 1 GPU; 0 fit, at most 0 on one server; room in about 80s, when r (4 GPUs on a) ends", "[{gpus 1}]"},
		{"too few until a job ends that should end now", server("a", 4, ""),
			strings.Replace(runs("r", "a", 4, ""), "160", "100", 1) + "," + waits("j", 1, ""), "", noRoom,
			"needs 1 GPU; 0 fit, at most 0 on one server; room at any moment, when r (4 GPUs on a) ends", "[{gpus 1}]"},
		{"too few until the second of two ends", two,
			runs("r", "a", 4, "") + "," + strings.Replace(runs("q", "b", 4, ""), "160", "170", 1) + "," + waits("j", 8, ""), "", noRoom,
			"needs 8 GPUs; 0 fit, at most 0 on one server; room in about 70s, when q (4 GPUs on b) ends as the 2nd", "[{gpus 2}]"},
		{"it fits only spread", two, runs("r", "a", 1, "") + "," + runs("q", "b", 2, "") + "," + waits("j", 4, ""), "", spread,
			"needs 4 GPUs on one server; largest hole 3; fits only spread over 2: held back by the policy; a hole in about 60s, " +
				"when r (1 GPU on a) ends; first to come of 1, 100s ago, no estimate", "[]"},
		{"it fits", two, runs("r", "a", 1, "") + "," + waits("j", 4, `, "estimate_s": 600`), "", heldBack,
			"needs 4 GPUs, and 7 fit: held back by the policy; first to come of 1, 100s ago, shortest with 10.0min left", "[]"},
		{"it fits with fewer workers", server("a", 4, ""),
			runs("r", "a", 1, "") + "," + waits("j", 4, `, "min_workers": 2`), "", heldBack,
			"needs 4 GPUs or at least 2, and 3 fit: held back by the policy; first to come of 1, 100s ago, no estimate", "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := snapshot(t, c.servers, c.jobs, c.rules)
			d := must.Get(New(&s.View).Decision(context.Background(), nil))(t)
			if len(d.Waiting) != 1 {
				t.Fatalf("%d jobs wait, want 1", len(d.Waiting))
			}
			w := d.Waiting[0]
			if w.Code != c.code || w.Text != c.text || fmt.Sprint(w.Excluded) != c.excluded {
				t.Errorf("got  %s %v\n%s\nwant %s %s\n%s", w.Code, w.Excluded, w.Text, c.code, c.excluded, c.text)
			}
		})
	}
}
