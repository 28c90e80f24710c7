package envtest

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/internal/rng"
)

// Speed is what Bench measured. Times are those of Step and Reset alone: the joint actions were drawn before.
type Speed struct {
	Steps          int     `json:"steps"`
	AgentDecisions int     `json:"agent_decisions"` // steps x agents
	Episodes       int     `json:"episodes"`        // resets
	StepCPU        float64 `json:"step_cpu_s"`
	ResetCPU       float64 `json:"reset_cpu_s"` // making workloads and clusters
	StepsPerCPU    float64 `json:"steps_per_cpu_s"`
	PendingMean    float64 `json:"pending_mean"` // waiting jobs, of a mean step; 0 where steps hold no state
	WindowMean     float64 `json:"window_mean"`  // jobs shown, of a mean step
	LegalMean      float64 `json:"legal_mean"`   // legal actions but no-op, all agents, of a mean step
}

// Bench plays that many steps under a random legal policy, in episodes of the seeds EpisodeSeed(seed, 0), 1 and so on: once
// to draw the joint actions, once again from the record to measure. cpu reads the CPU time that the process has used.
func Bench(make Make, seed uint64, steps int, cpu func() time.Duration) (Speed, error) {
	if steps < 1 {
		return Speed{}, fmt.Errorf("bench: %d steps, want at least 1", steps)
	}
	e, err := make()
	if err != nil {
		return Speed{}, fmt.Errorf("bench: %w", err)
	}
	defer e.Close()
	var speed Speed
	record, err := speed.record(e, seed, steps)
	if err != nil {
		return Speed{}, fmt.Errorf("bench: %w", err)
	}
	if err := speed.replay(e, seed, record, cpu); err != nil {
		return Speed{}, fmt.Errorf("bench: %w", err)
	}
	speed.Steps, speed.AgentDecisions = steps, steps*e.Spec().Agents
	speed.StepsPerCPU = float64(steps) / max(speed.StepCPU, 1e-9)
	return speed, nil
}

// record returns the joint actions of the steps, one after the other.
func (v *Speed) record(e env.Env, seed uint64, steps int) ([]env.Action, error) {
	spec, draw := e.Spec(), rng.Stream(seed, "envtest", "bench")
	var record []env.Action
	var ts env.TimeStep
	for n := range steps {
		if n == 0 || ts.Over() {
			if err := e.Reset(env.EpisodeSeed(seed, uint64(v.Episodes)), &ts); err != nil {
				return nil, err
			}
			if ts.Over() {
				return nil, fmt.Errorf("episode %d is over before its first step", v.Episodes)
			}
			v.Episodes++
		}
		v.note(&spec, &ts, float64(steps))
		record = append(record, make([]env.Action, spec.Agents)...)
		joint := record[len(record)-spec.Agents:]
		randomJoint(&spec, &ts, draw, joint)
		if err := e.Step(joint, &ts); err != nil {
			return nil, err
		}
	}
	return record, nil
}

func (v *Speed) note(spec *env.Spec, ts *env.TimeStep, steps float64) {
	shown, legal := 0, -spec.Agents
	for _, id := range ts.Window {
		if id >= 0 {
			shown++
		}
	}
	for _, ok := range ts.Mask {
		if ok {
			legal++
		}
	}
	v.WindowMean += float64(shown) / steps
	v.LegalMean += float64(legal) / steps
	if ts.State != nil {
		v.PendingMean += float64(len(ts.State.Pending())) / steps
	}
}

func (v *Speed) replay(e env.Env, seed uint64, record []env.Action, cpu func() time.Duration) error {
	agents := e.Spec().Agents
	var ts env.TimeStep
	for n := range v.Episodes {
		began := cpu()
		if err := e.Reset(env.EpisodeSeed(seed, uint64(n)), &ts); err != nil {
			return err
		}
		playing := cpu()
		for len(record) > 0 && !ts.Over() {
			if err := e.Step(record[:agents], &ts); err != nil {
				return err
			}
			record = record[agents:]
		}
		v.ResetCPU += (playing - began).Seconds()
		v.StepCPU += (cpu() - playing).Seconds()
	}
	return nil
}
