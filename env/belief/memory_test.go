package belief

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/formattest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestCopiesAreEqualAndIndependent checks that copies believe the same to the last bit and go on learning in the same way, that
// what a copy learns does not change the original, and that an Age copied from a History is one that learned from the same jobs.
func TestCopiesAreEqualAndIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, speeds := newToy(t, 12), NewSpeeds(true)
		drawReadings(t, c, speeds)
		drawn := drawSpec(t)
		at := drawConfiguration(t)
		if rapid.Bool().Draw(t, "asked before") {
			speeds.Of(&c.View, &drawn, &at)
		}
		before := saveOf(speeds)
		copied := speeds.Copy()
		mean, sd := speeds.Of(&c.View, &drawn, &at)
		if m, s := copied.Of(&c.View, &drawn, &at); m != mean || s != sd {
			t.Fatalf("mean %v and deviation %v, of the copy %v and %v", mean, sd, m, s)
		}
		drawReadings(t, c, copied)
		if after := saveOf(speeds); !bytes.Equal(after, before) {
			t.Fatalf("the copy learned, and\n%s\nbecame\n%s", before, after)
		}

		times, age := New(History, Mean), New(Age, Mean)
		for range rapid.IntRange(0, 20).Draw(t, "jobs") {
			j, ran := drawJob(t), drawAge(t)
			times.Ended(j, ran)
			age.Ended(j, ran)
		}
		was := times.Save()
		if got := times.Copy(Age, Mean); !bytes.Equal(got.Save(), age.Save()) {
			t.Fatalf("%s\nwant\n%s", got.Save(), age.Save())
		}
		more := times.Copy(History, Mean)
		if j := drawJob(t); *more.Of(j) != *times.Of(j) || !bytes.Equal(more.Save(), was) {
			t.Fatalf("%s\nwas copied as\n%s", was, more.Save())
		}
		more.Ended(drawJob(t), drawAge(t))
		if !bytes.Equal(times.Save(), was) {
			t.Fatalf("the copy learned, and\n%s\nbecame\n%s", was, times.Save())
		}
	})
}

// saveOf returns the text of a belief and keeps what it has computed.
func saveOf(l *Speeds) []byte { return l.Copy().Save() }

// site is a cluster whose states a memory sees. It has the servers a and b.
type site struct {
	*Memory
	now     time.Duration
	servers []string
}

func newSite() *site { return &site{Memory: NewMemory(), servers: []string{"a", "b"}} }

// see advances the clock and shows a state with running jobs, each given with its age in minutes as in "x=5", and waiting ones.
func (v *site) see(t testing.TB, later time.Duration, away, jobs string) Lesson {
	t.Helper()
	v.now += later
	var list []string
	for i, text := range strings.Fields(jobs) {
		name, age, runs := strings.Cut(text, "=")
		user, _, _ := strings.Cut(name, ".")
		job := fmt.Sprintf(`{"id":%q,"user":%q,"submit_s":0,"workers":1,"state":"pending"}`, name, user)
		if runs {
			job = fmt.Sprintf(`{"id":%q,"user":%q,"submit_s":0,"workers":1,"state":"running","progress_s":%s00,
				"placement":[{"server":%q,"workers":1,"gpus":[%d]}],
				"readings":[{"at_s":%d,"speed":1,"workers":1,"cpu_milli":%s}]}`, name, user, age, v.servers[0], i, int(v.now.Seconds()), age)
		}
		list = append(list, job)
	}
	text := fmt.Sprintf(`{"version":1,"now_s":%d,"servers":[`, int(v.now.Seconds()))
	for i, name := range v.servers {
		text += strings.Repeat(",", min(i, 1)) + fmt.Sprintf(`{"name":%q,"gpus":8,"cpu_milli":null,"mem_mib":null}`, name)
	}
	s := must.Get(cluster.ReadSnapshot(strings.NewReader(text + `],"jobs":[` + strings.Join(list, ",") + "]}")))(t)
	return v.Learn(&s.View, func(name string) bool { return slices.Contains(strings.Fields(away), name) })
}

// TestLearnFromStates checks which jobs count as ended, after which time, and which states are skipped.
func TestLearnFromStates(t *testing.T) {
	const minute = time.Minute
	ended := func(ran ...time.Duration) []byte { // of the user ada
		l := New(History, Gittins)
		for _, d := range ran {
			l.Ended(&cluster.JobSpec{User: "ada", Workers: 1}, d)
		}
		return l.Save()
	}
	for _, c := range []struct {
		name string
		then func(v *site) Lesson // after a state with the job ada.1, which has run for 300 s
		want Lesson
		ran  []time.Duration
	}{
		{"it has ended", func(v *site) Lesson { return v.see(t, minute, "", "bob.1=1") }, Lesson{Ended: 1, Readings: 1}, []time.Duration{6 * minute}},
		{"it still runs", func(v *site) Lesson { return v.see(t, minute, "", "ada.1=4") }, Lesson{Readings: 1}, nil},
		{"it was stopped and waits", func(v *site) Lesson { return v.see(t, minute, "", "ada.1") }, Lesson{}, nil},
		{"it was stopped and is not listed", func(v *site) Lesson { return v.see(t, minute, "ada.1", "") }, Lesson{Away: []string{"ada.1"}}, nil},
		{"it waits, and is withdrawn", func(v *site) Lesson { v.see(t, minute, "", "ada.1"); return v.see(t, minute, "", "") }, Lesson{}, nil},
		{"it waits, runs again and ends", func(v *site) Lesson {
			v.see(t, minute, "", "ada.1")
			v.see(t, minute, "", "ada.1=6")
			return v.see(t, 2*minute, "", "")
		}, Lesson{Ended: 1}, []time.Duration{12 * minute}},
		{"the same state", func(v *site) Lesson { return v.see(t, 0, "", "") }, Lesson{Skipped: SkippedEarlier}, nil},
		{"an earlier state", func(v *site) Lesson { return v.see(t, -minute, "", "") }, Lesson{Skipped: SkippedEarlier}, nil},
		{"another cluster", func(v *site) Lesson { v.servers = []string{"x", "y"}; return v.see(t, minute, "", "bob.1=1") },
			Lesson{Skipped: SkippedElsewhere}, nil},
		{"another server", func(v *site) Lesson { v.servers = []string{"x", "b"}; return v.see(t, minute, "", "") }, Lesson{Ended: 1},
			[]time.Duration{6 * minute}},
		{"after two hours", func(v *site) Lesson { return v.see(t, 2*time.Hour, "", "") }, Lesson{}, nil},
		{"after it was restored", func(v *site) Lesson {
			must.Do(t, v.Restore(v.Save()))
			return v.see(t, minute, "", "")
		}, Lesson{Ended: 1}, []time.Duration{6 * minute}},
		{"two hours after it was restored", func(v *site) Lesson {
			must.Do(t, v.Restore(v.Save()))
			return v.see(t, 2*time.Hour, "", "")
		}, Lesson{}, nil},
		{"restored on another cluster", func(v *site) Lesson {
			must.Do(t, v.Restore(v.Save()))
			v.servers = []string{"x", "y"}
			return v.see(t, minute, "", "bob.1=1")
		}, Lesson{Readings: 1}, nil},
		{"restored, with a clock that begins anew", func(v *site) Lesson {
			must.Do(t, v.Restore(v.Save()))
			v.now = 0
			v.see(t, minute, "", "ada.2=1")
			return v.see(t, minute, "", "")
		}, Lesson{Ended: 1}, []time.Duration{160 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newSite()
			v.now = time.Hour
			if first := v.see(t, 0, "", "ada.1=3"); first.Ended != 0 || first.Readings != 1 || first.Skipped != "" {
				t.Fatalf("from the first state it learned %+v", first)
			}
			before := v.Digest()
			got := c.then(v)
			if !slices.Equal(got.Away, c.want.Away) {
				t.Errorf("away %q, want %q", got.Away, c.want.Away)
			}
			if knows := c.name != "restored on another cluster"; got.Last > 0 != knows {
				t.Errorf("the state before is of %v, known: %t", got.Last, knows)
			}
			got.Away, c.want.Away, got.Changed, got.Last = nil, nil, false, 0
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("learned %+v, want %+v", got, c.want)
			}
			if text := v.times.Save(); !bytes.Equal(text, ended(c.ran...)) {
				t.Errorf("run times %s, want %s", text, ended(c.ran...))
			}
			if learned := got.Ended+got.Readings > 0; learned && v.Digest() == before || got.Skipped != "" && v.Digest() != before {
				t.Errorf("learned %+v, digest %s, before %s", got, v.Digest(), before)
			}
		})
	}
}

// smallMemory is the text of a small memory.
func smallMemory(t rapid.TB) []byte {
	m := NewMemory()
	must.Do(t, m.times.Restore([]byte(saved())))
	must.Do(t, m.speeds.Restore([]byte(savedSpeeds(t))))
	return m.Save()
}

// TestLastStates checks that a memory keeps its last state in its text, and that a text with another one is refused.
func TestLastStates(t *testing.T) {
	v := newSite()
	v.now = time.Hour
	v.see(t, 0, "", "ada.1=3 bob.1=4")
	text := string(v.Save())
	m := NewMemory()
	if err := m.Restore([]byte(text)); err != nil || string(m.Save()) != text || !strings.Contains(text, `"running":[`) {
		t.Fatalf("%v\n%s\nbecame\n%s", err, text, m.Save())
	}
	if copied := string(m.Copy().Save()); copied != text {
		t.Errorf("the copy is\n%s\nof\n%s", copied, text)
	}
	for _, c := range []struct{ name, from, to, err string }{
		{"a negative time", `"at_ns":3600`, `"at_ns":-3600`, "last.at_ns: -3600"},
		{"servers in another order", `["a","b"]`, `["b","a"]`, `last.servers[1]: "a", want names in ascending order`},
		{"a server twice", `["a","b"]`, `["a","a"]`, `last.servers[1]: "a", want names in ascending order`},
		{"jobs in another order", `"bob.1","user":"bob","workers"`, `"aaa","user":"bob","workers"`, `last.running[1].name: "aaa", want names in ascending order`},
		{"a long name", `"bob.1","user":"bob","workers"`, `"` + strings.Repeat("b", 257) + `","user":"bob","workers"`, "want at most 256 bytes of printable text"},
		{"no workers", `"workers":1,"age_ns"`, `"workers":0,"age_ns"`, "last.running[0].workers: 0"},
		{"a negative rate", `"rate":1`, `"rate":-1`, "last.running[0].rate: -1"},
		{"no age", `"age_ns"`, `"age"`, "last.running[0].age: unknown field"},
	} {
		bad := strings.Replace(text, c.from, c.to, 1)
		if err := NewMemory().Restore([]byte(bad)); bad == text || err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.err)
		}
	}
}

func TestBadMemoriesAreRefused(t *testing.T) {
	text := string(smallMemory(t))
	m := NewMemory()
	if err := m.Restore([]byte(text)); err != nil || m.Ended() != 2 || m.Readings() != 4 || string(m.Save()) != text {
		t.Fatalf("%v, %d jobs and %d readings\n%s\nbecame\n%s", err, m.Ended(), m.Readings(), text, m.Save())
	}
	for _, c := range []struct{ name, from, to, err string }{
		{"another format", MemoryFormat, "clustergym-log", `line 1: format: "clustergym-log", want clustergym-beliefs`},
		{"another version", `"version":1`, `"version":2`, "line 1: version: 2, want a whole number from 1 to 1"},
		{"no run times", `"run_times"`, `"times"`, "times: unknown field"},
		{"no speeds", text[strings.Index(text, ",\n\"speeds\""):], "}", "speeds: missing"},
		{"bad run times", `"last":2`, `"last":3`, "restore beliefs: line 3: run_times.sets[0].last: 3, want"},
		{"bad speeds", `"last":4`, `"last":5`, "restore beliefs: line 11: speeds.circles[0].last: 5, want"},
		{"more text", "]}]}}\n", "]}]}}\n{}", "more text after the end"},
		{"cut off", "]}]}}\n", "]}]}", "unexpected EOF"},
		{"nothing", text, "", "unexpected EOF"},
	} {
		bad := strings.Replace(text, c.from, c.to, 1)
		if bad == text {
			t.Fatalf("%s: %q is not in\n%s", c.name, c.from, text)
		}
		m, before := NewMemory(), NewMemory()
		if err := m.Restore([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.err)
		}
		if !bytes.Equal(m.Save(), before.Save()) || m.Digest() != before.Digest() {
			t.Errorf("%s: the memory has changed", c.name)
		}
	}
	if err := NewMemory().Restore(make([]byte, MaxMemory+1)); err == nil || !strings.Contains(err.Error(), "bytes, want at most") {
		t.Error("a text that is too long:", err)
	}
}

// FuzzRestoreMemory checks that what Restore accepts is saved and restored without change, under the same digest.
func FuzzRestoreMemory(f *testing.F) {
	m := NewMemory()
	m.lastState = lastState{1, map[string]bool{"a": true}, map[string]runs{"j": {"u", 1, 2, 0.5}}}
	formattest.Fuzz(f, formattest.Format[*Memory]{
		Read: func(text []byte) (*Memory, error) {
			m := NewMemory()
			return m, m.Restore(text)
		},
		Write: func(m *Memory) ([]byte, error) { return m.Save(), nil },
	}, string(smallMemory(f)), string(NewMemory().Save()), string(m.Save()))
}
