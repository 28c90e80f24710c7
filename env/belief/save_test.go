package belief

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/formattest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestRestoredLearnersPredictTheSame checks that a learner that has restored another one's text predicts the same and learns in
// the same way, to the last bit.
func TestRestoredLearnersPredictTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{Age, History}).Draw(t, "kind")
		l, restored := New(kind, Mean), New(kind, Mean)
		for range rapid.IntRange(0, 20).Draw(t, "jobs") {
			l.Ended(drawJob(t), drawAge(t))
		}
		for range rapid.IntRange(0, 5).Draw(t, "to forget") {
			restored.Ended(drawJob(t), drawAge(t))
			restored.Of(drawJob(t))
		}
		must.Do(t, restored.Restore(l.Save()))
		for range 3 {
			j, ended, ran := drawJob(t), drawJob(t), drawAge(t)
			if *l.Of(j) != *restored.Of(j) {
				t.Fatalf("job %+v: two distributions", j)
			}
			if !bytes.Equal(l.Save(), restored.Save()) {
				t.Fatal("two texts")
			}
			l.Ended(ended, ran)
			restored.Ended(ended, ran)
		}
	})
}

// saved is the text of a small history.
func saved() string {
	l := New(History, Mean)
	l.Ended(&cluster.JobSpec{User: "ada", Workers: 8}, time.Minute)
	l.Ended(&cluster.JobSpec{User: "b\"<é", Workers: 1}, time.Hour)
	return string(l.Save())
}

func TestBadTextsAreRefused(t *testing.T) {
	text := saved()
	user := `{"of":"user","user":"ada","last":1,"jobs":[`
	weights := "0.25,0.5,0.25"
	for _, c := range []struct{ name, from, to, err string }{
		{"another version", `"version":1`, `"version":2`, "line 1: version: 2, want a whole number from 1 to 1"},
		{"another learner", `"history"`, `"age"`, `line 1: learner: "age", want history`},
		{"no version", `"version":1,`, ``, "version: missing"},
		{"an unknown field", `"version":1`, `"version":1,"x":0`, "x: unknown field"},
		{"more text", "]}]}\n", "]}]}\n{}", "more text after the end"},
		{"cut off", "]}]}\n", "]}", "unexpected EOF"},
		{"an unknown set", `"of":"all"`, `"of":"group"`, `line 2: sets[0].of: "group", want all or workers or user or user-workers`},
		{"a set twice", user, user + weights + zeros(3) + "]},\n" + user, "sets[4].of: user, want sets by level"},
		{"sets in another order", `"user":"ada","last"`, `"user":"z","last"`, "want sets by level, user and number of workers, none twice"},
		{"a user too much", `"of":"all",`, `"of":"all","user":"ada",`, "sets[0].of: all, want the user and the number of workers"},
		{"no workers", `"workers":8,`, ``, "sets[2].of: workers, want the user and the number of workers"},
		{"0 workers", `"workers":8,`, `"workers":0,`, "sets[2].workers: 0, want a whole number from 1"},
		{"a bad name", `"ada"`, `"\u001b"`, `sets[3].user: "\u001b", want 1 to 256 bytes of printable text`},
		{"an empty name", `"ada"`, `""`, `sets[3].user: "", want 1 to 256 bytes`},
		{"a job that has not ended", `"last":2`, `"last":3`, "sets[0].last: 3, want at most the number of jobs that have ended, 2"},
		{"no job has ended", `"ended":2`, `"ended":0`, "sets[0].last: 2, want"},
		{"the last job twice", `"last":1`, `"last":2`, "sets[2].last: 2, want a job that is the last in no other set of this level"},
		{"a weight below 0", weights, "0.25,-0.5,0.25", "sets[0].jobs[27]: -0.5, want a number from 0 to 1.048576e+06"},
		{"a huge weight", weights, "0.25,1e99,0.25", "jobs[27]: 1e99, want"},
		{"no number", weights, `0.25,"1",0.25`, `jobs[27]: "1", want a number`},
		{"a number too large for floats", weights, "0.25,1e999,0.25", "jobs[27]: 1e999, want"},
		{"a bin too few", weights, "0.25,0.5", "sets[0].jobs: a list of 57, want 58"},
		{"a bin too much", weights, "0,0.25,0.5,0.25", "sets[0].jobs[58]: 0, want a list of at most 58"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(text, c.from, c.to, 1)
			if bad == text {
				t.Fatalf("%s is not in\n%s", c.from, text)
			}
			l := New(History, Mean)
			l.Ended(&cluster.JobSpec{User: "eve", Workers: 1}, time.Hour)
			before := l.Save()
			if err := l.Restore([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want one with %q", err, c.err)
			}
			if !bytes.Equal(l.Save(), before) {
				t.Error("the learner has changed")
			}
		})
	}
	if err := New(Age, Mean).Restore([]byte(text)); err == nil {
		t.Error("an age restores a history")
	}
	if err := New(History, Mean).Restore(make([]byte, maxText+1)); err == nil || !strings.Contains(err.Error(), "bytes, want at most") {
		t.Error("a text that is too long:", err)
	}
}

// zeros returns the weights of the bins that are left after n.
func zeros(n int) string { return strings.Repeat(",0", Bins-n) }

// FuzzRestore checks that what Restore accepts is saved and restored without change, and gives valid predictions.
func FuzzRestore(f *testing.F) {
	formattest.Fuzz(f, formattest.Format[*Learner]{
		Read: func(text []byte) (*Learner, error) {
			l := New(History, Mean)
			return l, l.Restore(text)
		},
		Write: func(l *Learner) ([]byte, error) { return l.Save(), nil },
		Check: func(t *testing.T, l *Learner) {
			again := New(History, Mean)
			must.Do(t, again.Restore(l.Save()))
			for _, j := range []*cluster.JobSpec{{Workers: 1}, {User: "ada", Workers: 8}} {
				for _, age := range []time.Duration{0, time.Hour, longest} {
					if left, next := l.Left(j, age); left < 1 || next <= age || left != first(again.Left(j, age)) {
						t.Fatalf("%v left at %v, again at %v", left, age, next)
					}
				}
			}
			again.Ended(&cluster.JobSpec{User: "ada", Workers: 8}, time.Hour)
		},
	}, saved(), string(New(History, Mean).Save()))
}

func first(left, _ time.Duration) time.Duration { return left }
