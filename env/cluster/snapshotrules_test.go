package cluster

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
)

// full has every field of the format. Server c is on loan, down and owed; GPU 2 of server a has failed.
const full = `{"version": 1, "now_s": 100, "per_gpu": 2, "offer": 0, "reclaim_by_s": 160.5,
"quotas": [{"tenant": "t", "gpus": 4}, {"tenant": "", "gpus": 1}],
"servers": [
{"name": "a", "gpus": 4, "cpu_milli": null, "mem_mib": null, "gpu_type": "A100", "gpu_mem_mib": 80, "rack": 1, "out_of_order": [2]},
{"name": "b", "gpus": 2, "cpu_milli": 8000, "mem_mib": 64, "gpu_type": "A100", "rack": 2},
{"name": "c", "gpus": 2, "cpu_milli": null, "mem_mib": null, "pool": "inference", "on_loan": true, "down": true}],
"jobs": [
{"id": "x", "tenant": "t", "submit_s": 1, "workers": 2, "gpu_milli": 1000, "gpu_mem_mib": 40, "model": "bert", "group": "g",
 "stages": 1, "tensor": 2, "gpu_type": "V100|A100", "state": "running",
 "placement": [{"server": "a", "workers": 2, "gpu_mem_mib": 60, "gpus": [0, 3]}]},
{"id": "y", "submit_s": 2, "workers": 2, "gpu_milli": 300, "mixed": true, "state": "running", "starts": 3,
 "placement": [{"server": "b", "workers": 1, "gpus": [1]}, {"server": "a", "workers": 1, "gpus": [1]}]},
{"id": "z", "tenant": "t", "submit_s": 3, "workers": 1, "gpu_milli": 300, "gpu_mem_mib": 81, "servers": ["a", "b"],
 "state": "pending"}]}`

// TestReadFullSnapshot checks that every field sets what it describes.
func TestReadFullSnapshot(t *testing.T) {
	s := must.Get(ReadSnapshot(strings.NewReader(full)))(t)
	conserve(t, s)
	if owed, by := s.Owed(); owed != 1 || by != 160500*time.Millisecond || s.Lent() != 1 || s.Offer() != 0 {
		t.Errorf("%d of %d lent are owed by %v, want 1 of 1 by 2m40.5s", owed, s.Lent(), by)
	}
	if !s.Down(2) || s.Down(0) || !s.Failed(0, 2) || s.Working(0) != 3 || s.FreeTotal() != 1 {
		t.Errorf("down %v, out of order %v, %d in order, %d free", s.Down(2), s.Failed(0, 2), s.Working(0), s.FreeTotal())
	}
	if !slices.Equal(s.Crossing(1), []JobID{1}) || !slices.Equal(s.Crossing(2), []JobID{1}) {
		t.Errorf("jobs %v and %v cross, want job 1", s.Crossing(1), s.Crossing(2))
	}
	if milli, _ := s.QuotaLeft(2); milli != 2000 {
		t.Errorf("tenant t has %d left, want 2000", milli)
	}
	if milli, _ := s.QuotaLeft(1); milli != 400 {
		t.Errorf("those without a tenant have %d left, want 400", milli)
	}
	want := JobSpec{
		Name: "x", Tenant: "t", Submit: time.Second, Workers: 2, Request: needs(wholeGPU, 40), Model: "bert", Group: "g", Stages: 1,
		Tensor: 2, GPUType: "V100|A100",
	}
	if *s.Spec(0) != want || s.Placement(0)[0].Amount != needs(wholeGPU, 60) || !s.Spec(1).Mixed || s.Starts(1) != 3 {
		t.Errorf("%+v on %v, want %+v", *s.Spec(0), s.Placement(0), want)
	}
	if !s.MayUse(2, 0) || !s.MayUse(2, 1) || s.MayUse(2, 2) || !s.MayUse(1, 2) {
		t.Error("z may use another server than a and b, or y not c")
	}
	if p, ok := s.BestFit(2, nil); !ok || p[0].Server != 1 || s.Fits(0, 2, s.Spec(2).Request) != 0 {
		t.Errorf("z goes on %v, %v; want server b, whose GPU memory is not modelled", p, ok)
	}
}

// plain is a snapshot from before the format had types, racks, quotas and failures.
const plain = `{"version":1,"now_s":100.5,
"servers":[
{"name":"a","gpus":2,"cpu_milli":4000,"mem_mib":null,"pool":"training","on_loan":false},
{"name":"b","gpus":2,"cpu_milli":null,"mem_mib":64,"pool":"inference","on_loan":true}
],
"jobs":[
{"id":"x","user":"u","tenant":"t","submit_s":1.5,"workers":2,"min_workers":1,"gpu_milli":500,"cpu_milli":1,"mem_mib":0,` +
	`"estimate_s":0,"state":"running","starts":1,"progress_s":7,"attained_s":99,"speed":0.5,` +
	`"placement":[{"server":"b","workers":2,"gpu_milli":500,"cpu_milli":1,"mem_mib":0,"gpus":[1,0]}]},
{"id":"y","user":"","tenant":"","submit_s":0,"workers":2,"gpu_milli":1000,"cpu_milli":1,"mem_mib":3,` +
	`"estimate_s":60,"state":"pending","starts":0,"progress_s":0,"attained_s":0}
]}
`

// TestReadPlainSnapshot checks that an absent field sets no limit, and that it is absent again when the state is written.
func TestReadPlainSnapshot(t *testing.T) {
	s := must.Get(ReadSnapshot(strings.NewReader(plain)))(t)
	if got := write(t, s); got != plain {
		t.Errorf("written as\n%s\nwant\n%s", got, plain)
	}
	for _, v := range serverIDs(s) {
		if w := s.Server(v); w.GPUType != "" || w.GPUMemMiB != 0 || w.Rack != 0 || s.Down(v) || s.Working(v) != w.GPUs {
			t.Errorf("server %+v, want nothing that is not modelled", *w)
		}
		if s.servers[v].perGPU != WholeGPU {
			t.Errorf("%d jobs a GPU, want as many as their shares allow", s.servers[v].perGPU)
		}
	}
	owed, _ := s.Owed()
	if _, bound := s.QuotaLeft(0); bound || s.Offer() != 1 || s.Lent() != 1 || owed != 0 {
		t.Errorf("%d of %d lent, %d owed, quota %v, want all that there are on offer and no quota", s.Lent(), s.Offer(), owed, bound)
	}
}

func TestReadFullSnapshotErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"per_gpu": 2`, `"per_gpu": 1001`, `per_gpu: 1001, want a whole number from 0 to 1000`},
		{`"offer": 0`, `"offer": -1`, `offer: -1, want a whole number from 0`},
		{`160.5`, `"soon"`, `reclaim_by_s: "soon", want seconds from 0`},
		{`"gpus": 4}, {`, `"gpus": -4}, {`, `quotas[0].gpus: -4, want a whole number from 0`},
		{`"tenant": "t", "gpus": 4`, `"tenant": "t"`, `quotas[0].gpus: missing`},
		{`"tenant": "", "gpus": 1`, `"tenant": "t", "gpus": 1`, `quota 1: 1 GPUs for tenant "t", want 0 or more and each tenant once`},
		{`"tenant": "", "gpus": 1`, `"who": "", "gpus": 1`, `quotas[1].who: unknown field`},
		{`{"tenant": "", "gpus": 1}`, `7`, `quotas[1]: 7, want an object`},
		{`"gpu_type": "A100", "gpu_mem_mib"`, `"gpu_type": "A100|B", "gpu_mem_mib"`, `GPU type "A100|B": want 0 or more, 0 to 65536 and one type`},
		{`"gpu_mem_mib": 80`, `"gpu_mem_mib": -80`, `servers[0].gpu_mem_mib: -80, want a whole number from 0`},
		{`"rack": 2`, `"rack": 65537`, `servers[1].rack: 65537, want a whole number from 0 to 65536`},
		{`[2]`, `[4]`, `servers[0].out_of_order: 4, want indices of GPUs`},
		{`[2]`, `[2, 2]`, `servers[0].out_of_order: 2, want each GPU once`},
		{`[2]`, `2`, `servers[0].out_of_order: 2, want a list of at most 16384`},
		{`"down": true`, `"down": 1`, `servers[2].down: 1, want true or false`},
		{`"mixed": true`, `"mixed": "yes"`, `jobs[1].mixed: "yes", want true or false`},
		{`"stages": 1`, `"stages": -1`, `jobs[0].stages: -1, want a whole number from 0`},
		{`"stages": 1, "tensor": 2`, `"stages": 262144, "tensor": 16384`, `jobs[0]: job x: 2 workers in 262144 stages of 16384`},
		{`"tensor": 2`, `"tensor": 3`, `jobs[0]: job x: 2 workers in 1 stages of 3 tensor-parallel ones`},
		{`"gpu_mem_mib": 60`, `"gpu_mem_mib": 39`,
			`jobs[0].placement: restore job 0: 39 MiB on the GPU, want the 40 that it needs: infeasible`},
		{`"gpu_mem_mib": 60`, `"gpu_mem_mib": 81`, `jobs[0].placement: restore job 0: server 0 takes 0 of its workers, want 2`},
		{`V100|A100`, `V100`, `jobs[0].placement: restore job 0: server 0 takes 0 of its workers, want 2`},
		{`[0, 3]`, `[0, 2]`, `jobs[0].placement: restore job 0: server 0: GPU 2 has 1000 thousandths in use, want at most 0`},
		{`"gpus": 4}, {`, `"gpus": 1}, {`, `jobs[0].placement: restore job 0: tenant t has 1000 thousandths of GPUs left, want 2000`},
		{`"server": "b"`, `"server": "c"`, `jobs[1].placement: restore job 1: server 2 takes 0 of its workers`},
		{`["a", "b"]`, `["a", "d"]`, `jobs[2].servers[1]: "d", want the name of a server in this snapshot`},
		{`["a", "b"]`, `["a", "a"]`, `jobs[2].servers[1]: "a", want each server once`},
		{`["a", "b"]`, `[0]`, `jobs[2].servers[0]: 0, want the name of a server in this snapshot`},
		{`"mixed": true`, `"servers": ["a"]`, `jobs[1].placement: restore job 1: server 1 takes 0 of its workers, want 1`},
		{`, "rack": 2`, `, "model": "x"`, `servers[1].model: unknown field`},
	} {
		refuse(t, full, c.from, c.to, c.want)
	}
	// Mixed is what allows y to use two types.
	two := strings.Replace(full, `"gpu_type": "A100", "rack": 2`, `"gpu_type": "B", "rack": 2`, 1)
	if _, err := ReadSnapshot(strings.NewReader(two)); err != nil {
		t.Error(err)
	}
	refuse(t, two, `, "mixed": true`, ``, `jobs[1].placement: restore job 1: GPUs of several types up to server 0 (A100), want one type`)
	// A job may share the GPU of y if two jobs may share one.
	const joins = `"servers": ["b"], "state": "running", "placement": [{"server": "b", "workers": 1, "gpus": [1]}]}]}`
	joined := strings.Replace(full, "\"servers\": [\"a\", \"b\"],\n \"state\": \"pending\"}]}", joins, 1)
	if _, err := ReadSnapshot(strings.NewReader(joined)); err != nil {
		t.Error(err)
	}
	refuse(t, joined, `"per_gpu": 2`, `"per_gpu": 1`, `jobs[2].placement: restore job 2: server 1: GPU 1 has 1 jobs and too little memory`)
}

// TestWriteRulesErrors checks that WriteSnapshot returns an error for rules that the format cannot represent.
func TestWriteRulesErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		tenant string
		offer  int32
		by     time.Duration
		want   string // "" if they can be written
	}{
		{"what no job names", "", 1, time.Hour, ""},
		{"more than there are", "t", 1 << 20, maxTime, ""},
		{"a tenant that is not printable", "\n", 0, 0, `write snapshot: quota 0: tenant "\n", want a printable one`},
		{"less than nothing", "t", -1, 0, `write snapshot: offer of -1 servers, those beyond back by 0s: want 0 or more, by 0s to 876000h0m0s`},
		{"the past", "t", 0, -1, `write snapshot: offer of 0 servers, those beyond back by -1ns: want`},
		{"no deadline where nothing is owed", "t", 1, maxTime + 1, ""},
		{"the far future", "t", 0, maxTime + 1, `write snapshot: offer of 0 servers, those beyond back by 876000h0m0.000000001s: want`},
	} {
		spec := Uniform(2, 1)
		spec.Servers[1].Pool = Inference
		spec.Quotas = []Quota{{c.tenant, 1 << 30}}
		s := with(t, spec)
		s.lend(1, true)
		s.SetOffer(c.offer, c.by)
		var b bytes.Buffer
		err := s.WriteSnapshot(&b)
		if c.want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadSnapshot(&b)
		if err != nil || again.Offer() != c.offer || !slices.Equal(again.tenants, s.tenants) {
			t.Errorf("%s: read as %+v, error %v", c.name, again, err)
		}
	}
}
