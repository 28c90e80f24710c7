package env_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
)

// TestMessages checks that a message sent in one round is received in the next round, and only then, by the agents who see the
// sender.
func TestMessages(t *testing.T) {
	m, err := env.NewMessages(env.NewStatistics(env.NewVisible(small(t, racks), env.SameRack)), 2)
	if err != nil {
		t.Fatal(err)
	}
	var ts env.TimeStep
	joint := make([]game.Action, 6)
	heard := func(agent int) (all []float32) {
		for _, x := range m.Heard(&ts, agent, nil) {
			all = append(append(all, float32(x.From)), x.Numbers...)
		}
		return all
	}
	for range 2 { // a new episode begins without messages
		if err := m.Reset(1, &ts); err != nil {
			t.Fatal(err)
		}
		if got := heard(0); got != nil {
			t.Fatalf("agent 0 hears %v in the first round", got)
		}
		for _, err := range []error{m.Send(1, []float32{9}), m.Send(1, []float32{10, 11}), m.Send(2, []float32{20}), m.Send(3, []float32{30}), m.Send(0, nil)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Step([]game.Action{99, 0, 0, 0, 0, 0}, &ts); err == nil {
			t.Fatal("no error")
		}
		if err := m.Step(joint, &ts); err != nil {
			t.Fatal(err)
		}
		for agent, want := range [][]float32{{1, 10, 11, 2, 20}, {2, 20}, {1, 10, 11}, nil, {3, 30}, nil} {
			if got := heard(agent); !slices.Equal(got, want) {
				t.Errorf("agent %d hears %v, want %v", agent, got, want)
			}
		}
		if err := m.Send(4, []float32{40}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range [][]float32{{4, 40}, nil} {
		if err := m.Step(joint, &ts); err != nil {
			t.Fatal(err)
		}
		if got := heard(3); !slices.Equal(got, want) || heard(0) != nil {
			t.Errorf("agent 3 hears %v and agent 0 %v, want %v and nothing", got, heard(0), want)
		}
	}
}

func TestMessagesRefuse(t *testing.T) {
	v := env.NewVisible(small(t, nil), env.SameRack)
	if _, err := env.NewMessages(v, 0); err == nil {
		t.Error("no error for no budget")
	}
	if _, err := env.NewMessages(small(t, nil), 2); err == nil {
		t.Error("no error where nobody knows who sees whom")
	}
	m, err := env.NewMessages(v, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Send(0, make([]float32, 3)); !errors.Is(err, env.ErrBudget) {
		t.Errorf("over budget: %v", err)
	}
	if m.Send(3, nil) == nil || m.Send(-1, nil) == nil || m.Send(0, []float32{float32(math.NaN())}) == nil {
		t.Error("no error for an agent that there is not, or a number that is none")
	}
}
