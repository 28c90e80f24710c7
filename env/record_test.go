package env_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
)

// recorded plays two episodes of an environment and returns their record.
func recorded(t *testing.T, change func(*env.Config)) string {
	t.Helper()
	var b bytes.Buffer
	e, salt := env.NewRecorder(small(t, change), &b), 0
	for seed := range uint64(2) {
		play(t, e, seed, func(ts *env.TimeStep, joint []game.Action) {
			salt++
			act(ts, salt, joint)
		})
	}
	return b.String()
}

func TestReplayGivesTheSameBytes(t *testing.T) {
	for name, change := range map[string]func(*env.Config){"shared": nil, "own": func(c *env.Config) { c.Reward = held{} }} {
		record := recorded(t, change)
		if n := strings.Count(record, "\n"); n < 20 || strings.Contains(record, "rewards") != (name == "own") {
			t.Errorf("%s: a record of %d lines:\n%s", name, n, record)
		}
		if err := env.Replay(strings.NewReader(record), small(t, change)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	record := recorded(t, nil)
	for _, want := range []string{
		`{"seed":0,"reward":`, `{"seed":1,"reward":`, `"joint":[`, `"taken":[1]`, `"elapsed_ns":`, `"terminated":true}`,
		`"refused":[{"candidate":3,"reason":"a server of its coalition did not name it"}]`,
	} {
		if !strings.Contains(record, want) {
			t.Errorf("the record does not contain %s:\n%s", want, record)
		}
	}
}

// TestReplayErrors checks that Replay returns an error with the line's number if the record does not match the environment.
func TestReplayErrors(t *testing.T) {
	lines := strings.SplitAfter(recorded(t, nil), "\n")
	for _, c := range []struct {
		name, record, want string
	}{
		{"nothing", "", ""},
		{"not JSON", "x\n", "line 1: "},
		{"an unknown field", `{"seed":1,"x":2}`, `line 1: json: unknown field "x"`},
		{"neither seed nor joint action", lines[0] + `{"reward":1}`, "line 2: neither"},
		{"a step before the first episode", lines[1], "line 1: " + "step environment: no episode"},
		{"an agent too few", lines[0] + `{"joint":[0,0]}`, "line 2: "},
		{"a number too large", lines[0] + `{"joint":[0,99,0]}`, "line 2: "},
		{"a number that is none", lines[0] + `{"joint":[0,"a",0]}`, "line 2: "},
		{"another reward", lines[0] + lines[1] + strings.Replace(lines[2], `"reward":-`, `"reward":-1`, 1), "line 3: the environment gives"},
	} {
		err := env.Replay(strings.NewReader(c.record), small(t, nil))
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.HasPrefix(got, "replay: "+c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// full is a writer that runs out of space.
type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestRecorderTellsOfWriteErrors(t *testing.T) {
	e := env.NewRecorder(small(t, nil), &full{1})
	var ts env.TimeStep
	if err := e.Reset(1, &ts); err != nil {
		t.Fatal(err)
	}
	if err := e.Step(make([]game.Action, 3), &ts); !errors.Is(err, errFull) {
		t.Errorf("step on a full disk: %v", err)
	}
}

// TestRecorderLeavesOutWhatDidNotHappen checks that a rejected joint action writes no line.
func TestRecorderLeavesOutWhatDidNotHappen(t *testing.T) {
	var b bytes.Buffer
	e := env.NewRecorder(small(t, nil), &b)
	var ts env.TimeStep
	if err := e.Reset(1, &ts); err != nil {
		t.Fatal(err)
	}
	if err := e.Step([]game.Action{99, 0, 0}, &ts); err == nil {
		t.Fatal("no error")
	}
	if n := strings.Count(b.String(), "\n"); n != 1 {
		t.Errorf("%d lines, want that of the reset alone", n)
	}
}
