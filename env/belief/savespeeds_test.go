package belief

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/formattest"
	"pgregory.net/rapid"
)

// savedSpeeds is the text of what four readings of two jobs taught.
func savedSpeeds(t rapid.TB) string {
	c, l := newToy(t, 2), NewSpeeds(true)
	for _, spec := range []cluster.JobSpec{{User: "ada", Group: "nightly", Request: amount(3)}, {User: "b\"<é", Group: "nightly", Request: amount(3)}} {
		id := c.submit(spec)
		for i, cores := range []float64{3, 6} {
			at := as(c.Spec(id), cores)
			at.GPUType = []string{"T4", "V100"}[i]
			c.read(id, at, cores)
			l.Read(&c.View, id)
		}
	}
	l.width = 0 // so that the test below can replace it
	return string(l.Save())
}

func TestBadSpeedsAreRefused(t *testing.T) {
	text := savedSpeeds(t)
	precision := text[strings.Index(text, `"precision":[`):strings.Index(text, `,"pull"`)]
	for _, c := range []struct{ name, from, to, err string }{
		{"another version", `"version":3`, `"version":4`, "line 1: version: 4, want a whole number from 1 to 3"},
		{"an old version with a width", text, `{"version":1,"learner":"speeds","read":0,"width":0,"types":[],"circles":[],"units":[],"jobs":[]}`, "width: in version 1, want it from version 2 on"},
		{"no width", `"width":0,`, ``, "width: in version 3, want it from version 2 on"},
		{"a huge width", `"width":0`, `"width":4`, "width: 4, want a number from -3 to 3"},
		{"another learner", `"speeds"`, `"age"`, `line 1: learner: "age", want speeds`},
		{"no version", `"version":3,`, ``, "version: missing"},
		{"an unknown field", `"version":3`, `"version":3,"x":0`, "x: unknown field"},
		{"more text", "]}\n", "]}\n{}", "more text after the end"},
		{"cut off", "]}]}\n", "]}", "unexpected EOF"},
		{"a type twice", `["T4"]`, `["T4","T4"]`, `types[1]: "T4", want the name of another GPU type`},
		{"a type without effect", `["T4"]`, `["V100"]`, `types[0]: "V100", want the name of another GPU type`},
		{"an unknown circle", `"of":"all"`, `"of":"tenant"`, `line 2: circles[0].of: "tenant", want all or model or user or group`},
		{"a circle twice", `"of":"user","name":"b`, `"of":"user","name":"ada","x":"b`, "x: unknown field"},
		{"circles in another order", `"of":"user","name":"ada"`, `"of":"user","name":"z"`, "want entries by circle and name, none twice"},
		{"a name of all jobs", `"of":"all"`, `"of":"all","name":"x"`, "circles[0].name: x, want the name of the model, user or group"},
		{"no name", `"of":"user","name":"ada"`, `"of":"user"`, "circles[1].name: , want the name of the model, user or group"},
		{"a reading that was not", `"last":4`, `"last":5`, "circles[0].last: 5, want at most the number of readings, 4"},
		{"no readings", `"read":4`, `"read":0`, "circles[0].last: 4, want"},
		{"no precision", precision, `"precision":[0]`, "a list of 1 numbers, want 378"},
		{"a huge precision", `"precision":[0`, `"precision":[1e13`, "circles[0].precision[0]: 1e13, want a number from -1e+12 to 1e+12"},
		{"a negative precision", `"precision":[0`, `"precision":[-1`, "circles[0].precision: a matrix, want a positive semidefinite one"},
		{"no number", `"precision":[0`, `"precision":["0"`, `circles[0].precision[0]: "0", want a number`},
		{"units of a user", `"units":[` + "\n" + `{"of":"group"`, `"units":[` + "\n" + `{"of":"user"`, "units[0].of: user, want model or group"},
		{"a negative excess", `"excess":0`, `"excess":-1`, "units[0].excess: -1, want a number from 0"},
		{"a job without a name", `"name":"job 0"`, `"name":""`, "jobs[0].name: , want a name"},
		{"jobs in another order", `"name":"job 0"`, `"name":"job 2"`, "jobs[1].name: job 1, want a name, and jobs in the order"},
		{"a bad name", `"user":"ada"`, `"user":"\u001b"`, `jobs[0].user: "\u001b", want at most 256 bytes of printable text`},
		{"more differences than readings", `"told":1`, `"told":2`, "jobs[0].readings: 2, want"},
		{"differences that are missing", `"told":1`, `"told":0`, "jobs[0].differences: 1, want those that were told"},
		{"a variance of 0", `"variance":0.0068`, `"variance":0`, "variance: 0, want a number from 0.0034"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(text, c.from, c.to, 1)
			if bad == text {
				t.Fatalf("%s is not in\n%s", c.from, text)
			}
			l := NewSpeeds(true)
			before := l.Save()
			if err := l.Restore([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want one with %q", err, c.err)
			}
			if !bytes.Equal(l.Save(), before) {
				t.Error("the belief has changed")
			}
		})
	}
	if err := NewSpeeds(true).Restore(make([]byte, maxSpeeds+1)); err == nil || !strings.Contains(err.Error(), "bytes, want at most") {
		t.Error("a text that is too long:", err)
	}
}

// FuzzRestoreSpeeds checks that what Restore accepts is saved and restored without change, gives valid speeds, and can be learned
// on from.
func FuzzRestoreSpeeds(f *testing.F) {
	restore := func(text []byte) (*Speeds, error) {
		l := NewSpeeds(true)
		return l, l.Restore(text)
	}
	text := savedSpeeds(f)
	formattest.Fuzz(f, formattest.Format[*Speeds]{Read: restore, Write: func(l *Speeds) ([]byte, error) { return l.Save(), nil }, Check: func(t *testing.T, read *Speeds) {
		l, _ := restore(read.Save()) // the saved one goes on to be written
		again, _ := restore(read.Save())
		c := newToy(t, 2)
		for _, spec := range []cluster.JobSpec{{User: "ada", Group: "nightly", Request: amount(3)}, {Model: "x", Request: amount(3)}} {
			id := c.submit(spec)
			for range 2 {
				at := as(c.Spec(id), 5)
				at.GPUType, at.Shared = "T4", true
				mean, sd := l.Of(&c.View, c.Spec(id), &at)
				if m, s := again.Of(&c.View, c.Spec(id), &at); !(sd >= 0 && sd < 100) || math.IsNaN(mean) || m != mean || s != sd {
					t.Fatalf("mean %v and deviation %v, then %v and %v", mean, sd, m, s)
				}
				c.read(id, at, 1)
				l.Read(&c.View, id)
				again.Read(&c.View, id)
			}
		}
	}}, text, string(NewSpeeds(true).Save()), strings.Replace(text, `"width":0`, `"width":-0.25`, 1), before(f, text, 1), before(f, text, 2))
}
