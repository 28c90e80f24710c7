package whatif

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// snapshot parses a snapshot at 1000 s with the given servers, jobs and rules.
func snapshot(t *testing.T, servers, jobs, rules string) *cluster.State {
	t.Helper()
	text := fmt.Sprintf(`{"version": 1, "now_s": 1000, "servers": [%s], "jobs": [%s]%s}`, servers, jobs, rules)
	s := must.Get(cluster.ReadSnapshot(strings.NewReader(text)))(t)
	return s
}

// server returns a server with the given number of GPUs as JSON; more contains further fields.
func server(name string, gpus int, more string) string {
	return fmt.Sprintf(`{"name": "%s", "gpus": %d, "cpu_milli": null, "mem_mib": null%s}`, name, gpus, more)
}

// runs returns a job that has run for 100 s on the first GPUs of a server; left is its remaining time in seconds.
func runs(id, on string, gpus, left int, more string) string {
	var list []string
	for g := range gpus {
		list = append(list, fmt.Sprint(g))
	}
	return fmt.Sprintf(`{"id": "%s", "submit_s": 900, "workers": %d, "estimate_s": %d, "progress_s": 100, "state": "running",
		"placement": [{"server": "%s", "workers": %d, "gpus": [%s]}]%s}`,
		id, gpus, 100+left, on, gpus, strings.Join(list, ", "), more)
}

// waits returns a job that has waited for 50 s; seconds is its work.
func waits(id string, workers, seconds int, more string) string {
	return fmt.Sprintf(`{"id": "%s", "submit_s": 950, "workers": %d, "estimate_s": %d, "state": "pending"%s}`,
		id, workers, seconds, more)
}

// shares returns jobs that share a GPU. Each is named after the GPU and its share; "200+" is a second job with the share 200.
func shares(gpu int, milli ...string) string {
	var jobs []string
	for _, m := range milli {
		job := runs(fmt.Sprintf("%d-%s", gpu, m), "a", 1, 60, `, "gpu_milli": `+strings.TrimSuffix(m, "+"))
		jobs = append(jobs, strings.Replace(job, "[0]", fmt.Sprintf("[%d]", gpu), 1))
	}
	return strings.Join(jobs, ",")
}

func named(name string) policy.Policy {
	return policy.Policy{Name: name, New: func() (cluster.Scheduler, error) { return baselines.New(name) }}
}

func play(t *testing.T, s *cluster.State, policy string, c Change, o Options) *Outcome {
	t.Helper()
	out := must.Get(Play(t.Context(), &s.View, named(policy), c, o))(t)
	return out
}

// tell formats the times of all jobs: "a 0-60, c 60-90", with an exclamation mark for each stop.
func tell(o *Outcome) string {
	var parts []string
	for i := range o.Jobs {
		j := &o.Jobs[i]
		part := j.Name + " never"
		if j.Never == "" {
			part = fmt.Sprintf("%s %v-%v", j.Name, j.Start.Seconds(), j.Finish.Seconds())
		}
		parts = append(parts, part+strings.Repeat("!", j.Stops))
	}
	return strings.Join(parts, ", ")
}

// TestAnotherQuotaByHand plays two servers of which a tenant may hold one, and then both, or none.
func TestAnotherQuotaByHand(t *testing.T) {
	s := snapshot(t, server("a", 1, "")+","+server("b", 1, ""), waits("c", 1, 30, `, "tenant": "t"`)+","+waits("d", 1, 40, `, "tenant": "t"`),
		`, "quotas": [{"tenant": "t", "gpus": 1}]`)
	for _, c := range []struct {
		change Change
		want   string
		says   string
	}{
		{Change{}, "c 0-30, d 30-70", "as it is"},
		{Change{Quotas: []cluster.Quota{{Tenant: "t", GPUs: 2}}}, "c 0-30, d 0-40", "2 GPUs for t"},
		{Change{Quotas: []cluster.Quota{{Tenant: "t"}}, Remove: []string{"a"}}, "c never, d never", "1 server less, 0 GPUs for t"},
	} {
		o := play(t, s, "fifo", c.change, Options{})
		if got := tell(o); got != c.want || o.Cluster != c.says {
			t.Errorf("%s: %s, want %s: %s", o.Cluster, got, c.says, c.want)
		}
	}
	_, err := Play(t.Context(), &s.View, named("fifo"), Change{Quotas: []cluster.Quota{{Tenant: "u", GPUs: 2}}}, Options{})
	if err == nil || !strings.Contains(err.Error(), `quota of "u": want a tenant that has a quota in the snapshot`) {
		t.Errorf("error %v", err)
	}
	for _, bad := range []string{"t", "t=", "t=x", "t=-1", "=99999999999"} {
		if _, err := ParseQuota(bad); err == nil || !strings.Contains(err.Error(), "want TENANT=GPUS") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
	if q, err := ParseQuota("a=b=3"); err != nil || q != (cluster.Quota{Tenant: "a=b", GPUs: 3}) {
		t.Errorf("%+v, error %v", q, err)
	}
}

// TestAServerMoreByHand plays two full servers, busy for 60 s and 100 s, with a waiting job c of 30 s. With a third server c must
// start at once.
func TestAServerMoreByHand(t *testing.T) {
	s := snapshot(t, server("a", 1, "")+","+server("b", 1, ""), runs("x", "a", 1, 60, "")+","+runs("y", "b", 1, 100, "")+","+
		waits("c", 1, 30, ""), "")
	base := play(t, s, "fifo", Change{}, Options{})
	if got, want := tell(base), "x 0-60, y 0-100, c 60-90"; got != want {
		t.Errorf("as it is: %s, want %s", got, want)
	}
	more := play(t, s, "fifo", Change{Add: []Servers{{Count: 1, GPUs: 1}}}, Options{})
	if got, want := tell(more), "x 0-60, y 0-100, c 0-30"; got != want {
		t.Errorf("with a server more: %s, want %s", got, want)
	}
	r := Compare(base, more)
	if b, c, d := r.Base, r.Change, r.Difference; b.MeanWait != 20 || c.MeanWait != 0 || d.MeanWait != -20 ||
		b.MeanJCT != (160+200+140)/3. || d.MeanJCT != -20 || b.Makespan != 100 || c.Servers != 3 || c.GPUs != 3 ||
		b.Utilisation != 190./200 || d.Preemptions != 0 || r.Compared != 3 {
		t.Errorf("base %+v\nchange %+v\ndifference %+v", b, *c, *d)
	}
	if e := r.Effects[0]; e.Job != "c" || *e.Earlier != 60 || *e.Base.Start != 60 || *e.Change.Start != 0 || e.Age != 50 {
		t.Errorf("most affected: %+v", e)
	}
}

// TestASnapshotCarriesOver checks that everything in a snapshot, also besides servers and jobs, takes effect in the play.
func TestASnapshotCarriesOver(t *testing.T) {
	half := `, "gpu_milli": 500`
	for _, c := range []struct {
		name                 string
		servers, jobs, rules string
		policy               string
		change               Change
		options              Options
		want                 string
	}{
		{"a server that is down", server("a", 1, `, "down": true`) + "," + server("b", 1, ""),
			runs("x", "b", 1, 60, "") + "," + waits("c", 1, 30, ""), "", "fifo", Change{}, Options{}, "x 0-60, c 60-90"},
		{"a GPU out of order", server("a", 2, `, "out_of_order": [1]`),
			runs("x", "a", 1, 60, "") + "," + waits("c", 1, 30, ""), "", "fifo", Change{}, Options{}, "x 0-60, c 60-90"},
		{"a GPU out of order in front of the one that is used", server("a", 2, `, "out_of_order": [0]`),
			strings.Replace(runs("x", "a", 1, 60, ""), "[0]", "[1]", 1), "", "fifo", Change{}, Options{}, "x 0-60"},
		{"a job that the working servers cannot hold", server("a", 2, `, "out_of_order": [1]`),
			waits("big", 2, 10, "") + "," + waits("c", 1, 30, ""), "", "fifo", Change{}, Options{}, "big never, c 0-30"},
		{"an elastic job whose whole gang they cannot hold", server("a", 2, `, "out_of_order": [1]`),
			waits("c", 2, 30, `, "min_workers": 1`), "", "fifo", Change{}, Options{}, "c 0-30"},
		{"servers on loan, and those that are not", server("a", 1, `, "pool": "inference", "on_loan": true`) + "," +
			server("b", 1, `, "pool": "inference"`), runs("x", "a", 1, 60, "") + "," + waits("c", 1, 30, ""), `, "offer": 1`, "fifo",
			Change{}, Options{}, "x 0-60, c 60-90"},
		{"servers that may be borrowed", server("a", 1, `, "pool": "inference", "on_loan": true`) + "," +
			server("b", 1, `, "pool": "inference"`), runs("x", "a", 1, 60, "") + "," + waits("c", 1, 30, ""), "", "fifo+loan",
			Change{}, Options{}, "x 0-60, c 0-30"},
		{"a server on loan that must be back", server("a", 1, `, "pool": "inference", "on_loan": true`) + "," + server("b", 1, ""),
			runs("x", "a", 1, 60, "") + "," + runs("y", "b", 1, 100, ""), `, "offer": 0, "reclaim_by_s": 1020`, "fifo", Change{},
			Options{}, "x 0-140!, y 0-100"},
		{"a server on loan that should be back already", server("a", 1, `, "pool": "inference", "on_loan": true`) + "," +
			server("b", 1, ""), runs("x", "a", 1, 60, ""), `, "offer": 0`, "fifo", Change{}, Options{}, "x 0-60!"},
		{"a quota", server("a", 2, ""), runs("x", "a", 1, 60, `, "tenant": "t"`) + "," + waits("c", 1, 30, `, "tenant": "t"`),
			`, "quotas": [{"tenant": "t", "gpus": 1}]`, "fifo", Change{}, Options{}, "x 0-60, c 60-90"},
		{"a job beyond its tenant's quota", server("a", 2, ""), waits("big", 2, 10, `, "tenant": "t"`) + "," + waits("c", 1, 30, ""),
			`, "quotas": [{"tenant": "t", "gpus": 1}]`, "fifo", Change{}, Options{}, "big never, c 0-30"},
		{"GPU types", server("a", 1, `, "gpu_type": "A"`) + "," + server("b", 1, `, "gpu_type": "B"`),
			runs("x", "a", 1, 60, "") + "," + waits("c", 1, 30, `, "gpu_type": "A"`), "", "fifo", Change{}, Options{},
			"x 0-60, c 60-90"},
		{"a server of a type more", server("a", 1, `, "gpu_type": "A"`) + "," + server("b", 1, `, "gpu_type": "B"`),
			runs("x", "a", 1, 60, "") + "," + waits("c", 1, 30, `, "gpu_type": "A"`), "", "fifo",
			Change{Add: []Servers{{1, 1, "A"}}}, Options{}, "x 0-60, c 0-30"},
		{"how many jobs may share a GPU", server("a", 1, ""), runs("x", "a", 1, 60, half) + "," + waits("c", 1, 30, half),
			`, "per_gpu": 1`, "fifo", Change{}, Options{}, "x 0-60, c 60-90"},
		{"jobs that share a GPU", server("a", 1, ""), runs("x", "a", 1, 60, half) + "," + waits("c", 1, 30, half), "", "fifo",
			Change{}, Options{}, "x 0-60, c 0-30"},
		{"CPU of a server like it", `{"name": "a", "gpus": 1, "cpu_milli": 10, "mem_mib": null}`,
			runs("x", "a", 1, 60, `, "cpu_milli": 6`) + "," + waits("c", 1, 30, `, "cpu_milli": 6`), "", "fifo",
			Change{Add: []Servers{{1, 1, ""}}}, Options{}, "x 0-60, c 0-30"},
		{"a job that has outlived its estimate", server("a", 1, ""), runs("x", "a", 1, -10, "") + "," + waits("c", 1, 30, ""), "",
			"srtf", Change{}, Options{}, "x 30-130!, c 0-30"},
		{"jobs without an estimate", server("a", 1, ""),
			strings.Replace(runs("x", "a", 1, 60, ""), `"estimate_s": 160, `, "", 1) + "," +
				waits("c", 1, 0, ""), "", "sjf", Change{}, Options{Assume: 3 * time.Minute}, "x 0-80, c 80-260"},
		{"a server less", server("a", 1, "") + "," + server("b", 1, ""),
			runs("x", "a", 1, 60, "") + "," + runs("y", "b", 1, 100, "") + "," +
				waits("c", 1, 30, ""), "", "fifo", Change{Remove: []string{"a"}}, Options{}, "x 100-160!, y 0-100, c 160-190"},
		{"a server less, and a restart that costs", server("a", 1, "") + "," + server("b", 1, ""), runs("x", "a", 1, 60, "") + "," +
			waits("c", 1, 30, ""), "", "fifo", Change{Remove: []string{"a"}}, Options{Restart: 7 * time.Second}, "x 0-67!, c 67-97"},
		{"preemption that costs", server("a", 1, ""), runs("x", "a", 1, 60, "") + "," + waits("c", 1, 30, ""), "", "srtf", Change{},
			Options{Restart: 7 * time.Second}, "x 30-97!, c 0-30"},
		{"a server for another", server("a", 1, ""), runs("x", "a", 1, 60, ""), "", "fifo",
			Change{Add: []Servers{{1, 2, ""}}, Remove: []string{"a"}}, Options{}, "x 0-60!"},
		{"all servers less", server("a", 1, ""), runs("x", "a", 1, 60, "") + "," + waits("c", 1, 30, ""), "", "fifo",
			Change{Remove: []string{"a"}}, Options{}, "x never!, c never"},
		{"a job that runs with other amounts than it asks for", `{"name": "a", "gpus": 1, "cpu_milli": 10, "mem_mib": null}`,
			strings.Replace(runs("x", "a", 1, 60, `, "cpu_milli": 20`), `"workers": 1, "gpus"`, `"workers": 1, "cpu_milli": 5, "gpus"`, 1),
			"", "fifo", Change{}, Options{}, "x 0-60"},
		{"shares of GPUs that no rule would put so", server("a", 2, ""), shares(0, "500", "300", "200") + "," +
			shares(1, "400", "300", "300+"), "", "fifo", Change{}, Options{},
			"0-500 0-60, 0-300 0-60, 0-200 0-60, 1-400 0-60, 1-300 0-60, 1-300+ 0-60"},
		{"what jobs have attained", server("a", 1, ""), runs("x", "a", 1, 60, `, "attained_s": 1000000`) + "," + waits("c", 1, 30, ""), "",
			"las", Change{}, Options{}, "x 30-90!, c 0-30"},
		{"what jobs have attained that wait", server("a", 1, ""), runs("x", "a", 1, 60, `, "attained_s": 100`) + "," +
			waits("c", 1, 30, `, "attained_s": 1000000, "starts": 1`), "", "las", Change{}, Options{}, "x 0-60, c 60-90"},
		{"a job that waits to start again", server("a", 1, ""), waits("c", 1, 30, `, "starts": 1`) + "," + waits("d", 1, 30, ""), "", "fifo",
			Change{}, Options{Restart: 7 * time.Second}, "c 0-37, d 37-67"},
		{"a policy that wakes though nothing can run", server("a", 1, `, "pool": "inference"`), waits("c", 1, 30, ""), `, "offer": 0`,
			"las", Change{}, Options{}, "c never"},
		{"no jobs", server("a", 1, ""), "", "", "fifo", Change{}, Options{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := snapshot(t, c.servers, c.jobs, c.rules)
			if got := tell(play(t, s, c.policy, c.change, c.options)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestPhysicsSaysHowFast checks that speeds come from the physics of the options, whatever speed the snapshot contains.
func TestPhysicsSaysHowFast(t *testing.T) {
	spread := `{"id": "x", "submit_s": 900, "workers": 2, "estimate_s": 160, "progress_s": 100, "state": "running", "speed": 3,
		"placement": [{"server": "a", "workers": 1, "gpus": [0]}, {"server": "b", "workers": 1, "gpus": [1]}]}`
	s := snapshot(t, server("a", 2, "")+","+server("b", 2, ""), spread, "")
	for physic, want := range map[string]string{"ideal": "x 0-60", "inter-server(0.5)": "x 0-75"} {
		model := must.Get(physics.Parse(physic))(t)
		if got := tell(play(t, s, "fifo", Change{}, Options{Physics: model})); got != want {
			t.Errorf("%s: %s, want %s", physic, got, want)
		}
		s.SetProfile(physics.Ideal())
		eyes := &spy{}
		see := policy.Policy{Name: "spy", New: func() (cluster.Scheduler, error) { return eyes, nil }}
		if _, err := Play(t.Context(), &s.View, see, Change{}, Options{Physics: model, Most: 1}); err != nil || eyes.profile != physic {
			t.Errorf("a policy knows %s, %v; want %s", eyes.profile, err, physic)
		}
	}
}

func TestWhatCannotBePlayedIsSaid(t *testing.T) {
	one := server("a", 1, "")
	for _, c := range []struct {
		name          string
		servers, jobs string
		policy        string
		change        Change
		want          string
	}{
		{"no estimates", one, waits("c", 1, 0, ""), "fifo", Change{}, "1 job without an estimate (c)"},
		{"a server that is not there", one, waits("c", 1, 1, ""), "fifo", Change{Remove: []string{"b"}}, `remove server "b"`},
		{"a server twice", one, waits("c", 1, 1, ""), "fifo", Change{Remove: []string{"a", "a"}}, `remove server "a"`},
		{"too many servers", one, waits("c", 1, 1, ""), "fifo", Change{Add: []Servers{{cluster.MaxServers, 1, ""}}}, "at most"},
		{"a type that is two", one, waits("c", 1, 1, ""), "fifo", Change{Add: []Servers{{1, 1, "A|B"}}}, "one type"},
	} {
		s := snapshot(t, c.servers, c.jobs, "")
		_, err := Play(t.Context(), &s.View, named(c.policy), c.change, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	s := snapshot(t, one, waits("c", 1, 1, ""), "")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Play(stopped, &s.View, named("fifo"), Change{}, Options{}); err == nil {
		t.Error("a play whose context has ended goes on")
	}
}

func TestServersAreParsed(t *testing.T) {
	if got, err := ParseServers("4x8:V100"); err != nil || got != (Servers{4, 8, "V100"}) {
		t.Errorf("4x8:V100 is %+v, %v", got, err)
	}
	for _, bad := range []string{"", "4", "x8", "4x", "0x8", "4x0", "-1x8", "4x8:", "4x99999", "999999x1", "4 x 8", "4x8x2"} {
		if got, err := ParseServers(bad); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%q is %+v, %v; want an error that says what was expected", bad, got, err)
		}
	}
}

// TestResultsReadWell checks that the text and the JSON describe the same result. Keys may be added to the JSON; none may be
// removed.
func TestResultsReadWell(t *testing.T) {
	s := snapshot(t, server("a", 1, "")+","+server("b", 1, ""), runs("x", "a", 1, 60, "")+","+runs("y", "b", 1, -10, "")+","+
		waits("c", 1, 30, "")+","+waits("wide", 3, 30, "")+","+waits("d", 1, 0, ""), "")
	o := Options{Assume: time.Minute}
	r := Compare(play(t, s, "fifo", Change{}, o), play(t, s, "sjf", Change{Add: []Servers{{1, 1, ""}}}, o))
	var text bytes.Buffer
	must.Do(t, r.WriteText(&text, 1))
	for _, want := range []string{
		"5 jobs at 16m40s, played to the end", "no estimate, and the one assumed is taken (d)", "outlived the estimate",
		"fifo, as it is  sjf, 1 server more  difference", "jobs that never finish", "means are over the 4 jobs that finish in both",
		"sjf with 1 server more saves 5s of mean waiting to those that finish in both, and 1 job fewer never finish",
		"1 of the 3 jobs affected; --all shows them all",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	b := must.Get(json.Marshal(r))(t)
	for _, key := range []string{"now_s", "jobs", "compared", "base", "change", "difference", "effects", "assumed", "mean_wait_s",
		"mean_jct_s", "makespan_s", "gpu_utilisation", "gpu_hours", "preemptions", "migrations", "resizes", "interruptions",
		"unfinished",
		"policy", "cluster", "servers", "gpus", "job", "workers", "running", "age_s", "earlier_s", "start_s", "finish_s", "wait_s",
		"stops", "never", "why", "left_s"} {
		if !strings.Contains(string(b), `"`+key+`":`) {
			t.Errorf("no key %s in %s", key, b)
		}
	}
}
