package cluster

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/formattest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// wander runs random operations and returns the resulting state, with no transaction open.
func wander(t *rapid.T) *State {
	m := start(t, 8)
	t.Repeat(map[string]func(*rapid.T){
		"place": m.place, "best fit": m.bestFit, "preempt": m.preempt, "loan": m.loan, "commit": m.commit,
		"resize": func(t *rapid.T) { m.move(t, m.tx.Resize, false) },
	})
	m.commit(t)
	return m.s
}

func write(t rapid.TB, s *State) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, s.WriteSnapshot(&b))
	return b.String()
}

// TestSnapshotRoundTrip checks that reading a written snapshot returns the same servers and, for the pending and running jobs,
// everything that a scheduler may read.
func TestSnapshotRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := wander(t)
		text := write(t, s)
		got, err := ReadSnapshot(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if again := write(t, got); again != text {
			t.Fatalf("wrote\n%s\nthen\n%s", text, again)
		}
		conserve(t, got)
		if got.Now() != s.Now() || got.FreeTotal() != s.FreeTotal() || got.NoPreemption() != s.NoPreemption() {
			t.Fatalf("now %v, %d free, preemption forbidden %v; want %v, %d, %v", got.Now(), got.FreeTotal(), got.NoPreemption(), s.Now(),
				s.FreeTotal(), s.NoPreemption())
		}
		for _, v := range serverIDs(s) {
			if *got.Server(v) != *s.Server(v) || got.OnLoan(v) != s.OnLoan(v) || !slices.Equal(got.GPUUse(v), s.GPUUse(v)) {
				t.Fatalf("server %d: %+v, %v; want %+v, %v", v, *got.Server(v), got.GPUUse(v), *s.Server(v), s.GPUUse(v))
			}
			if got.Down(v) != s.Down(v) || got.servers[v].perGPU != s.servers[v].perGPU {
				t.Fatalf("server %d: down %v, want %v", v, got.Down(v), s.Down(v))
			}
			for g := range s.Server(v).GPUs {
				if got.Failed(v, g) != s.Failed(v, g) {
					t.Fatalf("server %d GPU %d: out of order %v, want %v", v, g, got.Failed(v, g), s.Failed(v, g))
				}
			}
		}
		owed, by := s.Owed()
		if n, at := got.Owed(); n != owed || n > 0 && at != by || got.Offer() != s.Offer() {
			t.Fatalf("%d of %d owed by %v, want %d of %d by %v", n, got.Offer(), at, owed, s.Offer(), by)
		}
		if !slices.Equal(got.tenants, s.tenants) {
			t.Fatalf("quotas %+v, want %+v", got.tenants, s.tenants)
		}
		next := JobID(0)
		for i := range s.jobs {
			if id := JobID(i); s.Phase(id) == Pending || s.Phase(id) == Running {
				same(t, s, got, id, next)
				next++
			}
		}
		if got.Jobs() != int(next) {
			t.Fatalf("%d jobs, want %d", got.Jobs(), next)
		}
	})
}

func same(t *rapid.T, a, b *State, x, y JobID) {
	was, is := *a.Spec(x), *b.Spec(y)
	for i := range a.servers {
		if v := ServerID(i); a.MayUse(x, v) != b.MayUse(y, v) {
			t.Fatalf("job %d may use server %d: %t, want %t", y, v, b.MayUse(y, v), a.MayUse(x, v))
		}
	}
	if (was.Where == nil) != (is.Where == nil) {
		t.Fatalf("job %d may use %v, want %v", y, is.Where, was.Where)
	}
	was.Where, is.Where = nil, nil
	if a.Phase(x) != b.Phase(y) || was != is || a.Starts(x) != b.Starts(y) || a.Progress(x) != b.Progress(y) ||
		a.Attained(x) != b.Attained(y) || !slices.Equal(a.Placement(x), b.Placement(y)) || !slices.Equal(a.GPUs(x), b.GPUs(y)) {
		t.Fatalf("job %d became job %d:\n%+v %+v\n%+v %+v", x, y, *a.Spec(x), a.jobs[x], *b.Spec(y), b.jobs[y])
	}
	if !slices.Equal(a.Readings(x), b.Readings(y)) {
		t.Fatalf("job %d has the readings %+v, want %+v", y, b.Readings(y), a.Readings(x))
	}
	shape, again := a.Shape(x), b.Shape(y)
	shape.where, again.where = nil, nil
	if shape != again {
		t.Fatalf("job %d of shape %+v, want %+v", y, b.Shape(y), a.Shape(x))
	}
	if a.Phase(x) == Pending {
		p, fits := a.BestFit(x, nil)
		if q, alike := b.BestFit(y, nil); fits != alike || !slices.Equal(p, q) {
			t.Fatalf("job %d goes on %v (%v), want %v (%v)", y, q, alike, p, fits)
		}
	}
	if a.Phase(x) == Running && a.jobs[x].rate != b.jobs[y].rate {
		t.Fatalf("job %d at rate %v, want %v", y, b.jobs[y].rate, a.jobs[x].rate)
	}
}

// TestIntroduce checks that the first events are those of the running jobs, then those of the pending jobs, each ordered by
// submission, then id.
func TestIntroduce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := wander(t)
		var want []Event
		for phase, kind := range map[Phase]EventKind{Running: Found, Pending: Arrived} {
			for i := range s.jobs {
				if s.jobs[i].phase == phase {
					want = append(want, Event{Kind: kind, Job: JobID(i)})
				}
			}
		}
		slices.SortFunc(want, func(a, b Event) int {
			switch x, y := s.Spec(a.Job).Submit, s.Spec(b.Job).Submit; {
			case a.Kind != b.Kind:
				return int(b.Kind) - int(a.Kind) // Found is above Arrived
			case x != y:
				return cmp.Compare(x, y)
			}
			return int(a.Job - b.Job)
		})
		if got := s.Introduce(); !slices.Equal(got, want) {
			t.Fatalf("events %v, want %v", got, want)
		}
		before := Event{Kind: Woke}
		if got := s.AppendIntroduction([]Event{before}); got[0] != before || !slices.Equal(got[1:], want) {
			t.Fatalf("events %v behind %v, want %v", got, before, want)
		}
	})
}

// TestRestore checks that Restore takes exactly the given GPUs, or returns an error and changes nothing.
func TestRestore(t *testing.T) {
	share := Amount{GPUMilli: 600}
	whole := Amount{GPUMilli: WholeGPU}
	for _, c := range []struct {
		name string
		p    Placement
		gpus []int32
		ok   bool
	}{
		{"two GPUs of one server, out of order", Placement{{0, 2, whole}}, []int32{3, 1}, true},
		{"two servers", Placement{{1, 1, whole}, {0, 1, whole}}, []int32{1, 0}, true},
		{"shares beside a share", Placement{{0, 2, Amount{GPUMilli: 400}}}, []int32{2, 3}, true},
		{"a share that the GPU has not left", Placement{{0, 2, share}}, []int32{2, 3}, false},
		{"a GPU in use", Placement{{0, 2, whole}}, []int32{1, 2}, false},
		{"one GPU twice", Placement{{0, 2, Amount{GPUMilli: 400}}}, []int32{1, 1}, false},
		{"a GPU that is not there", Placement{{0, 2, whole}}, []int32{1, 4}, false},
		{"a GPU below 0", Placement{{0, 2, whole}}, []int32{-1, 1}, false},
		{"too few GPUs", Placement{{0, 2, whole}}, []int32{1}, false},
		{"too many GPUs", Placement{{0, 2, whole}}, []int32{0, 1, 3}, false},
		{"a closed server", Placement{{2, 2, whole}}, []int32{0, 1}, false},
		{"half the gang", Placement{{0, 1, whole}}, []int32{0}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := Uniform(3, 4)
			spec.Servers[2].Pool = Inference
			s, err := NewState(spec, 2)
			if err != nil {
				t.Fatal(err)
			}
			s.Submit(0, &JobSpec{Name: "a", Workers: 1, Request: share})
			s.Submit(1, &JobSpec{Name: "b", Workers: 2, Request: whole})
			must.Do(t, s.Restore(0, Placement{{0, 1, share}}, []int32{2}))
			was := portray(s)
			err = s.Restore(1, c.p, c.gpus)
			if c.ok {
				if err != nil || !slices.Equal(s.GPUs(1), c.gpus) || !slices.Equal(s.Placement(1), c.p) {
					t.Fatalf("error %v, GPUs %v on %v; want %v on %v", err, s.GPUs(1), s.Placement(1), c.gpus, c.p)
				}
			} else if !errors.Is(err, ErrInfeasible) || !reflect.DeepEqual(portray(s), was) {
				t.Fatalf("error %v, want ErrInfeasible and a state as before", err)
			}
			conserve(t, s)
		})
	}
}

const small = `{"version": 1, "now_s": 100.5, "servers": [
{"name": "a", "gpus": 2, "cpu_milli": 4000, "mem_mib": null},
{"name": "b", "gpus": 2, "cpu_milli": null, "mem_mib": 64, "pool": "inference", "on_loan": true}],
"jobs": [
{"id": "x", "submit_s": 1.5, "workers": 1, "gpu_milli": 500, "state": "running", "progress_s": 7, "speed": 0.5,
 "placement": [{"server": "b", "workers": 1, "gpus": [1]}]},
{"id": "y", "submit_s": 0, "workers": 2, "min_workers": 1, "cpu_milli": 1, "estimate_s": 60, "state": "pending"}]}`

func TestReadSnapshot(t *testing.T) {
	s := must.Get(ReadSnapshot(strings.NewReader(small)))(t)
	if got := s.Introduce(); !slices.Equal(got, []Event{{Kind: Found, Job: 0}, {Kind: Arrived, Job: 1}}) {
		t.Errorf("events %v, want x found and y arrived", got)
	}
	s.Advance(110500 * time.Millisecond)
	if s.Progress(0) != 12*time.Second || s.FreeTotal() != 3 || s.GPUUse(1)[1] != 500 {
		t.Errorf("progress %v, %d GPUs free, use %v", s.Progress(0), s.FreeTotal(), s.GPUUse(1))
	}
}

func TestReadSnapshotErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"version": 1`, `"version": 2`, `version: 2, want a whole number from 1 to 1`},
		{`"version": 1, `, ``, `version: missing`},
		{`100.5`, `-1`, `now_s: -1, want seconds from 0`},
		{`100.5`, `1.0000000001`, `now_s: 1.0000000001, want seconds from 0 to 3153600000 with at most 9 decimals`},
		{`100.5`, `1e2`, `now_s: 1e2`},
		{`100.5`, `"noon"`, `now_s: "noon", want seconds from 0`},
		{`"submit_s": 1.5`, `"submit_s": null`, `jobs[0].submit_s: null, want seconds from 0`},
		{`"jobs": [`, `"colour": 1, "jobs": [`, `colour: unknown field`},
		{`"gpus": 2, "cpu_milli": 4000`, `"gpus": 2, "gpus": 2, "cpu_milli": 4000`, `line 2: servers[0].gpus: given twice`},
		{`"cpu_milli": 4000`, `"cpu_milli": -4`, `servers[0].cpu_milli: -4, want null or a whole number from 0`},
		{`"gpus": 2, "cpu_milli": null`, `"gpus": 99999, "cpu_milli": null`,
			`servers[1].gpus: 99999, want a whole number from 0 to 16384`},
		{`"name": "b"`, `"name": "a"`, `servers[1].name: "a", want another than that of servers[0]`},
		{`"name": "b"`, `"name": "\u0007"`, `servers[1].name: "\u0007", want 1 to 256 bytes`},
		{`"pool": "inference"`, `"pool": "spare"`, `servers[1].pool: "spare", want training or inference`},
		{`"pool": "inference", `, ``, `servers[1].on_loan: true, want false for a server of the training pool`},
		{`"on_loan": true`, `"on_loan": false`, `jobs[0].placement: restore job 0: server 1 takes 0 of its workers`},
		{`"id": "y"`, `"id": "x"`, `jobs[1].id: "x", want another than that of jobs[0]`},
		{`"submit_s": 1.5`, `"submit_s": 101`, `jobs[0].submit_s: 101, want seconds from 0 to 100`},
		{`"state": "pending"`, `"state": "done"`, `jobs[1].state: "done", want pending or running`},
		{`"state": "pending"`, `"state": "running"`, `jobs[1].placement: missing`},
		{`"state": "pending"`, `"state": "pending", "speed": 1`, `jobs[1].speed: 1, want a number above 0`},
		{`"speed": 0.5`, `"speed": 0`, `jobs[0].speed: 0, want a number above 0`},
		{`"server": "b"`, `"server": "c"`, `jobs[0].placement[0].server: "c", want the name of a server`},
		{`[1]`, `[2]`, `jobs[0].placement: restore job 0: server 1: GPU 2, want 0 to 1`},
		{`[1]`, `[1, 0]`, `jobs[0].placement[0].gpus: 2, want one GPU for each of 1 workers`},
		{`[1]`, `["1"]`, `jobs[0].placement[0].gpus[0]: "1", want a whole number from 0 to 16384`},
		{`"min_workers": 1`, `"min_workers": 3`, `jobs[1]: job y: 3 to 2 workers around 2`},
		{`"state": "pending"}]}`, `"state": "pending"}]} {}`, `more text after the end`},
		{`"state": "pending"}]}`, `"state": "pending"}]`, `unexpected EOF`},
		{`"state": "pending"}]}`, `"state": "pending"}, [[[[1]]]]]}`, `line 7: jobs[2]: [[[[1]]]]]}, want an object`},
		{`"state": "pending"}]}`, `"state": "pending"}, ` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `]}`,
			`line 7: jobs[2][0][0][0][0][0][0][0][0]...: exceeded max depth`},
		{`"jobs": [`, `"jobs": [[[[[[[[[[`, `line 7: jobs[0]`},
		{`"jobs": [`, "\"jobs\": [1, ", `jobs[0]: 1, want an object`},
		{`"id": "y"`, "\"id\": \"\xff\"", `line 7: jobs[1].id: invalid UTF-8`},
	} {
		refuse(t, small, c.from, c.to, c.want)
	}
}

// refuse replaces one text in an example and checks the error that reading the result returns.
func refuse(t *testing.T, example, from, to, want string) {
	t.Helper()
	text := strings.Replace(example, from, to, 1)
	if text == example {
		t.Fatalf("%q is not in the example", from)
	}
	if _, err := ReadSnapshot(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s -> %s: error %v, want %q", from, to, err, want)
	}
}

// TestReadSnapshotOversubscribed checks that the shares of jobs on one GPU must not add up to more than the whole GPU.
func TestReadSnapshotOversubscribed(t *testing.T) {
	twice := strings.Replace(small, `"state": "pending"}`, `"state": "running", "placement": [
		{"server": "b", "workers": 1, "gpus": [1]}]}`, 1)
	_, err := ReadSnapshot(strings.NewReader(twice))
	const want = "jobs[1].placement: restore job 1: server 1: GPU 1 has 500 thousandths in use, want at most 0: infeasible"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestWriteSnapshotErrors(t *testing.T) {
	spec := Uniform(2, 1)
	spec.Servers[1].Name = spec.Servers[0].Name
	s := must.Get(NewState(spec, 0))(t)
	if err := s.WriteSnapshot(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), `server 1: name "server-0"`) {
		t.Errorf("error %v, want one about the second server's name", err)
	}
	s = must.Get(NewState(Uniform(1, 1), 2))(t)
	s.Submit(0, &JobSpec{Name: "a", Workers: 1, Request: Amount{GPUMilli: WholeGPU}})
	s.Submit(1, &JobSpec{Name: "a", Workers: 1, Request: Amount{GPUMilli: WholeGPU}})
	if err := s.WriteSnapshot(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), `job 1: name "a"`) {
		t.Errorf("error %v, want one about the second job's name", err)
	}
}

func FuzzReadSnapshot(f *testing.F) {
	formattest.Fuzz(f, formattest.Format[*State]{
		Read: func(text []byte) (*State, error) { return ReadSnapshot(bytes.NewReader(text)) },
		Write: func(s *State) ([]byte, error) {
			var b bytes.Buffer
			err := s.WriteSnapshot(&b)
			return b.Bytes(), err
		},
	},
		small,
		full,
		plain,
		strings.Replace(small, `"name": "b"`, "\"name\": \"\u202eb\"", 1),
		strings.Replace(full, `"stages": 1, "tensor": 2`, `"stages": 262144, "tensor": 16384`, 1),
		strings.Replace(full, `"gpu_mem_mib": 80`, `"gpu_mem_mib": 2147483647`, 1),
		`{"version":1,"now_s":0,"offer":9,"quotas":[{"gpus":1}],"servers":[{"name":"a","gpus":1,"cpu_milli":0,"mem_mib":0,`+
			`"pool":"inference","on_loan":true,"out_of_order":[0]}],"jobs":[]}`,
		`{"version":1,"now_s":0,"servers":[],"jobs":[]}`,
		hostile(`"`+strings.Repeat("k", 300)+`":[0,0,0],`, "", ""),
		hostile("", "", strings.Repeat(`{"":0},`, 100)+`{}`),
		hostile("", "", strings.Repeat(`[`, 200)+strings.Repeat(`]`, 200)),
		`{"jobs":[{"placement":[],"id":"\u0061","state":"pending","workers":1,"submit_s":0}],"servers":[{"gpus":1,"name":"a",`+
			`"mem_mib":null,"cpu_milli":1}],"now_s":1,"version":1}`,
		`{"version":1,"now_s":0.000000001,"servers":[{"name":"a","gpus":0,"cpu_milli":0,"mem_mib":0}],"jobs":[]}`,
	)
}
