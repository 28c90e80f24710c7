package sim_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/formattest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

func written(t rapid.TB, l *sim.Log) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, l.Write(&b))
	return b.String()
}

func read(t rapid.TB, text string) *sim.Log {
	t.Helper()
	l, err := sim.ReadLog(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return l
}

func drawFIFO(t rapid.TB) cluster.Scheduler {
	t.Helper()
	return must.Get(baselines.New("fifo"))(t)
}

// failing is a scheduler that returns an error at its n-th decision.
type failing struct {
	simtest.Chaos
	left int
}

func (f *failing) Schedule(tx *cluster.Txn) error {
	if f.left--; f.left < 0 {
		return errors.New("enough")
	}
	return f.Chaos.Schedule(tx)
}

// TestUnfinishedLog checks that the log of an episode whose scheduler failed can be written, read and replayed, too.
func TestUnfinishedLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		s := must.Get(sim.New(cfg, drawJobs(t, &cfg)))(t)
		s.Run(t.Context(), &failing{left: rapid.IntRange(0, 10).Draw(t, "decisions")}, rapid.Uint64().Draw(t, "seed"))
		text := written(t, s.Log())
		l := read(t, text)
		replayed, err := sim.Replay(l)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if one, two := written(t, l), written(t, replayed); one != text || two != text {
			t.Fatalf("wrote\n%s\nread\n%s\nreplayed\n%s", text, one, two)
		}
	})
}

const short = `{"format":"clustergym-log","version":2,"scheduler":"fifo","physics":"ideal",` +
	`"restart":{"preempt":0,"migrate":0,"resize":0,"from_scratch":false,"interval":0,"save":0},"horizon":50000000000,"jobs":2,"servers":[{"name":"a","gpus":4,"cpu_milli":9,"mem_mib":null,"pool":"training"},` +
	`{"name":"b-","from":0,"count":2,"gpus":2,"cpu_milli":null,"mem_mib":null,"pool":"inference"}]}
{"at":0,"kind":"submit","job":1,"name":"x","tenant":"t","workers":2,"gpu_milli":1000,"estimate":5,"work":20000000000,"status":"passed"}
{"at":0,"kind":"start","job":1,"pieces":[{"server":0,"workers":2,"gpu_milli":1000,"gpus":[0,1]}]}
{"at":5000000000,"kind":"loan","server":2}
{"at":20000000000,"kind":"finish","job":1}
{"at":50000000000,"kind":"end","truncated":"horizon 50s"}
{"at":90000000000,"kind":"unsubmitted","job":0,"name":"y","workers":1,"gpu_milli":500,"work":1,"status":"unknown"}
`

func TestReadLog(t *testing.T) {
	l := read(t, short)
	if again := written(t, l); again != short {
		t.Errorf("wrote\n%s, want\n%s", again, short)
	}
	if names := fmt.Sprint(l.Config.Cluster.Servers[1].Name, l.Config.Cluster.Servers[2].Name); names != "b-0b-1" {
		t.Errorf("servers %s, want b-0 and b-1", names)
	}
	r := must.Get(sim.Replay(l))(t)
	if again := written(t, r); again != short {
		t.Errorf("replayed\n%s, want\n%s", again, short)
	}
}

// TestServerNames checks that server names survive writing and reading: servers form a group only if their exact names can be
// restored.
func TestServerNames(t *testing.T) {
	for _, names := range []string{"a0 a1 a2", "a1 a2 b3", "a01 a2", "a09 a10", "0 1 2",
		"a a a", "a2 a1", "a9 a10 a11", "-1 -2", "7"} {
		cfg := sim.Config{}
		for n := range strings.FieldsSeq(names) {
			cfg.Cluster.Servers = append(cfg.Cluster.Servers, cluster.ServerSpec{Name: n, GPUs: 1})
		}
		l := read(t, written(t, play(t, cfg, nil, drawFIFO(t), 0)))
		if !slices.Equal(l.Config.Cluster.Servers, cfg.Cluster.Servers) {
			t.Errorf("%s came back as %+v", names, l.Config.Cluster.Servers)
		}
	}
}

func TestReadLogErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"version":2`, `"version":1`, `line 1: version: 1, want a whole number from 2 to 2`},
		{`clustergym-log`, `log`, `line 1: format: "log", want clustergym-log`},
		{`"horizon":50000000000,`, ``, `line 1: horizon: missing, want a whole number from 0`},
		{`"physics":"ideal"`, `"physics":"real"`, `line 1: physics "real": part`},
		{`"gpus":4`, `"gpus":-4`, `line 1: servers[0].gpus: -4, want a whole number from 0`},
		{`"from":0,`, ``, `line 1: servers[1].from: missing, want this field`},
		{`"count":2`, `"count":200000`, `line 1: servers[1].count: 200000, want a whole number from 2 to 131072`},
		{`"kind":"finish"`, `"kind":"stop"`, `line 5: kind: "stop", want submit or start or`},
		{`"kind":"loan",`, `"kind":"loan","job":1,`, `line 4: job: unknown field, want those of a line of kind loan`},
		{`"kind":"loan",`, `"kind":"loan","kind":"loan",`, `line 4: kind: given twice`},
		{`"server":2`, `"server":3`, `line 4: server: 3, want a whole number from 0 to 2`},
		{`"server":2`, `"server":02`, `line 4: server: 02, want a whole number`},
		{`"server":2`, `"server":2.5`, `line 4: server: 2.5, want a whole number`},
		{`"server":2`, `"server":99999999999999999999`, `line 4: server: 99999999999999999999, want a whole number`},
		{`"at":20000000000`, `"at":1`, `line 5: at: 1, want at least the 5000000000 of the line before`},
		{`"gpus":[0,1]`, `"gpus":[0]`, `line 3: pieces[0].gpus: 1, want one for each of 2 workers`},
		{`"gpus":[0,1]`, `"gpus":[0,4]`, `line 3: pieces[0].gpus: 4, want below the 4 GPUs of server 0`},
		{`"gpus":[0,1]}]`, `"gpus":[0,1]}`, `line 3: `},
		{`"status":"passed"`, `"status":"won"`, `line 2: status: "won", want unknown or passed or failed or killed`},
		{`"workers":2,"gpu_milli":1000,"estimate"`, `"workers":2,"min_workers":3,"gpu_milli":1000,"estimate"`,
			`line 2: job x: 3 to 2 workers`},
		{`"job":0`, `"job":2`, `line 7: job: 2, want a whole number from 0 to 1`},
		{`"job":0`, `"job":1`, `submits job 1 twice`},
		{`"name":"y"`, "\"name\":\"\xff\"", `line 7: name: `},
		{`"jobs":2`, `"jobs":3`, `the log ends after 2 jobs, want the 3 of its header`},
		{`"jobs":2`, `"jobs":1`, `line 2: job: 1, want a whole number from 0 to 0`},
		{`"truncated":"horizon 50s"`, `"truncated":""`, `line 6: truncated: "", want a reason`},
		{`"truncated":"horizon 50s"`, `"truncated":"x","terminated":true`, `line 6: kind: "end", want either`},
		{`"status":"unknown"}`, `"status":"unknown"} x`, `line 7: more text after the end: x`},
		{`"kind":"unsubmitted"`, `"kind":"submit"`, `line 7: kind: "submit", want no record after the end`},
		{"\n{\"at\":5", "\n\n{\"at\":5", `line 4: unexpected EOF`},
	} {
		text := strings.Replace(short, c.from, c.to, 1)
		if text == short {
			t.Fatalf("%q is not in the example", c.from)
		}
		if _, err := sim.ReadLog(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s -> %s: error %v, want %q", c.from, c.to, err, c.want)
		}
	}
	if _, err := sim.ReadLog(strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "line 1: no header") {
		t.Errorf("error %v, want no header", err)
	}
}

func TestReplayErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"gpus":[0,1]`, `"gpus":[1,2]`, "record 1 (line 3): start job 1 on [{Server:0 Workers:2"},
		{`{"server":0,"workers":2`, `{"server":1,"workers":2`, "server 1 takes 0 of its workers, want 2: infeasible"},
		{`"kind":"loan","server":2`, `"kind":"reclaim","server":2`,
			"record 2 (line 4): reclaim server 2 at 5s: reclaim server 2: it is not on loan"},
		{`"kind":"loan","server":2`, `"kind":"preempt","job":0`,
			"record 2 (line 4): preempt job 0 at 5s: preempt job 0: it is unsubmitted, want running"},
		{`"at":20000000000`, `"at":20000000001`,
			"record 3 (line 5): finish job 1 at 20.000000001s: the simulation has finish job 1 at 20s"},
		{`"truncated":"horizon 50s"`, `"truncated":"bored"`,
			"record 4 (line 6): end {Terminated:false Truncated:bored} at 50s: the simulation has end"},
		{`"at":50000000000,"kind":"end"`, `"at":40000000000,"kind":"end"`, "record 4 (line 6): end"},
		{`{"at":50000000000,"kind":"end"`, `{"at":50000000000,"kind":"loan","server":1}` + "\n" + `{"at":60000000000,"kind":"end"`,
			"record 5 (line 7)"},
		{`{"at":20000000000,"kind":"finish","job":1}` + "\n", ``, "the simulation has finish job 1 at 20s"},
	} {
		text := strings.Replace(short, c.from, c.to, 1)
		if text == short {
			t.Fatalf("%q is not in the example", c.from)
		}
		if _, err := sim.Replay(read(t, text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s -> %s: error %v, want %q", c.from, c.to, err, c.want)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	cfg := sim.Config{Cluster: cluster.Uniform(1, 1)}
	cfg.Cluster.Servers[0].Name = "\xff"
	err := play(t, cfg, nil, drawFIFO(t), 0).Write(new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "not printable UTF-8") {
		t.Errorf("error %v, want one about UTF-8", err)
	}
	cfg = sim.Config{Cluster: cluster.Uniform(1, 1), Physics: odd{}}
	err = play(t, cfg, nil, drawFIFO(t), 0).Write(new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), `physics "odd"`) {
		t.Errorf("error %v, want one about the physics", err)
	}
}

// odd is a physics that Parse does not accept.
type odd struct{}

func (odd) Name() string                               { return "odd" }
func (odd) Speed(*cluster.View, cluster.JobID) float64 { return 1 }
func (odd) Coupled(_ *cluster.View, _ cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return dst
}

// FuzzReadLog also checks that Replay returns an error or the same log.
func FuzzReadLog(f *testing.F) {
	write := func(l *sim.Log) ([]byte, error) {
		var b bytes.Buffer
		err := l.Write(&b)
		return b.Bytes(), err
	}
	formattest.Fuzz(f, formattest.Format[*sim.Log]{
		Read:  func(text []byte) (*sim.Log, error) { return sim.ReadLog(bytes.NewReader(text)) },
		Write: write,
		Check: func(t *testing.T, l *sim.Log) {
			if l.Config.Cluster.GPUs() > 1000 {
				return
			}
			if replayed, err := sim.Replay(l); err == nil {
				if once, again := written(t, l), written(t, replayed); again != once {
					t.Fatalf("wrote\n%s\nreplayed\n%s", once, again)
				}
			}
		},
	}, short, strings.Replace(short, `"jobs":2`, `"jobs":0`, 1), strings.Replace(short, `"name":"y"`, "\"name\":\"\u202ey\"", 1))
}
