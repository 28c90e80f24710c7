package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// free is a user's encoder. It shows which servers are free and which candidates do something.
type free struct{}

func (free) Spec() observe.Spec {
	return observe.Spec{
		Server:    []observe.Feature{{Name: "all_free", Unit: "flag", Max: 1}},
		Candidate: []observe.Feature{{Name: "does", Unit: "flag", Max: 1}},
	}
}

func (free) Encode(tx *cluster.Txn, list []candidates.Candidate, o *observe.Observation) error {
	s := tx.View()
	flag := func(b bool) float32 {
		if b {
			return 1
		}
		return 0
	}
	*o = observe.Observation{}
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		o.Servers = append(o.Servers, flag(s.FreeGPUs(id) == s.Server(id).GPUs))
	}
	for i := range list {
		o.Candidates = append(o.Candidates, flag(len(list[i].Ops) > 0))
		o.Of = append(o.Of, -1)
	}
	return nil
}

// hour is a user's reward: each hour costs one.
type hour struct{}

func (hour) Name() string { return "hour" }

func (hour) Score(_ *cluster.View, from, to time.Duration) float64 { return -(to - from).Hours() }

func init() {
	observe.Register("free", func(int) observe.Encoder { return free{} })
	env.RegisterReward(hour{})
}

// TestEnvTakesEncoderAndReward checks that the commands that play environments accept registered encoders and rewards, and reject
// unknown names.
func TestEnvTakesEncoderAndReward(t *testing.T) {
	on := func(command string, more ...string) []string {
		return append([]string{"env", command, "-s", "embedded-small-v1", "--encoder", "free", "--reward", "hour"}, more...)
	}
	if s := must(t, on("describe")...); !strings.Contains(s.out, "all_free") || strings.Contains(s.out, "\njob ") {
		t.Errorf("env describe shows\n%s", s.out)
	}
	must(t, on("check")...)
	play := func(reward string) string {
		return must(t, "env", "play", "-s", "embedded-small-v1", "--rounds", "20", "--json", "--reward", reward).out
	}
	if play("flow") == play("hour") {
		t.Error("env play shows the same rounds by both rewards")
	}
	for _, c := range [][]string{
		{"--encoder", "fre", `--encoder: encoder "fre" is not part of this program, which has standard, uncertain, free`},
		{"--reward", "our", `--reward: reward "our" is not part of this program, which has flow, hour`},
	} {
		s := command(t, "env", "check", "-s", "embedded-small-v1", c[0], c[1])
		if s.code != cmdline.CodeUsage || !strings.Contains(s.talk, c[2]) {
			t.Errorf("%s %s: exit code %d, %s", c[0], c[1], s.code, s.talk)
		}
	}
	s := command(t, "env", "play", "-s", "embedded-small-v1", "--policy", "released", "--encoder", "free")
	if want := "--encoder does not go with --policy released"; s.code != cmdline.CodeUsage || !strings.Contains(s.talk, want) {
		t.Errorf("a learned policy with another encoder: exit code %d, %s", s.code, s.talk)
	}
	for flag, want := range map[string]string{"--encoder": "free", "--reward": "hour"} {
		if s := must(t, "__complete", "env", "check", flag, ""); !strings.Contains(s.out, want+"\n") {
			t.Errorf("no %s is offered for %s:\n%s", want, flag, s.out)
		}
	}
}
