package decide_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// logged makes n decisions and returns the decision log.
func logged(t testing.TB, p *policy.Policy, n int) string {
	path := logPath(t)
	l := must.Get(decide.OpenLog(path, decide.Record{Build: "test", Physics: "ideal", Seed: 1}))(t)
	s := newSite(t, p, func(c *decide.Config) { c.Decisions = l; c.Deadline = time.Minute })
	for range n {
		s.decide(t)
	}
	must.Do(t, l.Close())
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

// replay replays all lines and returns the difference of each.
func replay(t testing.TB, log string, p *policy.Policy) (said []string) {
	t.Helper()
	var played decide.Replay
	for r := decide.NewLogReader(strings.NewReader(log)); ; {
		record, d, err := r.Next()
		if errors.Is(err, io.EOF) {
			return said
		}
		if err == nil {
			var differs string
			if differs, err = again(&played, record, d, p); err == nil {
				said = append(said, differs)
			}
		}
		if err != nil {
			said = append(said, err.Error())
		}
	}
}

// again replays the next decision.
func again(played *decide.Replay, r *decide.Record, d *decide.Decision, p *policy.Policy) (string, error) {
	asked, err := played.Next(r, d)
	if err != nil {
		return "", err
	}
	return asked.Again(r, d, p, nil)
}

func TestALogIsDecidedAgain(t *testing.T) {
	text := logged(t, decidetest.Baseline("sjfskip"), 2)
	if said := replay(t, text, decidetest.Baseline("sjfskip")); len(said) != 2 || said[0] != "" || said[1] != "" {
		t.Errorf("%q", said)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"a placement", `"gpus":[2,3]`, `"gpus":[0,3]`, "ops[0].placement[0].gpus[0]: 0 in the log, now 2"},
		{"a reason", `"why":"`, `"why":"surely `, "ops[0].why: "},
		{"an operation more", `"ops":[`, `"ops":[{"op":"loan","server":"a"},`, "ops[0]."},
		{"a job that waits", `"waiting":[`, `"waiting":[{"job":"z"},`, "waiting[0]."},
		{"a last job that waits", `],"decision"`, `,{"job":"z"}],"decision"`, "waiting: 2 in the log, now 1"},
		{"the snapshot", `"estimate_s":600`, `"estimate_s":6`, "s"},
		{"a snapshot that is none", `"gpus":4`, `"gpus":-4`, "servers[0].gpus: -4"},
		{"a cut line", `"answer"`, "\n", "line 1: damaged"},
		{"another version", `{"version":1,"time"`, `{"version":7,"time"`, "line 1: damaged: version: 7, want 1"},
		{"nobody decided", `"by":"policy"`, `"by":"nobody"`, `answer.decision.by: "nobody"`},
	} {
		said := replay(t, strings.Replace(text, c.from, c.to, 1), decidetest.Baseline("sjfskip"))
		if said[0] == "" || !strings.Contains(said[0], c.want) {
			t.Errorf("%s: %q, want %q", c.name, said[0], c.want)
		}
		if last := said[len(said)-1]; last != "" {
			t.Errorf("%s: the line after it: %q", c.name, last)
		}
	}
}

// TestAFallbackIsDecidedAgain checks that a decision of a fallback is replayed with the fallback.
func TestAFallbackIsDecidedAgain(t *testing.T) {
	text := logged(t, decidetest.Script(func(*cluster.Txn) error { return errors.New("no") }).Policy(), 1)
	if said := replay(t, text, decidetest.Baseline("fifo")); len(said) != 1 || said[0] != "" {
		t.Errorf("%q", said)
	}
}

// TestThePriorIsBesideThePolicy checks that the reasons of a learned policy mention its prior, in the log and in the replay.
func TestThePriorIsBesideThePolicy(t *testing.T) {
	p := decidetest.Baseline("sjfskip")
	p.Prior = decidetest.Baseline("fifo")
	text := logged(t, p, 1)
	contains(t, text, `"beside_prior":true`, "the prior")
	if said := replay(t, text, p); len(said) != 1 || said[0] != "" {
		t.Errorf("%q", said)
	}
}

// TestALogGoesOnAfterACutLine checks that records after a line that a full disk has cut can be read.
func TestALogGoesOnAfterACutLine(t *testing.T) {
	text := logged(t, decidetest.Baseline("fifo"), 1)
	path := logPath(t)
	must.Do(t, os.WriteFile(path, []byte(text[:len(text)/2]), 0o600))
	l := must.Get(decide.OpenLog(path, decide.Record{Physics: "ideal", Seed: 1}))(t)
	newSite(t, decidetest.Baseline("fifo"), func(c *decide.Config) { c.Decisions = l }).decide(t)
	must.Do(t, l.Close())
	now := must.Get(os.ReadFile(path))(t)
	if said := replay(t, string(now), decidetest.Baseline("fifo")); len(said) != 2 || !strings.Contains(said[0], "damaged") || said[1] != "" {
		t.Errorf("%q", said)
	}
}

func TestADecisionThatIsNotLoggedIsCounted(t *testing.T) {
	l := must.Get(decide.OpenLog(logPath(t), decide.Record{}))(t)
	must.Do(t, l.Close())
	s := newSite(t, decidetest.Baseline("fifo"), func(c *decide.Config) { c.Decisions = l })
	s.decide(t)
	contains(t, s.metrics(t), "clustergym_unlogged_decisions_total 1")
	contains(t, s.log.String(), "decision not logged")
}

// TestADecisionWithoutReasonsIsLogged checks that a decision without reasons is replayed and compared without reasons.
func TestADecisionWithoutReasonsIsLogged(t *testing.T) {
	for want, change := range map[string]func(*decide.Config){
		decide.ReasonsNone: func(*decide.Config) {},
		decide.ReasonsLate: func(c *decide.Config) { c.Reasons = 1 },
	} {
		path := logPath(t)
		l := must.Get(decide.OpenLog(path, decide.Record{Seed: 1}))(t)
		s := newSite(t, decidetest.Baseline("fifo"), func(c *decide.Config) { c.Decisions = l; change(c) })
		out := must.Get(s.Decide(t.Context(), &read(t).View, "", want == decide.ReasonsLate))(t)
		a := out.Answer
		if a.Decision.Reasons != want || len(a.Ops) != 1 || a.Ops[0].Step != nil || a.Ops[0].Job != "x<y" || len(a.Waiting) != 1 ||
			a.Waiting[0].Wait != nil || a.Waiting[0].Job != "big" {
			t.Errorf("%s: %+v %+v", want, a.Decision, a.Plan)
		}
		if want == decide.ReasonsLate {
			contains(t, s.metrics(t), "clustergym_unexplained_decisions_total 1")
		}
		s.Record(&read(t).View, []byte(decidetest.Snapshot), a, nil)
		must.Do(t, l.Close())
		f := must.Get(os.Open(path))(t)
		defer f.Close()
		r, d, err := decide.NewLogReader(f).Next()
		must.Do(t, err)
		if differs, err := again(new(decide.Replay), r, d, decidetest.Baseline("fifo")); differs != "" || err != nil {
			t.Errorf("%s: %s, %v", want, differs, err)
		}
		if differs, err := again(new(decide.Replay), r, d, decidetest.Script(func(*cluster.Txn) error { return nil }).Policy()); differs == "" || err != nil {
			t.Errorf("%s: another plan is the same, %v", want, err)
		}
	}
}

// TestNothingIsDoneWhenTheContextHasEnded checks that no policy is asked after the context has ended.
func TestNothingIsDoneWhenTheContextHasEnded(t *testing.T) {
	asked := 0
	s := newSite(t, decidetest.Script(func(*cluster.Txn) error { asked++; return nil }).Policy(), nil)
	gone, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Decide(gone, &read(t).View, "", true); !errors.Is(err, context.Canceled) || asked > 0 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	during, leave := context.WithCancel(t.Context())
	s = newSite(t, decidetest.Script(func(*cluster.Txn) error { leave(); return errors.New("no") }).Policy(), func(c *decide.Config) {
		c.Fallback = func(*policy.Policy) (*policy.Policy, error) {
			return decidetest.Script(func(*cluster.Txn) error { asked++; return nil }).Policy(), nil
		}
	})
	if _, err := s.Decide(during, &read(t).View, "", true); !errors.Is(err, context.Canceled) || asked > 0 {
		t.Errorf("the fallback was asked %d times, %v", asked, err)
	}
	contains(t, s.metrics(t), "clustergym_undecided_total 0")
}

// TestPlansEndWithTheContext checks that a plan's reasons are no longer looked for when the context has ended.
func TestPlansEndWithTheContext(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	p := decidetest.Script(func(*cluster.Txn) error { end(); return nil }).Policy()
	if _, err := decide.Plan(ctx, read(t), p, decide.Asking{Seed: 1, Stops: -1}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func FuzzDecisionLog(f *testing.F) {
	plan, err := decide.Plan(context.Background(), read(f), decidetest.Baseline("fifo"), decide.Asking{Seed: 1, Stops: -1})
	must.Do(f, err)
	answer := must.Get(json.Marshal(decide.Answer{Plan: plan.Plan, Decision: decide.Decision{By: decide.ByPolicy}}))(f)
	line, err := json.Marshal(decide.Record{Version: decide.LogVersion, Physics: "ideal", Snapshot: []byte(decidetest.Snapshot), Answer: answer})
	must.Do(f, err)
	text := string(line) + "\n"
	f.Add([]byte(text))
	f.Add([]byte(text + "\n\n{}\n" + text[:40]))
	f.Add([]byte(strings.Replace(text, `"answer"`, `"learns":true,"away":["r"],"beliefs":`+string(belief.NewMemory().Save())+`,"answer"`, 1) + text))
	f.Add([]byte(`{"version":1,"snapshot":{},"answer":{"decision":{"by":"fallback"}}}`))
	f.Fuzz(func(t *testing.T, log []byte) {
		var played decide.Replay
		for r := decide.NewLogReader(bytes.NewReader(log)); ; {
			record, d, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				if !errors.Is(err, decide.ErrDamaged) {
					t.Fatal(err)
				}
				continue
			}
			_, _ = again(&played, record, d, decidetest.Baseline("fifo")) // any result is fine; it must not panic
		}
	})
}

// TestAnObjectiveIsInTheLog checks that the decision of a policy that decides by an objective is replayed with that objective.
func TestAnObjectiveIsInTheLog(t *testing.T) {
	o := must.Get(objectives.Read(strings.NewReader("name: m\nterms: [{cost: wait, over: 10m, price: 1/min}]")))(t)
	find := &policy.Finder{Table: all.Table()}
	p := must.Get(must.Get(find.Find("index"))(t).Load())(t)
	path := logPath(t)
	l := must.Get(decide.OpenLog(path, decide.Record{Build: "test", Physics: "ideal", Seed: 1, Objective: o.Text()}))(t)
	newSite(t, p, func(c *decide.Config) { c.Decisions, c.Objective = l, o }).decide(t)
	must.Do(t, l.Close())
	text := string(must.Get(os.ReadFile(path))(t))
	if said := replay(t, text, p); len(said) != 1 || said[0] != "" {
		t.Errorf("%q", said)
	}
	if said := replay(t, strings.Replace(text, "over: 10m", "over: 20m", 1), p); len(said) != 1 || !strings.Contains(said[0], "wake_s") {
		t.Errorf("with another objective: %q, want another time to ask again", said)
	}
}
