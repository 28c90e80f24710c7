package perfetto

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

func written(t rapid.TB, log *sim.Log) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, log); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestEveryScheduleKeepsToTheFormat checks that, for any episode, the file follows the format and agrees with the log.
func TestEveryScheduleKeepsToTheFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		text := written(t, log)
		doc, err := parse(text)
		if err == nil {
			err = check(doc, log)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, written(t, log)) {
			t.Fatal("the same log, other bytes")
		}
	})
}

// shared returns an episode in which two jobs share a GPU, a gang of two is preempted and restarts, a server is lent, another
// fails, and the inference pool seizes its server.
func shared(t testing.TB) *sim.Log {
	t.Helper()
	const log = `{"format":"clustergym-log","version":2,"scheduler":"by hand","physics":"ideal","restart":{"preempt":0,"migrate":0,"resize":0,"from_scratch":false,"interval":0,"save":0},"horizon":0,"jobs":3,"servers":[{"name":"a","gpus":2,"cpu_milli":null,"mem_mib":null,"pool":"training","gpu_type":"V100","rack":1},{"name":"b","gpus":1,"cpu_milli":null,"mem_mib":null,"pool":"inference"}],"demand":[[0,500,1]]}
{"at":0,"kind":"need","need":500,"offer":1}
{"at":0,"kind":"submit","job":0,"name":"half","user":"ann","workers":1,"gpu_milli":500,"work":3000000,"status":"unknown"}
{"at":0,"kind":"submit","job":1,"name":"other half","workers":1,"gpu_milli":500,"work":1500001,"status":"unknown"}
{"at":0,"kind":"loan","server":1}
{"at":0,"kind":"start","job":0,"pieces":[{"server":0,"workers":1,"gpu_milli":500,"gpus":[0]}]}
{"at":0,"kind":"start","job":1,"pieces":[{"server":0,"workers":1,"gpu_milli":500,"gpus":[0]}]}
{"at":1000000,"kind":"submit","job":2,"name":"gang","workers":2,"gpu_milli":1000,"work":2000000,"status":"unknown"}
{"at":1000000,"kind":"start","job":2,"pieces":[{"server":0,"workers":1,"gpu_milli":1000,"gpus":[1]},{"server":1,"workers":1,"gpu_milli":1000,"gpus":[0]}]}
{"at":1500001,"kind":"finish","job":1}
{"at":2000000,"kind":"preempt","job":2}
{"at":2000000,"kind":"reclaim","server":1}
{"at":2500000,"kind":"fail","server":1,"gpu":0}
{"at":3000000,"kind":"finish","job":0}
{"at":3000000,"kind":"start","job":2,"pieces":[{"server":0,"workers":2,"gpu_milli":1000,"gpus":[0,1]}]}
{"at":4000000,"kind":"finish","job":2}
{"at":4000000,"kind":"end","terminated":true}
`
	l, err := sim.ReadLog(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAFileIsAsCommitted compares the file for a fixed episode with the one under testdata. With UPDATE=1 it rewrites that file.
func TestAFileIsAsCommitted(t *testing.T) {
	got, path := written(t, shared(t)), filepath.Join("testdata", "shared.json")
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTheCheckFindsFaults checks that check rejects faulty documents.
func TestTheCheckFindsFaults(t *testing.T) {
	log := shared(t)
	threadOf := func(d *document, name string) int {
		for _, e := range d.TraceEvents {
			if e.Ph == "M" && *e.Name == "thread_name" && e.Args["name"] == name {
				return *e.Tid
			}
		}
		t.Fatalf("no thread %q", name)
		return 0
	}
	first := func(d *document, phase string) *event {
		for i := range d.TraceEvents {
			if d.TraceEvents[i].Ph == phase {
				return &d.TraceEvents[i]
			}
		}
		t.Fatalf("no event of phase %s", phase)
		return nil
	}
	number := func(s string) *json.Number { n := json.Number(s); return &n }
	for _, c := range []struct {
		name, want string
		spoil      func(d *document)
	}{
		{"nothing", "", func(*document) {}},
		{"jobs that share a GPU stand on one thread", "overlap", func(d *document) {
			second, tid := threadOf(d, "GPU 0 slot 2"), threadOf(d, "GPU 0")
			for i := range d.TraceEvents {
				if e := &d.TraceEvents[i]; *e.Tid == second && e.Ph == "X" {
					e.Tid = &tid
				}
			}
		}},
		{"a slot is taken though a lower one is free", "was free below", func(d *document) {
			second, tid := threadOf(d, "GPU 0 slot 2"), threadOf(d, "GPU 0")
			for i := range d.TraceEvents {
				if e := &d.TraceEvents[i]; *e.Tid == tid && e.Ph == "X" && *e.Name == "gang" {
					e.Tid = &second
				}
			}
		}},
		{"a slice goes on after the end", "ends after", func(d *document) { first(d, "X").Dur = number("5000") }},
		{"a slice is too short", "were held for", func(d *document) { first(d, "X").Dur = number("2999.999") }},
		{"a slice is rounded", "decimals", func(d *document) { first(d, "X").Dur = number("1500.0010") }},
		{"a slice has no thread", "no tid", func(d *document) { first(d, "X").Tid = nil }},
		{"a thread has no name", "without a name", func(d *document) { tid := 99; first(d, "X").Tid = &tid }},
		{"a negative time", "decimals", func(d *document) { first(d, "i").Ts = number("-1") }},
		{"time runs back", "after", func(d *document) { first(d, "e").Ts = number("0") }},
		{"an unknown phase", "phase", func(d *document) { first(d, "i").Ph = "Q" }},
		{"an instant with a duration", "dur in phase i", func(d *document) { first(d, "i").Dur = number("1") }},
		{"an instant without a scope", "no s", func(d *document) { first(d, "i").S = nil }},
		{"a wait without an end", "does not end", func(d *document) { e, scope := first(d, "e"), "t"; e.Ph, e.S, e.Cat, e.ID = "i", &scope, nil, nil }},
		{"a wait that is too short", "jobs wait on average", func(d *document) { first(d, "e").Ts = number("2999") }},
		{"a flow without an id", "flow", func(d *document) {
			for i := range d.TraceEvents {
				d.TraceEvents[i].BindID = nil
			}
		}},
		{"a counter that is no number", "number", func(d *document) {
			first(d, "C").Args = map[string]any{"jobs": json.Number("-1")}
		}},
		{"a counter that stays up", "end at 0", func(d *document) {
			for i := range d.TraceEvents {
				if e := &d.TraceEvents[i]; e.Ph == "C" && *e.Name == "GPUs held" && string(*e.Ts) == "4000" {
					e.Args["GPUs"] = json.Number("1")
				}
			}
		}},
		{"a counter that is wrong in between", `"GPUs held"`, func(d *document) {
			for i := range d.TraceEvents {
				if e := &d.TraceEvents[i]; e.Ph == "C" && *e.Name == "GPUs held" && string(*e.Ts) == "1000" {
					e.Args["GPUs"] = json.Number("2")
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, err := parse(written(t, log))
			if err != nil {
				t.Fatal(err)
			}
			c.spoil(doc)
			switch err := check(doc, log); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestAnEmptyLogIsAFile(t *testing.T) {
	log := &sim.Log{Config: sim.Config{Cluster: cluster.Uniform(1, 0)}}
	doc, err := parse(written(t, log))
	if err == nil {
		err = check(doc, log)
	}
	if err != nil {
		t.Error(err)
	}
}

// full is a writer with space for the given number of bytes, like a nearly full disk.
type full int

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	log, room := shared(t), full(100)
	if err := Write(&room, log); err == nil {
		t.Error("no error")
	}
}

func BenchmarkWrite(b *testing.B) {
	jobs := make([]trace.Job, 5000)
	for i := range jobs {
		jobs[i].Name, jobs[i].Workers, jobs[i].Request.GPUMilli = "job", int32(1+i%4), 1000
		jobs[i].Submit, jobs[i].Work = time.Duration(i)*time.Second, time.Duration(10+i%50)*time.Second
	}
	s, err := sim.New(sim.Config{Cluster: cluster.Uniform(16, 8)}, jobs)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Run(b.Context(), baseline("fifo"), 1); err != nil {
		b.Fatal(err)
	}
	var n count
	for b.Loop() {
		n = 0
		if err := Write(&n, s.Log()); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(n))
}

type count int

func (c *count) Write(b []byte) (int, error) {
	*c += count(len(b))
	return len(b), nil
}
