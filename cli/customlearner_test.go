package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// lottery is a user's learner that learns nothing: it plays the prior's choices, and prints what it was given.
func lottery() Learner {
	episodes := 1
	return Learner{
		Name: "lottery", About: "Play episodes and learn nothing",
		Flags: func(f *flag.FlagSet) { f.IntVar(&episodes, "episodes", 1, "how many to play") },
		Learn: func(ctx context.Context, t *Task) error {
			e, err := t.Env(scenario.Train)
			if err != nil {
				return err
			}
			defer e.Close()
			sum := 0.0
			for i := range episodes {
				got, err := playPrior(ctx, e, env.EpisodeSeed(t.Seed, uint64(i)))
				if err != nil {
					return err
				}
				sum += got
			}
			fmt.Fprintln(t.Talk, "played")
			_, err = fmt.Fprintf(t.Out, "%d numbers of a server, %d episodes, %d test windows, %.3f, JSON %v\n", len(e.Spec().Server), episodes,
				t.Source.Count(scenario.Test), sum, t.JSON)
			return err
		},
	}
}

// playPrior returns the sum of rewards of an episode with the prior's choices.
func playPrior(ctx context.Context, e env.Env, seed uint64) (sum float64, err error) {
	var ts env.TimeStep
	if err := e.Reset(seed, &ts); err != nil {
		return 0, err
	}
	joint := make([]game.Action, e.Spec().Agents)
	for sum = ts.Reward; !ts.Over(); sum += ts.Reward {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		ts.Unanimous(ts.Prior, joint)
		if err := e.Step(joint, &ts); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func learn(ctx context.Context, learners []Learner, args ...string) said {
	var out, talk bytes.Buffer
	var additions []Addition
	for _, l := range learners {
		additions = append(additions, l)
	}
	code := run(ctx, cmdline.New(strings.NewReader(""), &out, &talk), args, additions...)
	return said{code, out.String(), talk.String()}
}

// TestLearnerIsACommand checks that a learner's command takes the flags of an environment and its own, and that its results and
// errors appear as those of any command.
func TestLearnerIsACommand(t *testing.T) {
	all := []Learner{lottery()}
	on := func(more ...string) said {
		return learn(t.Context(), all, append([]string{"lottery", "-s", "embedded-small-v1"}, more...)...)
	}
	plain := on("--encoder", "free", "--episodes", "2")
	if plain.code != cmdline.CodeOK || !strings.HasPrefix(plain.out, "1 numbers of a server, 2 episodes, 12 test windows, ") || plain.talk != "played\n" {
		t.Errorf("exit code %d, %q, %q", plain.code, plain.out, plain.talk)
	}
	if again := on("--encoder", "free", "--episodes", "2"); again != plain {
		t.Errorf("the same command line gives %q, then %q", plain.out, again.out)
	}
	for _, more := range [][]string{{"--reward", "hour"}, {"--prior", "fifo"}, {"--seed", "2"}, {"--set", "cluster.servers=16"}, {"--episodes", "3"}} {
		if s := on(append([]string{"--encoder", "free", "--episodes", "2"}, more...)...); s.code != cmdline.CodeOK || s.out == plain.out {
			t.Errorf("%q changes nothing: exit code %d, %q", more, s.code, s.out)
		}
	}
	if s := on("--json", "--quiet"); !strings.HasSuffix(s.out, "JSON true\n") || s.talk != "" {
		t.Errorf("--json --quiet: %q, %q", s.out, s.talk)
	}
	for want, args := range map[string][]string{
		"no scenario: name one with --scenario": {"lottery"},
		`no such baseline`:                      {"lottery", "-s", "embedded-small-v1", "--prior", "none"},
		"unknown flag: --split":                 {"lottery", "-s", "embedded-small-v1", "--split", "test"},
		`did you mean "lottery"?`:               {"lotery"},
	} {
		if s := learn(t.Context(), all, args...); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, want) {
			t.Errorf("%q: exit code %d, %q, want %q", args, s.code, s.talk, want)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if s := learn(done, all, "lottery", "-s", "embedded-small-v1"); s.code != cmdline.CodeInterrupted {
		t.Errorf("interrupted: exit code %d, %q", s.code, s.talk)
	}
	fails := lottery()
	fails.Learn = func(context.Context, *Task) error { return errors.New("out of luck") }
	if s := learn(t.Context(), []Learner{fails}, "lottery"); s.code != cmdline.CodeError || s.talk != "clustergym: out of luck\n" {
		t.Errorf("a learner that fails: exit code %d, %q", s.code, s.talk)
	}
	for _, part := range []string{"Play episodes and learn nothing.", "--episodes int", "--encoder string", "Exit status:"} {
		if s := learn(t.Context(), all, "lottery", "--help"); !strings.Contains(s.out, part) {
			t.Errorf("the help lacks %q:\n%s", part, s.out)
		}
	}
}

// TestLearnersKeepOffWhatIsThere checks that a learner cannot replace an existing command or flag.
func TestLearnersKeepOffWhatIsThere(t *testing.T) {
	named := func(name string) Learner { l := lottery(); l.Name = name; return l }
	flagged := func(name string) Learner {
		l := lottery()
		l.Flags = func(f *flag.FlagSet) { f.Int(name, 0, "") }
		return l
	}
	for _, c := range []struct {
		learners []Learner
		want     string
	}{
		{[]Learner{named("train")}, `command "train": the program already has one of that name`},
		{[]Learner{named("help")}, `command "help": the program already has one of that name`},
		{[]Learner{lottery(), lottery()}, `command "lottery": the program already has one of that name`},
		{[]Learner{named("my learner")}, `command "my learner": want a name of`},
		{[]Learner{flagged("prior")}, `command "lottery": flag --prior: the command has one of that name`},
		{[]Learner{flagged("json")}, `command "lottery": flag --json: the command has one of that name`},
	} {
		said := func() (said string) {
			defer func() { said, _ = recover().(string) }()
			learn(t.Context(), c.learners, "doctor")
			return ""
		}()
		if !strings.Contains(said, c.want) {
			t.Errorf("%q, want %q", said, c.want)
		}
	}
}
