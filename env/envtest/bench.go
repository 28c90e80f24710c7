package envtest

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/rng"
)

// Speed is the result of Bench. Its times are CPU times of Step and Reset only; the joint actions are drawn beforehand.
type Speed struct {
	Steps          int     `json:"steps"`
	AgentDecisions int     `json:"agent_decisions"` // steps * agents
	Episodes       int     `json:"episodes"`        // number of resets
	StepCPU        float64 `json:"step_cpu_s"`
	ResetCPU       float64 `json:"reset_cpu_s"` // including the creation of workloads and clusters
	StepsPerCPU    float64 `json:"steps_per_cpu_s"`
	PendingMean    float64 `json:"pending_mean"` // mean number of waiting jobs per step; 0 if time steps have no Cluster
	JobsMean       float64 `json:"jobs_mean"`    // mean number of job rows per step
	ChoicesMean    float64 `json:"choices_mean"` // mean number of candidates per step
	LegalMean      float64 `json:"legal_mean"`   // mean number of legal actions other than Pass per step, over all agents
}

// Bench plays the given number of steps under a random legal policy, in episodes with the seeds EpisodeSeed(seed, 0),
// EpisodeSeed(seed, 1) and so on. It plays them twice: first to draw the joint actions, then from the record to measure. cpu
// returns the CPU time that the process has used.
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

// empty is the maximum number of consecutive episodes without a step that Bench skips.
const empty = 1000

// record plays the steps and returns their joint actions, one after the other.
func (v *Speed) record(e env.Env, seed uint64, steps int) ([]game.Action, error) {
	agents, draw := e.Spec().Agents, rng.Stream(seed, "envtest", "bench")
	record := make([]game.Action, 0, steps*agents)
	var ts env.TimeStep
	for n := range steps {
		for tried := 0; n == 0 && tried == 0 || ts.Over(); tried++ {
			if tried == empty {
				return nil, fmt.Errorf("%d episodes after each other are over before their first step", empty)
			}
			if err := e.Reset(env.EpisodeSeed(seed, uint64(v.Episodes)), &ts); err != nil {
				return nil, err
			}
			v.Episodes++
		}
		v.note(&ts, float64(steps))
		record = append(record, passes(agents)...)
		joint := record[len(record)-agents:]
		RandomJoint(&ts.Round, draw, joint)
		if err := e.Step(joint, &ts); err != nil {
			return nil, err
		}
	}
	return record, nil
}

func (v *Speed) note(ts *env.TimeStep, steps float64) {
	legal := -ts.Spec().Agents
	for _, ok := range ts.Mask {
		if ok {
			legal++
		}
	}
	v.JobsMean += float64(len(ts.Ids)) / steps
	v.ChoicesMean += float64(len(ts.List)) / steps
	v.LegalMean += float64(legal) / steps
	if ts.Cluster != nil {
		v.PendingMean += float64(len(ts.Cluster.Pending())) / steps
	}
}

func (v *Speed) replay(e env.Env, seed uint64, record []game.Action, cpu func() time.Duration) error {
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
