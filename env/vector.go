package env

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/rng"
)

// Autoreset is what a vector does when an episode ends. There are three modes, named as in gymnasium. An algorithm written for
// one mode collects wrong transitions under another.
type Autoreset uint8

// The modes. An episode in which there is nothing to choose has no steps: the time step that its reset returns is also its last,
// and has no candidates. The next Step then ignores the joint action: in SameStep it ends that episode, in NextStep it resets,
// and in Disabled it returns ErrOver.
const (
	// SameStep resets at once. The step that ends an episode returns the round, cluster and time of the next episode's first
	// step, but the rewards, elapsed time, Taken, Refused, Terminated and Truncated of the episode that ended. Vector.Final
	// returns the last time step of that episode in full.
	SameStep Autoreset = iota
	// NextStep returns the last step of an episode as it is. The next Step ignores the joint action and returns the first step of
	// the next episode.
	NextStep
	// Disabled never resets: the caller must call ResetEnv. Until then Step returns ErrOver.
	Disabled
)

var autoresetNames = [...]string{"same-step", "next-step", "disabled"}

func (a Autoreset) String() string {
	if int(a) >= len(autoresetNames) {
		return fmt.Sprintf("autoreset(%d)", uint8(a))
	}
	return autoresetNames[a]
}

// Vector plays several environments in parallel, either all one step at a time (Step) or each at its own pace (Play). The number
// of workers does not change the results. A Vector is not safe for concurrent use. No goroutine outlives a call.
type Vector struct {
	mode    Autoreset
	members []member
	workers int

	// The call in progress, which the workers share.
	do     func(v *Vector, i int) error
	ts     []TimeStep
	joints [][]game.Action
	act    func(i int, ts *TimeStep, joint []game.Action) error
	next   atomic.Int64
	wait   sync.WaitGroup
	work   func() // allocated once, so that starting workers allocates nothing
	errs   []error
}

// member is one environment and its state in the vector.
type member struct {
	env     Env
	seed    uint64   // the seed of the sequence of episodes
	episode uint64   // index of the episode in this sequence
	over    bool     // the next Step resets: after the end of an episode in NextStep, and in an episode without steps
	only    TimeStep // the time step of an episode without steps
	final   TimeStep
	ended   bool // whether the last Step set final
}

// NewVector returns a vector of the environments and takes ownership of them. They may differ in shape, but a learner that
// batches them needs equal shapes. Each must have its own encoder. At most the given number of workers play at the same time; 0
// means GOMAXPROCS.
func NewVector(envs []Env, mode Autoreset, workers int) (*Vector, error) {
	if len(envs) == 0 {
		return nil, errors.New("make vector: no environments, want at least 1")
	}
	if mode > Disabled || workers < 0 {
		return nil, fmt.Errorf("make vector: mode %v with %d workers, want a known mode and 0 or more workers", mode, workers)
	}
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	v := &Vector{
		mode: mode, members: make([]member, len(envs)), workers: min(workers, len(envs)), errs: make([]error, len(envs)),
	}
	for i, e := range envs {
		v.members[i].env = e
	}
	v.work = v.loop
	return v, nil
}

// EpisodeSeed returns the seed of an environment's n-th episode, from 0, after Vector.Reset gave the environment seed. Episode 0
// has seed itself; the seeds of later episodes depend only on seed and n. Equal seeds therefore give an environment equal
// sequences of episodes, whatever the other environments play.
func EpisodeSeed(seed, n uint64) uint64 {
	if n == 0 {
		return seed
	}
	return rng.Derive(seed, "episode", strconv.FormatUint(n, 10))
}

// Spec returns the shape of environment i.
func (v *Vector) Spec(i int) game.Spec { return v.members[i].env.Spec() }

// Len returns the number of environments.
func (v *Vector) Len() int { return len(v.members) }

// Episode returns the seed that a reset gave environment i, and how many episodes have ended since: the arguments of EpisodeSeed.
func (v *Vector) Episode(i int) (seed, n uint64) { return v.members[i].seed, v.members[i].episode }

// Reset starts the first episode of every environment i with seeds[i] and fills ts[i] with its first time step. EpisodeSeed
// returns the seeds of the later episodes.
func (v *Vector) Reset(seeds []uint64, ts []TimeStep) error {
	if err := v.begin(seeds, ts); err != nil {
		return fmt.Errorf("reset vector: %w", err)
	}
	return v.run((*Vector).resetAt)
}

// begin starts new sequences of episodes. It stores their seeds, and the slice of time steps into which the call writes.
func (v *Vector) begin(seeds []uint64, ts []TimeStep) error {
	if len(seeds) != v.Len() || len(ts) != v.Len() {
		return fmt.Errorf("%d seeds and %d time steps, want one for each of the %d environments", len(seeds), len(ts), v.Len())
	}
	for i, seed := range seeds {
		m := &v.members[i]
		m.seed, m.episode = seed, 0
	}
	v.ts = ts
	return nil
}

// ResetEnv starts a new episode of environment i alone and fills first. A new sequence of episodes begins with seed.
func (v *Vector) ResetEnv(i int, seed uint64, first *TimeStep) error {
	return v.ResumeEnv(i, seed, 0, first)
}

// ResumeEnv is ResetEnv for the n-th episode, from 0, of the sequence that begins with seed.
func (v *Vector) ResumeEnv(i int, seed, n uint64, first *TimeStep) error {
	m := &v.members[i]
	m.seed, m.episode = seed, n
	return name(i, m.reset(first))
}

// Step plays one round of every environment i with joints[i] and fills ts[i]. If joints[i] is nil, Step changes neither
// environment i nor ts[i]. The error names the environments that failed, in order; the others have stepped.
func (v *Vector) Step(joints [][]game.Action, ts []TimeStep) error {
	if len(joints) != v.Len() || len(ts) != v.Len() {
		return fmt.Errorf("step vector: %d joint actions and %d time steps, want one for each of the %d environments",
			len(joints), len(ts), v.Len())
	}
	v.ts, v.joints = ts, joints
	return v.run((*Vector).stepAt)
}

// Play plays one episode of every environment i, with the seed seeds[i], to its end. Each environment runs at its own pace, so
// that none waits for slow agents of another.
//
// Play calls act with every time step ts[i] of environment i, including the last. act fills joint with one action per agent;
// after the last time step joint is ignored. Calls for the same environment are sequential, and calls for different environments
// run concurrently. If act returns an error, the episode ends, and the other episodes continue; the returned error names the
// environments that failed, in order. After Play, Step returns ErrOver until a reset.
func (v *Vector) Play(seeds []uint64, ts []TimeStep, act func(i int, ts *TimeStep, joint []game.Action) error) error {
	if err := v.begin(seeds, ts); err != nil {
		return fmt.Errorf("play vector: %w", err)
	}
	v.act = act
	return v.run((*Vector).playAt)
}

// Final returns the last time step of the episode that the last Step ended and replaced in environment i, nil if there was none.
// The vector owns it, and it is valid until the next Step. Its Cluster is the final state of that episode.
func (v *Vector) Final(i int) *TimeStep {
	if m := &v.members[i]; m.ended {
		return &m.final
	}
	return nil
}

// Close closes every environment.
func (v *Vector) Close() error {
	for i := range v.members {
		v.errs[i] = name(i, v.members[i].env.Close())
	}
	return errors.Join(v.errs...)
}

// run has the workers call do for every environment, one after the other.
func (v *Vector) run(do func(v *Vector, i int) error) error {
	v.do = do
	v.next.Store(0)
	v.wait.Add(v.workers)
	for range v.workers - 1 {
		go v.work()
	}
	v.loop()
	v.wait.Wait()
	v.ts, v.joints, v.act = nil, nil, nil
	return errors.Join(v.errs...)
}

func (v *Vector) loop() {
	defer v.wait.Done()
	for i := int(v.next.Add(1)) - 1; i < v.Len(); i = int(v.next.Add(1)) - 1 {
		v.errs[i] = name(i, v.do(v, i))
	}
}

func (v *Vector) resetAt(i int) error { return v.members[i].reset(&v.ts[i]) }

func (v *Vector) stepAt(i int) error { return v.members[i].step(v.mode, v.joints[i], &v.ts[i]) }

func (v *Vector) playAt(i int) error {
	m, ts := &v.members[i], &v.ts[i]
	joint := make([]game.Action, m.env.Spec().Agents)
	err := m.reset(ts)
	for m.over = false; err == nil; err = m.env.Step(joint, ts) {
		if err = v.act(i, ts, joint); err != nil || ts.Over() {
			break
		}
	}
	return err
}

func (m *member) reset(first *TimeStep) error {
	m.over, m.ended = false, false
	if err := m.env.Reset(EpisodeSeed(m.seed, m.episode), first); err != nil {
		return err
	}
	if m.over = first.Over(); m.over {
		m.only.CopyFrom(first)
	}
	return nil
}

func (m *member) step(mode Autoreset, joint []game.Action, ts *TimeStep) error {
	m.ended = false
	switch {
	case joint == nil:
		return nil
	case !m.over || mode == Disabled:
		if err := m.env.Step(joint, ts); err != nil || !ts.Over() {
			return err
		}
		if mode == SameStep {
			return m.renew(ts, ts)
		}
		m.over = mode == NextStep
		return nil
	case mode == SameStep:
		return m.renew(&m.only, ts)
	}
	m.episode++
	return m.reset(ts)
}

// renew starts the next episode in the step that ends one; last is the last time step of the episode that ended.
func (m *member) renew(last, ts *TimeStep) error {
	m.final.CopyFrom(last)
	m.episode++
	if err := m.reset(ts); err != nil {
		return err
	}
	f := &m.final
	m.ended = true
	ts.Rewards = append(ts.Rewards[:0], f.Rewards...)
	ts.Taken, ts.Refused = append(ts.Taken[:0], f.Taken...), append(ts.Refused[:0], f.Refused...)
	ts.Reward, ts.Elapsed = f.Reward, f.Elapsed
	ts.Terminated, ts.Truncated = f.Terminated, f.Truncated
	return nil
}

func name(i int, err error) error {
	if err != nil {
		return fmt.Errorf("environment %d: %w", i, err)
	}
	return nil
}
