package env

import (
	"errors"
	"fmt"
	"math"

	"github.com/clustergym/clustergym/env/game"
)

// Messages lets agents send each other a few numbers in every round. Each agent may attach a message to its action, and the
// agents that see its server receive it in the next round. A message lasts for that one round.
type Messages struct {
	Env
	visible    *Visible
	budget     int
	sent, told [][]float32 // by agent: the messages sent with the present round's joint action, and those sent with the last one
}

// ErrBudget is wrapped by the error about a message that is too long. Send does not attach such a message.
var ErrBudget = errors.New("message over budget")

// NewMessages returns e with messages of at most budget numbers from each agent in each round. e must be or wrap a Visible, which
// decides who receives whose messages. budget must be 1 or more.
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

// Send attaches a message to the agent's action of the present round, in place of one attached before. The numbers are copied;
// they must be finite.
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

// Message is what one agent has sent.
type Message struct {
	From    int       // the agent that sent it
	Numbers []float32 // owned by the environment, and valid until the next Step
}

// Heard appends to dst the messages that the agent receives in the present round, in ascending order of sender: those of the
// other agents whose servers it sees now. ts is the present time step.
func (m *Messages) Heard(ts *TimeStep, agent int, dst []Message) []Message {
	for from, numbers := range m.told {
		if from != agent && len(numbers) > 0 && m.visible.Sees(ts, agent, from) {
			dst = append(dst, Message{from, numbers})
		}
	}
	return dst
}

// Reset implements Env. It drops all messages.
func (m *Messages) Reset(seed uint64, first *TimeStep) error {
	forget(m.sent)
	forget(m.told)
	return m.Env.Reset(seed, first)
}

// Step implements Env. After an error the messages of the round stay attached.
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
