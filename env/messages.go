package env

import (
	"errors"
	"fmt"
	"math"

	"github.com/clustergym/clustergym/env/game"
)

// Messages lets agents talk within a budget: each may attach a few numbers to what it names in a round, and those who see its
// server hear them in the next. What nobody sends again is gone after that.
type Messages struct {
	Env
	visible    *Visible
	budget     int
	sent, told [][]float32 // by agent: with the present round's joint action, and with the last one's
}

// ErrBudget is wrapped by the error about a message that is too long. It is not sent then.
var ErrBudget = errors.New("message over budget")

// NewMessages returns e with messages of at most budget numbers an agent and a round. e is or wraps a Visible, which says who
// hears whom.
func NewMessages(e Env, budget int) (*Messages, error) {
	v, ok := As[*Visible](e)
	if !ok || budget < 1 {
		return nil, fmt.Errorf("make messages: a budget of %d numbers, and that agents see who is near is %v, want 1 or more and true",
			budget, ok)
	}
	n := e.Spec().Agents
	return &Messages{Env: e, visible: v, budget: budget, sent: make([][]float32, n), told: make([][]float32, n)}, nil
}

// Unwrap implements Wrapper.
func (m *Messages) Unwrap() Env { return m.Env }

// Send attaches a message to what the agent will name in the present round, in the place of one that it has attached before. The
// numbers are copied.
func (m *Messages) Send(agent int, numbers []float32) error {
	if agent < 0 || agent >= len(m.sent) {
		return fmt.Errorf("agent %d sends a message, want one of the %d agents", agent, len(m.sent))
	}
	if len(numbers) > m.budget {
		return fmt.Errorf("agent %d sends %d numbers, at most %d may be sent: %w", agent, len(numbers), m.budget, ErrBudget)
	}
	for _, x := range numbers {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("agent %d sends %v, want finite numbers", agent, numbers)
		}
	}
	m.sent[agent] = append(m.sent[agent][:0], numbers...)
	return nil
}

// Message is what an agent has sent.
type Message struct {
	From    int
	Numbers []float32 // the environment's, and valid until the next Step
}

// Heard appends the messages that an agent hears in the present round, ascending by sender: those of other agents whose servers
// it sees now.
func (m *Messages) Heard(ts *TimeStep, agent int, dst []Message) []Message {
	for from, numbers := range m.told {
		if from != agent && len(numbers) > 0 && m.visible.Sees(ts, agent, from) {
			dst = append(dst, Message{from, numbers})
		}
	}
	return dst
}

// Reset implements Env. Nothing that was sent before is heard after it.
func (m *Messages) Reset(seed uint64, first *TimeStep) error {
	forget(m.sent)
	forget(m.told)
	return m.Env.Reset(seed, first)
}

// Step implements Env. After an error what was attached stays so.
func (m *Messages) Step(joint []game.Action, next *TimeStep) error {
	if err := m.Env.Step(joint, next); err != nil {
		return err
	}
	m.sent, m.told = m.told, m.sent
	forget(m.sent)
	return nil
}

// forget empties messages and keeps their memory.
func forget(messages [][]float32) {
	for i := range messages {
		messages[i] = messages[i][:0]
	}
}
